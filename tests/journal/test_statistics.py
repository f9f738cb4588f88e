"""What is counted is what happened, in bounded memory, and can be counted again."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.journal import Event, EventKind, Journal, Project
from tailcut.journal.statistics import CURVE, ProjectStatistics, RuntimeBins
from tailcut.types import Decision, Outcome


def description(selector: str = "random", **more: Any) -> dict[str, Any]:
    return {"selector": selector, "algorithms": ["a", "b"], "cutoff": 60.0, **more}


def test_the_counts_are_those_of_the_events(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description(max_pending=3))
        outcomes = [Outcome.solved(6.0), Outcome.censored(60.0), Outcome.failed()]
        decisions = [project.select([1.0], spent=4.0) for _ in outcomes]
        for decision, outcome in zip(decisions, outcomes, strict=True):
            project.observe(decision, outcome)
        for _ in range(5):
            project.select([1.0])
        counted = project.statistics
        assert (counted.decisions, counted.outcomes, counted.given_up) == (8, 3, 2)
        assert tuple(counted.pending) == project.selector.pending == (5, 6, 7)
        assert (counted.instances, counted.solved) == (3, 1)
        assert counted.par10 == pytest.approx((10.0 + 600.0 + 600.0) / 3)
        assert sum(counts.chosen for counts in counted.algorithms.values()) == 8


def test_a_schedule_counts_instances_and_not_slices(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description("round_robin"))
        for solved in (True, False):
            first = project.select()
            project.observe(first, Outcome.censored(30.0))
            second = project.proceed(first)
            assert second is not None
            project.observe(second, Outcome.solved(5.0) if solved else Outcome.censored(30.0))
            assert project.proceed(second) is None
        counted = project.statistics
        assert (counted.instances, counted.solved, counted.outcomes) == (2, 1, 4)
        assert counted.loss == pytest.approx(35.0 + 600.0)
        assert not counted.open
        project.verify()


def test_it_is_kept_with_the_snapshot(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description())
        for number in range(20):
            decision = project.select([1.0])
            if number % 3:
                project.observe(decision, Outcome.solved(1.0 + number))
        project.keep()
        project.select([1.0])
        before = project.statistics.state()
    with Journal(tmp_path / "state.db") as journal:
        again = Project(journal, "p")
        assert again.statistics.state() == before
        assert json.loads(json.dumps(before)) == before


def test_the_curve_is_bounded_and_even() -> None:
    counted = ProjectStatistics(60.0, schedules=False, limit=10)
    for number in range(5 * CURVE):
        decision = Decision(number, None, "a", 60.0, 60.0, {}, "first run").to_dict()
        outcome = {"decision": number, "status": "solved", "time": 1.0}
        counted.take(Event(2 * number, float(number), EventKind.SELECT, {"decision": decision}))
        counted.take(Event(2 * number + 1, float(number), EventKind.OBSERVE, outcome))
    assert CURVE // 2 <= len(counted.curve) < CURVE
    steps = {b.instances - a.instances for a, b in pairwise(counted.curve)}
    assert steps == {counted.stride}
    assert all(point.loss == point.instances for point in counted.curve)


@given(st.lists(st.tuples(st.floats(0.0, 200.0), st.booleans()), max_size=60))
def test_survival_only_falls_and_counts_everyone(runs: list[tuple[float, bool]]) -> None:
    bins = RuntimeBins(cutoff=100.0)
    for seconds, solved in runs:
        bins.add(seconds, solved=solved)
    points = bins.curve()
    assert bool(points) == bool(runs)
    if points:
        assert points[0] == (0.0, 1.0, len(runs))
        for before, after in pairwise(points):
            assert before.time < after.time <= 100.0 * (1 + 1e-9)
            assert 0.0 <= after.survival <= before.survival
            assert after.at_risk <= before.at_risk
        if all(solved for _, solved in runs):
            assert points[-1].survival == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule"])
def test_a_race_is_one_instance(selector: str, tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description(selector))
        won = project.race([1.0], k=2, instance="won")
        alone = project.select([1.0], instance="alone")
        project.observe(won[1], Outcome.solved(3.0))
        project.observe(won[0], Outcome.censored(3.0))
        project.observe(alone, Outcome.solved(2.0))
        counted = project.statistics
        assert (counted.instances, counted.solved, counted.outcomes) == (2, 2, 3)
        assert counted.par10 == pytest.approx(2.5)
        project.verify()


def test_a_race_that_nobody_wins_is_one_unsolved_instance(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description("tailcut"))
        for decision in project.race([1.0], k=2, instance="lost"):
            project.observe(decision, Outcome.censored(60.0))
        counted = project.statistics
        assert (counted.instances, counted.solved, counted.par10) == (1, 0, 600.0)
        project.verify()


@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule"])
@pytest.mark.parametrize("while_running", [True, False])
def test_who_joins_a_race_later_counts_with_it(selector: str, while_running: bool, tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description(selector, algorithms=["a", "b", "c"]))
        first, second = project.race([1.0], k=2, instance="raced")
        project.observe(first, Outcome.failed())
        failed, running = {first.algorithm: 60.0}, {second.algorithm: 5.0}
        if not while_running:
            project.observe(second, Outcome.failed())
            failed, running = {**failed, second.algorithm: 60.0}, {}
        project.keep()
        project = Project(journal, "p")
        (third,) = project.race([1.0], k=1, instance="raced", running=running, failed=failed, spent=5.0)
        project.observe(third, Outcome.solved(1.0))
        if while_running:
            project.observe(second, Outcome.censored(6.0))
        counted = project.statistics
        assert (counted.instances, counted.solved, counted.par10) == (1, 1, 6.0)
        assert sum(one.loss for one in counted.algorithms.values()) == 6.0
        project.verify()
