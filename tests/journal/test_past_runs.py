"""Runs of another state file: features, outcomes, slices of schedules, and what it had learned itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.errors import InputError, JournalError
from tailcut.journal import Journal, Project
from tailcut.journal.past_runs import read_past_runs
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.types import Decision


def project(journal: Journal, selector: str = "tailcut", name: str = "run", **more: Any) -> Project:
    settings = {"selector": selector, "algorithms": ["a", "b", "c"], "cutoff": 60.0, **more}
    return Project.create(journal, name, settings)


def cells(runs: RecordedRuns) -> dict[tuple[str, str], tuple[float, bool]]:
    """Return instance and solver -> seconds and whether solved."""
    assert runs.instances is not None
    assert runs.watched is not None
    found = {}
    for row, instance in enumerate(runs.instances):
        for column, solver in enumerate(runs.algorithms):
            if not np.isnan(runs.runtimes[row, column]):
                solved = bool(runs.solved[row, column])
                seconds = runs.runtimes if solved else runs.watched
                found[instance, solver] = (float(seconds[row, column]), solved)
    return found


def test_outcomes_of_single_picks(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = project(journal)
        chosen = []
        for number, outcome in enumerate(({"runtime": 3.0}, {"censored_at": 60.0}, {"failed": True}, {})):
            decision = kept.select({"x": float(number), "y": np.nan}, instance=f"i{number}")
            chosen.append(decision.algorithm)
            if outcome:
                kept.observe(decision, **outcome)  # type: ignore[arg-type]
        nameless = kept.select(None)
        kept.observe(nameless, runtime=1.0)
    runs = read_past_runs(tmp_path / "state.db")
    assert runs.feature_names == ("x", "y")
    assert runs.cutoff == 60.0
    assert runs.instances is not None
    assert runs.instances[:3] == ("i0", "i1", "i2")
    assert len(runs.instances) == 4  # the one without an outcome says nothing
    np.testing.assert_array_equal(runs.features[:, 0], [0.0, 1.0, 2.0, np.nan])
    found = cells(runs)
    assert found["i0", chosen[0]] == (3.0, True)
    assert found["i1", chosen[1]] == (60.0, False)
    assert found["i2", chosen[2]] == (60.0, False)


def test_slices_of_a_schedule_say_how_long_they_were_watched(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = project(journal, "tailcut_schedule")
        expected: dict[tuple[str, str], tuple[float, bool]] = {}
        slices = 0
        for instance in ("i", "j", "k", "l", "i"):  # one comes again
            following: Decision | None = kept.select(instance=instance)
            while following is not None:
                decision, slices = following, slices + 1
                kept.observe(decision, censored_at=decision.budget)
                before = expected.get((instance, decision.algorithm), (0.0, False))
                expected[instance, decision.algorithm] = max(before, (decision.budget, False))
                following = kept.proceed(decision)
        assert slices > len(expected) > 4
        decision = kept.select(instance="m")
        kept.observe(decision, runtime=2.0)
        expected["m", decision.algorithm] = (2.0, True)
    runs = read_past_runs(tmp_path / "state.db")
    assert cells(runs) == expected
    assert runs.features.shape == (5, 0)
    selector = Selector("tailcut", ["a", "b", "c"], 60.0)
    assert selector.fit(runs) == len(expected)
    assert selector.n_features is None, "instances without features say nothing about their number"
    assert selector.select({"x": 1.0}).algorithm in "abc"


def test_what_it_learned_by_fit_is_there_and_one_instance_is_one_row(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = project(journal)
        decision = kept.select({"x": 1.0}, instance="i")
        kept.observe(decision, runtime=4.0)
        other = next(name for name in "abc" if name != decision.algorithm)
        measured = RecordedRuns(
            algorithms=(other, "z"),
            cutoff=30.0,
            feature_names=("x",),
            features=np.array([[1.0], [2.0]]),
            runtimes=np.array([[9.0, np.nan], [30.0, 70.0]]),
            solved=np.array([[False, False], [False, True]]),
            known=None,
            instances=("i", "j"),
            watched=np.array([[9.0, np.nan], [np.nan, np.nan]]),
        )
        kept.fit(measured)
    runs = read_past_runs(tmp_path / "state.db")
    assert runs.instances == ("i", "j")
    assert cells(runs) == {
        ("i", decision.algorithm): (4.0, True),
        ("i", other): (9.0, False),
        ("j", other): (30.0, False),
        ("j", "z"): (70.0, True),
    }
    assert runs.cutoff == 60.0


def test_what_features_cost_is_carried_over(tmp_path: Path) -> None:
    """From decisions and from what was learned by `fit`, so that features over a limit stay missing."""
    measured = RecordedRuns.of(
        RecordedRuns(
            algorithms=("a", "b", "c"),
            cutoff=60.0,
            feature_names=("x",),
            features=np.array([[1.0], [2.0]]),
            runtimes=np.full((2, 3), 5.0),
            solved=np.ones((2, 3), dtype=bool),
            known=None,
            instances=("m0", "m1"),
            feature_cost=np.array([0.5, np.nan]),
        )
    )
    with Journal(tmp_path / "state.db") as journal:
        kept = project(journal)
        kept.fit(measured, key="measured")
        kept.observe(kept.select({"x": 3.0}, instance="i0", feature_cost=2.5), runtime=3.0)
        kept.observe(kept.select({"x": 4.0}, instance="i1"), runtime=3.0)
    runs = read_past_runs(tmp_path / "state.db")
    assert runs.instances == ("m0", "m1", "i0", "i1")
    assert runs.feature_cost is not None
    np.testing.assert_array_equal(runs.feature_cost, [0.5, np.nan, 2.5, 0.0])


def test_features_without_names(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = project(journal)
        kept.observe(kept.select([1.0, np.nan], instance="i"), runtime=1.0)
    runs = read_past_runs(tmp_path / "state.db")
    assert runs.feature_names is None
    np.testing.assert_array_equal(runs.features, [[1.0, np.nan]])


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: there is no such scenario and no such state file"):
        read_past_runs(tmp_path / "nowhere")
    with Journal(tmp_path / "none.db"):
        pass
    with pytest.raises(InputError, match=r"none.db: must hold one project .* it has none"):
        read_past_runs(tmp_path / "none.db")
    with Journal(tmp_path / "empty.db") as journal:
        project(journal)
    with pytest.raises(InputError, match=r"empty.db: no run has an outcome"):
        read_past_runs(tmp_path / "empty.db")
    with Journal(tmp_path / "two.db") as journal:
        project(journal, name="one")
        project(journal, name="two")
    with pytest.raises(InputError, match=r"it has one, two"):
        read_past_runs(tmp_path / "two.db")
    (tmp_path / "text.db").write_text("no database, and long enough to be told from one" * 10)
    with pytest.raises(JournalError, match=r"text\.db"):
        read_past_runs(tmp_path / "text.db")
