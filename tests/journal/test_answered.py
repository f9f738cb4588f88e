"""Answered instances: what follows from the events is bounded and comes back, and lessons are lent once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailcut.journal import Journal, Project
from tailcut.journal.answered import KEPT, LentLessons, LessonOffer
from tailcut.types import Outcome

NAMES = ["a", "b", "c"]


def begun(journal: Journal, selector: str = "tailcut") -> Project:
    settings: dict[str, Any] = {"selector": selector, "algorithms": NAMES, "cutoff": 60.0}
    return Project.create(journal, "p", settings)


def answer(project: Project, name: str, solved: bool = True) -> str:
    """Serve an instance; return which algorithm ended it."""
    decision = project.select({"x": float(len(name)), "y": None}, instance=name)  # type: ignore[dict-item]
    while True:
        project.observe(decision, Outcome.solved(3.0) if solved else Outcome.censored(decision.budget))
        following = project.proceed(decision)
        if following is None:
            return decision.algorithm
        decision = following


@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule", "epsilon_greedy", "random"])
def test_lessons_end_when_everything_is_known(tmp_path: Path, selector: str) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = begun(journal, selector)
        assert project.next_lesson() is None
        waiting = project.select({"x": 0.0, "y": 1.0}, instance="waiting")
        project.select({"x": 0.0, "y": 1.0})  # without a name
        assert project.next_lesson() is None
        answered = {name: answer(project, name, solved=name != "never") for name in ("one", "never")}
        made: set[tuple[str, str]] = set()
        while (lesson := project.next_lesson()) is not None:
            assert lesson.instance in answered
            assert lesson.budget <= lesson.cutoff == 60.0
            assert lesson.features == {"x": float(len(lesson.instance)), "y": None}
            if lesson.instance == "one":
                assert lesson.algorithm != answered["one"]
            made.add((lesson.instance, lesson.algorithm))
            outcome = Outcome.solved(1.0) if lesson.instance == "one" else Outcome.censored(lesson.budget)
            project.fit(lesson.runs(outcome))
        assert len([pair for pair in made if pair[0] == "one"]) == 2
        assert waiting.id in project.statistics.answered.under_way
        count = project.verify()
        project.keep()
        kept = project.statistics.answered.state()
    with Journal(tmp_path / "state.db") as journal:
        again = Project(journal, "p")
        assert again.statistics.answered.state() == kept
        assert again.verify() == count
        again.observe(waiting, runtime=2.0)
        found = again.next_lesson()
        assert found is not None
        assert found.instance == "waiting"


def test_a_lesson_is_lent_to_one_worker_for_a_while(tmp_path: Path) -> None:
    now = [0.0]
    lent = LentLessons(lambda: now[0])
    with Journal(tmp_path / "state.db") as journal:
        project = begun(journal)

        def ask() -> LessonOffer | None:
            return lent.offer(project.selector, project.statistics.answered)

        answer(project, "one")
        first, second = ask(), ask()
        assert first is not None
        assert second is not None
        assert first[:2] != second[:2]
        taken = {first[:2], second[:2]}
        while (more := ask()) is not None:
            assert more[:2] not in taken
            taken.add(more[:2])
        lent.give_back(first)
        assert ask() is not None
        assert ask() is None
        project.fit(second.runs(Outcome.censored(second.budget)))  # unsolved: a longer one may follow
        longer = ask()
        assert longer is not None
        assert longer[:2] == second[:2]
        assert longer.budget > second.budget
        assert ask() is None
        now[0] = 1000.0
        assert ask() is not None, "all are overdue"


def test_the_latest_are_kept_and_removed_algorithms_forgotten(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = begun(journal, "random")
        for number in range(KEPT + 5):
            answer(project, f"i{number}")
        kept = project.statistics.answered.over
        assert list(kept) == [f"i{number}" for number in range(5, KEPT + 5)]
        answer(project, "i50")
        assert list(kept)[-1] == "i50"
        assert len(kept) == KEPT
        project.remove_algorithm("a")
        assert not any("a" in one.tried for one in kept.values())
        project.verify()
