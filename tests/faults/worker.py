"""Run with the shim: takes steps while calls on its files fail (`faults`), or are recorded (`record`)."""

from __future__ import annotations

import ctypes
import os
import random
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tailcut.errors import JournalError
from tailcut.journal import EventKind, Journal, Project, file
from tailcut.types import Outcome

SHIM = ctypes.CDLL(None)
SETTINGS: dict[str, Any] = {"selector": "thompson_rev", "algorithms": ["a", "b"], "cutoff": 60.0}
CALLS = b"wsto"


class Steps:
    """What was acknowledged, and of what it is not known."""

    def __init__(self, *, exact: bool = True) -> None:
        self.exact = exact
        """Whether nothing else may be in the file."""
        self.done: list[str] = []
        self.uncertain: set[str] = set()

    def take(self, project: Project, number: int) -> None:
        """Select, again after an error, and observe; two of them in one transaction."""
        key = f"k{number}"
        for _ in range(2):
            try:
                with project.journal.together():
                    decision = project.select([1.0 * number, 1.0], instance=f"i{number}", key=key)
                    if number % 2:
                        project.observe(decision, Outcome.solved(1.0 + number))
            except JournalError as error:
                self.uncertain |= {key} if error.uncertain else set()
            else:
                self.done.append(key)
                return

    def check(self, path: Path) -> None:
        """Raise unless a file that is opened again holds every acknowledged step, once."""
        with Journal(path) as journal:
            assert journal.rows("PRAGMA integrity_check") == [("ok",)]
            if not journal.projects():
                assert not self.done
                return
            project = Project(journal, "p")
            history = list(project.history())
            found = Counter(event.key for event in history if event.kind is EventKind.SELECT)
            assert set(self.done) <= found.keys(), f"lost: {set(self.done) - found.keys()}"
            assert found.keys() <= {*self.done, *self.uncertain, "later"} or not self.exact, found
            assert set(found.values()) <= {1}
            assert project.verify() == len(history)
            project.select([1.0, 1.0], key="later")


def serve(path: Path, steps: Steps, first: int, count: int) -> None:
    """Take some steps, with a snapshot now and then, and small logs."""
    with Journal(path) as journal:
        journal.rows("PRAGMA wal_autocheckpoint = 8")
        project = Project(journal, "p") if journal.projects() else Project.create(journal, "p", SETTINGS)
        project.snapshot_every = 2
        for number in range(first, first + count):
            steps.take(project, number)
        project.keep()


def faults(folder: Path, *, forever: bool) -> None:
    """Let the n-th call fail, for n = 1, 2, ... until there are not so many."""
    number = 0
    reached = True
    while reached:
        number += 1
        steps, path = Steps(), folder / f"state{number}.db"
        serve(path, steps, 0, 1)
        SHIM.tailcut_fail(ctypes.c_long(number), int(forever), CALLS)
        with suppress(JournalError):
            serve(path, steps, 1, 3)
        reached = SHIM.tailcut_calls() >= number
        SHIM.tailcut_fail(ctypes.c_long(0), 0, b"")
        try:
            steps.check(path)
            if not forever:  # the second attempt succeeds, unless it was not possible to begin
                assert len(steps.done) in (1, 4), steps.done
        except BaseException as error:
            raise AssertionError(f"call {number}: {type(error).__name__}: {error}") from error
        for part in folder.glob(f"state{number}.db*"):
            part.unlink()
    sys.stdout.write(f"{number}\n")


def record(folder: Path, out: Path, seed: int) -> None:
    """Take steps in three sessions; note each that was acknowledged in a file that is recorded, too."""
    chance = random.Random(seed)
    file.PIECE = 200
    SHIM.tailcut_record(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    acknowledged = os.open(folder / "state.db-acknowledged", os.O_WRONLY | os.O_CREAT)
    for session in range(3):
        with Journal(folder / "state.db") as journal:
            journal.rows("PRAGMA wal_autocheckpoint = 8")
            project = Project(journal, "p") if journal.projects() else Project.create(journal, "p", SETTINGS)
            project.snapshot_every = 6
            for number in range(12):
                key = f"{session}.{number}"
                decision = project.select([chance.random(), 1.0], key=key)
                project.observe(decision, Outcome.solved(1.0 + number))
                os.write(acknowledged, f"{key}\n".encode())
            if session == 1:
                project.keep()


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        faults(Path(sys.argv[2]), forever=sys.argv[1] == "forever")
