"""A snapshot that is due is written in slices beside later steps, after the answer, and holds one moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tailcut.journal import Journal, Project, file
from tailcut.journal.project import SLICES
from tailcut.service.service_limits import ServiceLimits
from tailcut.types import Outcome
from tests.service.running import Running

WIDTH = 6


def step(project: Project, number: int) -> None:
    rng = np.random.default_rng(number)
    decision = project.select(rng.normal(size=WIDTH), instance=f"i{number}")
    if number % 5:
        seconds = float(rng.exponential(40.0))
        project.observe(decision, Outcome.solved(seconds) if seconds < 60.0 else Outcome.censored(60.0))


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule", "thompson_rev"])
def test_it_is_of_one_moment_though_learning_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(file, "PIECE", 500)
    moments, found = dict[int, bytes](), set[int]()
    begin = Project._snapshot_in_slices

    def noted(project: Project) -> Iterator[bool]:
        moments[project.last_event] = project.selector.to_bytes()
        return begin(project)

    monkeypatch.setattr(Project, "_snapshot_in_slices", noted)
    with Journal(tmp_path / "state.db") as journal:
        settings = {"selector": name, "algorithms": ["a", "b", "c"], "cutoff": 60.0}
        project = Project.create(journal, "p", settings)
        project.snapshot_every = 40
        for number in range(120):
            step(project, number)
            kept = journal.snapshot(project.number)
            if kept is not None:
                found.add(kept.event)
                assert kept.selector == moments[kept.event]
        assert len(found) >= 2
        ((pieces,),) = journal.rows("SELECT max(n) FROM (SELECT count(*) n FROM pieces GROUP BY base)")
        assert pieces > 2 * SLICES  # several steps write one
        assert project.verify() == project.last_event
        latest = project.selector.to_bytes()
    with Journal(tmp_path / "state.db", read_only=True) as journal:  # not closed in an orderly way
        assert Project(journal, "p").selector.to_bytes() == latest


def test_an_interrupted_one_is_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "PIECE", 100)
    for stop in range(60, 140, 13):
        path = tmp_path / f"{stop}.db"
        with Journal(path) as journal:
            settings = {"selector": "thompson", "algorithms": ["a", "b"], "cutoff": 60.0}
            project = Project.create(journal, "p", settings)
            project.snapshot_every = 50
            for number in range(stop // 2):
                step(project, number)
        with Journal(path) as journal:
            again = Project(journal, "p")
            assert again.selector.to_bytes() == project.selector.to_bytes()
            assert again.verify() == again.last_event
            again.keep()
            journal.remove(again.number)
            assert journal.rows("SELECT count(*) FROM pieces") == [(0,)]


def test_the_answer_does_not_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answered, waited = threading.Event(), threading.Event(), list[bool]()

    def slow() -> None:
        begun.set()
        waited.append(answered.wait(10))

    with Running(tmp_path / "state.db", ServiceLimits(snapshot_every=3)) as running:
        running.create("p")
        monkeypatch.setattr(running.context.writer.projects["p"], "try_to_keep", slow)
        for _ in range(3):
            assert running.call("POST", "/v1/projects/p/select", {"features": [1.0]}).status == 200
        answered.set()
        assert begun.wait(10)
    assert waited == [True]
