"""A project comes back bit for bit, whatever was done to it and wherever it was cut off."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tailcut.errors import InputError, JournalError
from tailcut.journal import EventKind, Journal, Project, project
from tailcut.journal.project import make
from tailcut.schedules import HazardSchedule
from tailcut.types import Decision, Outcome

NAMES = ["a", "b", "c"]


def description(selector: str, **more: Any) -> dict[str, Any]:
    return {"selector": selector, "algorithms": NAMES, "cutoff": 60.0, "seed": 3, **more}


def recorded(rng: np.random.Generator) -> Any:
    """Runs of two of our algorithms and a foreign one, some of them unknown, on five instances."""
    features = rng.normal(size=(5, 4))
    features[0, 0] = math.nan
    runtimes = rng.exponential(40.0, size=(5, 3))
    runtimes[1, 1], runtimes[2, 2] = math.nan, math.inf
    return SimpleNamespace(
        algorithms=("c", "a", "z"),
        cutoff=50.0,
        features=features,
        runtimes=runtimes,
        solved=runtimes < 50.0,
    )


def live_a_little(kept: Project, steps: int, seed: int) -> None:
    """Decide, observe late and out of order, proceed, add and remove."""
    rng = np.random.default_rng(seed)
    waiting: list[Decision] = []
    for step in range(steps):
        values = rng.normal(size=4)
        values[rng.random(4) < 0.1] = math.nan
        waiting.append(kept.select(values, instance=f"i{step}", spent=float(step % 3)))
        while len(waiting) > 3 or (waiting and rng.random() < 0.5):
            decision = waiting.pop(int(rng.integers(len(waiting))))
            outcome = (
                Outcome.solved(float(rng.exponential(20.0)))
                if rng.random() < 0.5
                else Outcome.censored(decision.budget)
            )
            assert kept.observe(decision, outcome, note={"step": step})
            assert not kept.observe(decision.id, outcome)
            following = kept.proceed(decision)
            if following is not None:
                waiting.append(following)
        if step == 10:
            kept.add_algorithm("d")
        if step == 20:
            kept.remove_algorithm("b")
        if step in (0, 15):
            kept.fit(recorded(rng), known=rng.random((5, 3)) < 0.8)
        kept.remark({"step": step})


@pytest.mark.parametrize("selector", ["thompson_rev", "tailcut", "tailcut_schedule", "round_robin"])
def test_it_comes_back_bit_for_bit(tmp_path: Path, selector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "SNAPSHOT_EVERY", 37)
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description(selector))
        live_a_little(kept, 40, seed=1)
        before = kept.selector.to_bytes()
        events = len(list(kept.history()))
    with Journal(tmp_path / "state.db") as journal:
        again = Project(journal, "p")
        assert again.selector.to_bytes() == before
        assert again.verify() == events


@pytest.mark.parametrize("selector", ["thompson_rev", "tailcut", "tailcut_schedule", "epsilon_greedy"])
def test_fitting_is_an_event_and_the_same_as_in_memory(tmp_path: Path, selector: str) -> None:
    scenario, local = recorded(np.random.default_rng(0)), make(description(selector))
    count = local.fit(scenario)
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description(selector))
        assert kept.fit(scenario, key="k") == count > 5
        assert kept.fit(scenario, key="k") == count  # the same key: nothing more is learned
        assert kept.selector.to_bytes() == local.to_bytes()
        assert kept.select([0.0] * 4, key="k").to_dict() == local.select([0.0] * 4).to_dict()
        assert [event.kind for event in kept.history()] == [EventKind.FIT, EventKind.SELECT]
        assert (kept.statistics.events, kept.statistics.decisions) == (2, 1)
    with Journal(tmp_path / "state.db") as journal:
        again = Project(journal, "p")
        assert again.selector.to_bytes() == local.to_bytes()
        assert again.verify() == 2


def test_wrong_recorded_runs_are_not_written(tmp_path: Path) -> None:
    good = recorded(np.random.default_rng(0))
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("thompson_rev"))
        before = kept.selector.to_bytes()
        for field, value in [
            ("algorithms", ("x", "y", "z")),
            ("features", np.full((5, 4), np.inf)),
            ("features", np.zeros((0, 4))),
            ("runtimes", np.zeros((5, 2))),
            ("solved", np.ones((5, 3))),
            ("cutoff", 0.0),
        ]:
            with pytest.raises(InputError) as caught:
                kept.fit(SimpleNamespace(**{**vars(good), field: value}))
            assert caught.value.field == field
        with pytest.raises(InputError, match="known"):
            kept.fit(good, known=np.ones((2, 2), dtype=bool))
        assert list(kept.history()) == []
        assert kept.selector.to_bytes() == before


def test_looking_writes_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("tailcut"))
        kept.observe(kept.select([1.0, 2.0]), censored_at=60.0)
        before = kept.selector.to_bytes()
        assert kept.consider([1.0, 2.0], among=["a"], cutoff=10.0, top=1).algorithm == "a"
        assert kept.feature_budget(cutoff=10.0) <= kept.feature_budget() <= 60.0
        assert kept.selector.to_bytes() == before
        assert len(list(kept.history())) == 2


def test_a_copy_at_any_moment_comes_back(tmp_path: Path) -> None:
    """A file copied between two steps is what a crash leaves behind."""
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("thompson"))
        for number in range(6):
            live_a_little_more = kept.select([1.0 * number, 2.0])
            copy = tmp_path / f"copy{number}"
            copy.mkdir()
            for name in ("state.db", "state.db-wal"):
                shutil.copy(tmp_path / name, copy / name)
            with Journal(copy / "state.db") as other:
                assert Project(other, "p").selector.to_bytes() == kept.selector.to_bytes()
            kept.observe(live_a_little_more, Outcome.solved(1.0 + number))


def test_a_step_that_cannot_be_written_did_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("thompson"))
        decision = kept.select([1.0])
        before = kept.selector.to_bytes()

        def full(*_: object, **__: object) -> int:
            raise JournalError("disk is full", full=True)

        with monkeypatch.context() as patch:
            patch.setattr(journal, "append", full)
            with pytest.raises(JournalError):
                kept.observe(decision, Outcome.solved(2.0))
            with pytest.raises(JournalError):
                kept.select([2.0])
        assert kept.selector.to_bytes() == before
        assert kept.observe(decision, Outcome.solved(2.0))


def test_a_wrong_step_is_not_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("thompson"))
        kept.select([1.0])
        for wrong in ([math.inf], [1.0, 2.0]):
            with pytest.raises(InputError):
                kept.select(wrong)
        assert len(list(kept.history())) == 1


def test_a_journal_that_was_tampered_with_is_found(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("thompson"))
        kept.select([1.0])
        journal.rows('UPDATE events SET body = replace(body, \'"algorithm": "a"\', \'"algorithm": "c"\')')
        with pytest.raises(JournalError, match="event 1: the decision was c for 60 s, and is a for 60 s"):
            kept.verify()


def test_unknown_and_double_projects(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        Project.create(journal, "p", description("random"))
        with pytest.raises(JournalError, match="there is a project 'p' already"):
            Project.create(journal, "p", description("random"))
        with pytest.raises(JournalError, match="no project 'q'; known: p"):
            Project(journal, "q")
        with pytest.raises(InputError, match="unknown selector"):
            Project.create(journal, "r", description("nonsense"))
        assert list(journal.projects()) == ["p"]


def test_refused_recorded_runs_leave_memory_and_journal_alike(tmp_path: Path) -> None:
    """A project that has learned losses refuses times, and nothing of them is settled."""
    runs = SimpleNamespace(**vars(recorded(np.random.default_rng(0))), feature_names=("u", "v", "w", "x"))
    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("tailcut"))
        kept.observe(kept.select(), loss=0.5)
        with pytest.raises(InputError, match="cannot learn times"):
            kept.fit(runs)
        assert kept.selector.feature_names is None
        kept.observe(kept.select([1.0]), loss=0.25)
        assert kept.verify() == 4
    with Journal(tmp_path / "state.db") as journal:
        Project(journal, "p").verify()


@pytest.mark.parametrize("step", ["select", "observe", "proceed", "fit"])
def test_a_step_that_fails_midway_leaves_no_trace(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"select": "choose", "observe": "learn", "proceed": "proceed", "fit": "learn_recorded"}

    def broken(*_: object) -> None:
        raise MemoryError("no room")

    with Journal(tmp_path / "state.db") as journal:
        kept = Project.create(journal, "p", description("tailcut_schedule"))
        first = kept.select([1.0] * 4)
        if step == "proceed":
            kept.observe(first, censored_at=first.budget / 2)
        events = len(list(kept.history()))
        steps: dict[str, Callable[[], object]] = {
            "select": lambda: kept.select([2.0] * 4),
            "observe": lambda: kept.observe(first, runtime=1.0),
            "proceed": lambda: kept.proceed(first),
            "fit": lambda: kept.fit(recorded(np.random.default_rng(0))),
        }
        with monkeypatch.context() as patched:
            patched.setattr(HazardSchedule, names[step], broken)
            with pytest.raises(MemoryError):
                steps[step]()
        assert kept.verify() == events
        steps[step]()
        assert kept.verify() == events + 1
