"""Lessons: short first, on the latest instance, of algorithms that may be the best; soon chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut import Selector
from tailcut.policies.lessons import SHARES, Answered, Lesson, next_lesson
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.scenarios.synthetic import generate

NAMES = ("a", "b", "c")


def all_lessons(candidates: list[Answered], possible: list[bool] | None = None) -> list[Lesson]:
    """Return one lesson after the other, all of them unsuccessful, until there is none."""
    mask = None if possible is None else np.array(possible)
    made: list[Lesson] = []
    tried = {one.instance: dict(one.tried) for one in candidates}
    while True:
        now = [Answered(name, runs) for name, runs in tried.items()]
        lesson = next_lesson(now, NAMES, 60.0, may_be_best=mask, seed=0)
        if lesson is None:
            return made
        assert tried[lesson.instance].get(lesson.algorithm, 0.0) < lesson.budget
        tried[lesson.instance][lesson.algorithm] = lesson.budget
        made.append(lesson)


def test_short_runs_come_first_and_the_latest_instance_before_older_ones() -> None:
    made = all_lessons([Answered("old", {"a": math.inf}), Answered("new", {"b": 60.0})])
    assert [one.budget for one in made] == [share * 60.0 for share in SHARES for _ in range(4)]
    assert [one.instance for one in made] == ["new", "new", "old", "old"] * len(SHARES)
    assert {(one.instance, one.algorithm) for one in made} == {
        ("new", "a"), ("new", "c"), ("old", "b"), ("old", "c")
    }  # fmt: skip


def test_who_may_be_the_best_comes_first_and_the_others_are_not_forgotten() -> None:
    made = all_lessons([Answered("i", {"a": 60.0})], [True, False, True])
    assert [one.algorithm for one in made] == ["c", "b"] * len(SHARES)


def test_all_that_may_be_the_best_have_the_same_chance_and_the_same_question_the_same_answer() -> None:
    def ask(seed: int) -> Lesson | None:
        return next_lesson([Answered("i", {})], NAMES, 60.0, may_be_best=None, seed=seed)

    asked = [ask(seed) for seed in range(300)]
    assert asked == [ask(seed) for seed in range(300)]
    counts = [sum(one is not None and one.algorithm == name for one in asked) for name in NAMES]
    assert min(counts) > 60


def test_there_is_nothing_to_learn_without_instances() -> None:
    assert next_lesson([], NAMES, 60.0, may_be_best=None, seed=0) is None
    assert Selector("tailcut", NAMES, 60.0).next_lesson([]) is None


@pytest.mark.parametrize(
    "selector", ["tailcut", "bounded_thompson", "thompson", "random", "tailcut_schedule"]
)
def test_every_selector_chooses_lessons_before_and_after_its_first_decision(selector: str) -> None:
    chosen = Selector(selector, NAMES, 60.0)
    for _ in range(2):
        lesson = chosen.next_lesson([Answered("i", {"b": math.inf})])
        assert lesson is not None
        assert (lesson.algorithm in "ac", lesson.budget) == (True, 6.0)
        chosen.observe(chosen.select([1.0, 2.0]), runtime=1.0)


def test_an_algorithm_that_is_known_to_be_worse_is_left_for_later() -> None:
    scenario = generate(n_instances=200, seed=1)
    runtimes, solved = scenario.runtimes.copy(), scenario.solved.copy()
    runtimes[:, 2], solved[:, 2] = scenario.cutoff, False
    selector = Selector("tailcut", scenario.algorithms, scenario.cutoff)
    selector.fit(
        RecordedRuns(
            algorithms=scenario.algorithms,
            cutoff=scenario.cutoff,
            feature_names=None,
            features=scenario.features,
            runtimes=runtimes,
            solved=solved,
            known=None,
            instances=None,
            watched=None,
        )
    )
    lost = scenario.algorithms[2]
    asked = [selector.next_lesson([Answered(f"i{n}", {})]) for n in range(100)]
    assert all(one is not None and one.algorithm != lost for one in asked)
    (last,) = {
        selector.next_lesson([Answered("i", dict.fromkeys(set(scenario.algorithms) - {lost}, math.inf))])
    }
    assert last is not None
    assert last.algorithm == lost
