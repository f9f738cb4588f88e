"""Looking after a state file: verifying while another process writes, compacting recorded runs."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tailcut.journal import EventKind, Journal, Project, upkeep
from tailcut.types import Outcome
from tests.journal.state_files import filled


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return filled(tmp_path / "state.db")


def test_verifying_is_not_confused_by_what_is_written_meanwhile(file: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        with Journal(file) as journal:
            project = Project(journal, "one", snapshot_every=7)
            while not stop.is_set():
                project.observe(project.select([1.0, 2.0]), Outcome.solved(1.0))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with Journal(file, read_only=True) as reader:
            counts: list[int] = []
            while len(set(counts)) < 4:  # until some were written in between
                (found,) = upkeep.verify(reader, ["one"])
                assert found.problem is None
                counts.append(found.events)
            with reader.as_of_now():
                before = reader.last(1)
                time.sleep(0.1)
                assert reader.last(1) == before
    finally:
        stop.set()
        writer.join()


def test_compacting_drops_recorded_runs_and_keeps_what_they_taught(tmp_path: Path) -> None:
    runs = SimpleNamespace(
        algorithms=("a", "b"),
        cutoff=60.0,
        features=[[1.0], [2.0]],
        runtimes=[[1.0, 60.0], [3.0, 4.0]],
        solved=[[True, False], [True, True]],
    )
    with Journal(tmp_path / "state.db") as journal:
        settings = {"selector": "thompson_rev", "algorithms": ["a", "b"], "cutoff": 60.0}
        project = Project.create(journal, "p", settings)
        assert project.fit(runs, key="k") == 4
        project.select([1.0], key="k")
        before = project.selector.to_bytes()
        assert list(upkeep.compact(journal)) == [("p", 1, 1)]
        again = Project(journal, "p")
        assert again.selector.to_bytes() == before
        assert [event.kind for event in again.history()] == [EventKind.SELECT]
        assert again.verify() == 0


def test_what_is_written_after_compacting_is_there_after_a_restart(tmp_path: Path) -> None:
    """Nothing waits, so all events could go; but the next one must not get a number that was used."""
    path = tmp_path / "state.db"
    with Journal(path) as journal:
        settings = {"selector": "random", "algorithms": ["a", "b"], "cutoff": 60.0}
        project = Project.create(journal, "p", settings)
        for _ in range(3):
            project.observe(project.select(), runtime=1.0)
        assert list(upkeep.compact(journal)) == [("p", 5, 1)]
    with Journal(path) as journal:
        project = Project(journal, "p")
        project.observe(project.select(), runtime=2.0)
    with Journal(path) as journal:
        project = Project(journal, "p")
        assert project.selector.decisions == 4
        assert project.verify() == 2
        assert project.select().id == 4
