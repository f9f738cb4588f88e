"""Runs beside the answers: what they cost, counted again by hand, and what the selector gets to learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.bench.compute import compute
from tailcut.bench.conditions import Conditions, LessonChoice
from tailcut.bench.extra_runs import ExtraRuns, check_choice
from tailcut.bench.plan import Contender, plan
from tailcut.bench.replay import Trace, replay
from tailcut.bench.summary import summarise
from tailcut.errors import InputError
from tailcut.policies.lessons import Answered, Lesson
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.scenarios import Scenario
from tests.bench.conftest import write_scenario


class Listening(Selector):
    """A selector that remembers what it was given to fit."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.fitted: list[RecordedRuns] = []

    def fit(self, scenario: Any, *, known: Any = None) -> int:
        self.fitted.append(scenario)
        return super().fit(scenario, known=known)


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """Some unsolved runs ended long before the cutoff."""
    made = write_scenario(tmp_path, "ONE")
    runtimes = np.where(made.solved, made.runtimes, made.runtimes / 4)
    return replace(made, runtimes=runtimes)


def _replayed(scenario: Scenario, name: str, conditions: Conditions) -> tuple[Listening, ExtraRuns, Trace]:
    selector = Listening(name, scenario.algorithms, scenario.cutoff, seed=3)
    extra = ExtraRuns(scenario, selector, conditions, seed=3)
    return selector, extra, replay(scenario, selector, seed=3, afterwards=extra.after)


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_one_pick_measures_all_other_algorithms(scenario: Scenario, share: float) -> None:
    conditions = Conditions(measure_first=7, measure_cutoff=share)
    selector, extra, trace = _replayed(scenario, "thompson", conditions)
    limit, expected = share * scenario.cutoff, 0.0
    assert len(selector.fitted) == 7
    for step, runs in enumerate(selector.fitted):
        row, chosen = trace.order[step], trace.choices[step]
        others = [k for k in range(3) if k != chosen]
        expected += sum(min(scenario.runtimes[row, k], limit) for k in others)
        assert runs.instances == (scenario.instances[row],)
        assert np.isnan(runs.runtimes[0, chosen]), "what was not run again is not told"
        assert not runs.solved[0, chosen]
        for k in others:
            solved = scenario.solved[row, k] and scenario.runtimes[row, k] <= limit
            assert runs.solved[0, k] == solved
            assert runs.watched is not None
            assert runs.watched[0, k] == limit
            assert runs.runtimes[0, k] == (scenario.runtimes[row, k] if solved else limit)
    assert extra.seconds == pytest.approx(expected)
    answers = sum(
        min(scenario.runtimes[row, k], scenario.cutoff) + scenario.feature_cost[row]
        for row, k in zip(trace.order, trace.choices, strict=True)
    )
    assert extra.answers == pytest.approx(trace.cpu.sum()) == pytest.approx(answers)


def test_a_schedule_measures_what_it_did_not_run_or_cut_short(scenario: Scenario) -> None:
    """Round robin gives each of three algorithms a third of the cutoff."""
    _, extra, trace = _replayed(scenario, "round_robin", Conditions(measure_first=20))
    third, expected, answers = scenario.cutoff / 3, 0.0, 0.0
    for step, row in enumerate(trace.order):
        solver = None
        for k in range(3):
            if solver is None:
                answers += min(scenario.runtimes[row, k], third)
                if scenario.solved[row, k] and scenario.runtimes[row, k] <= third:
                    solver = k
        if step < 20:
            expected += sum(min(scenario.runtimes[row, k], scenario.cutoff) for k in range(3) if k != solver)
    assert extra.seconds == pytest.approx(expected)
    assert extra.answers == pytest.approx(answers)
    _, short, _ = _replayed(scenario, "round_robin", Conditions(measure_first=20, measure_cutoff=0.1))
    assert short.seconds < expected / 3, "what ran for a third of the cutoff is not run for a tenth again"


@pytest.mark.parametrize("name", ["thompson", "tailcut", "tailcut_schedule"])
def test_lessons_use_up_their_share_and_no_more(scenario: Scenario, name: str) -> None:
    conditions = Conditions(learn_share=0.3, learn_choice=LessonChoice.UNIFORM)
    selector, extra, trace = _replayed(scenario, name, conditions)
    assert extra.answers == pytest.approx(trace.cpu.sum())
    assert 0.15 < extra.seconds / extra.answers < 0.3 + scenario.cutoff / 10 / extra.answers
    total, by_name = 0.0, {one: row for row, one in enumerate(scenario.instances)}
    for runs in selector.fitted:
        ((_, k),) = np.argwhere(~np.isnan(runs.runtimes))
        assert runs.instances is not None
        total += min(scenario.runtimes[by_name[runs.instances[0]], k], scenario.cutoff / 10)
    assert extra.seconds == pytest.approx(total)


class Choosing(Listening):
    """Takes the first run that nobody has made yet."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.offered: list[int] = []

    def next_lesson(self, candidates: Sequence[Answered]) -> Lesson | None:
        self.offered.append(len(candidates))
        for one in candidates:
            assert all(seconds > 0.0 for seconds in one.tried.values())
            for name in self.algorithms:
                if name not in one.tried:
                    return Lesson(one.instance, name, 1.0)
        return None


def test_a_selector_may_choose_its_lessons_among_the_latest(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailcut.bench.extra_runs.CANDIDATES", 15)
    selector = Choosing("thompson", scenario.algorithms, scenario.cutoff)
    extra = ExtraRuns(scenario, selector, Conditions(learn_share=0.1), seed=0)
    replay(scenario, selector, seed=0, afterwards=extra.after)
    assert 0.0 < extra.seconds <= 0.1 * extra.answers + 1.0
    assert max(selector.offered) == 15


def test_a_run_that_was_made_is_no_lesson(scenario: Scenario) -> None:
    class Repeating(Listening):
        def next_lesson(self, candidates: Sequence[Answered]) -> Lesson | None:
            return Lesson(candidates[0].instance, next(iter(candidates[0].tried)), 1e-9)

    selector = Repeating("thompson", scenario.algorithms, scenario.cutoff)
    extra = ExtraRuns(scenario, selector, Conditions(learn_share=0.1), seed=0)
    with pytest.raises(InputError, match="it has run there for that long"):
        replay(scenario, selector, seed=1, afterwards=extra.after)


def test_who_cannot_choose_lessons_says_so(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Selector, "next_lesson", raising=False)
    with pytest.raises(InputError, match="give --learn-choice uniform"):
        check_choice(LessonChoice.WORTH)
    selector = Selector("thompson", scenario.algorithms, scenario.cutoff)
    with pytest.raises(InputError, match="give --learn-choice uniform"):
        ExtraRuns(scenario, selector, Conditions(learn_share=0.1), seed=0)


def test_cells_and_their_summary_say_what_was_extra(generated: Path) -> None:
    given = [Contender.parse_label(label) for label in ("thompson", "thompson@measure-first=10", "sbs")]
    folder = generated / "ALPHA"
    cells = plan([(str(folder), Scenario.read(folder))], given, 2)
    rows = []
    for cell in cells:
        result = compute(cell)
        assert result.error is None
        rows.append({**vars(result), **vars(cell), "selector": cell.contender.label})
    by_name = {row["selector"]: row for row in summarise(rows)}
    assert by_name["thompson"]["extra_cpu"] == by_name["sbs"]["extra_cpu"] == 0.0
    extra = [row for row in rows if row["selector"] == "thompson@measure-first=10"]
    share = sum(row["extra_cpu"] for row in extra) / sum(row["answer_cpu"] for row in extra)
    assert by_name["thompson@measure-first=10"]["extra_cpu"] == pytest.approx(share)
    assert share > 0.1
    assert by_name["thompson@measure-first=10"]["npar10_train"] is None
