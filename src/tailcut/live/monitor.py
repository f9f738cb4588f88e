"""Following a run from outside: its journal is read repeatedly while another process writes it.

Each look is one short read. In a write-ahead log, readers and the writer do not wait for each other, and the
kernel's table of locks shows whether a process writes, so nothing is ever locked here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailcut.errors import InputError, JournalError
from tailcut.journal import Journal
from tailcut.journal.instances import Instances
from tailcut.journal.project import make
from tailcut.live.instance_record import PROJECT
from tailcut.types import Status

LATEST = 5
_LOCKS = Path("/proc/locks")


@dataclass(frozen=True)
class RunProgress:
    """The state of a run."""

    state: str
    project: str
    selector: str
    cutoff: float
    at: float
    last_event: int
    last_event_at: float | None
    written: bool | None
    """Whether a process has the file open for writing; None if this system does not say."""
    over: int
    solved: int
    par10: float | None
    seconds: float
    besides: int
    """Runs that were made to measure or to learn."""
    running: list[dict[str, Any]]
    """For each run in progress: the instance, the solver, its budget, and since when it runs."""
    latest: list[dict[str, Any]]
    """For the instances completed last, the latest first: by which solver, in what time, and when."""
    solvers: list[dict[str, Any]]
    """For each solver: how many runs it made, how many instances it solved, and its seconds."""


def followed_run(path: Path, project: str | None = None, patience: float = 10.0) -> FollowedRun:
    """Return a run to follow; wait at most so many seconds for one that is just starting."""
    until = time.monotonic() + patience
    while True:
        try:
            return FollowedRun(path, project)
        except (JournalError, InputError):
            if not is_written(path) or time.monotonic() > until:
                raise
        time.sleep(0.05)


def chosen_project(journal: Journal, wanted: str | None = None) -> str:
    """Return the project of a state file that is wanted, or its only one, or that of `tailcut run`."""
    names = [name for name, number in journal.projects().items() if "selector" in journal.description(number)]
    name = wanted or (PROJECT if PROJECT in names or not names else names[0])
    known = ", ".join(names)
    if name not in names:
        raise InputError(
            f"{journal.path}: there is no project {name!r} with a selector; it has {known or 'none'}"
        )
    if wanted is None and name != PROJECT and len(names) > 1:
        raise InputError(f"{journal.path}: has several projects: give --project, one of {known}")
    return name


class FollowedRun:
    """A project of a state file, read from outside as it grows."""

    def __init__(self, path: Path, project: str | None = None) -> None:
        self._journal = Journal(path, read_only=True)
        self.path = path
        try:
            self.project = chosen_project(self._journal, project)
        except InputError:
            self._journal.close()
            raise
        self._number = self._journal.projects()[self.project]
        selector = make(self._journal.description(self._number))
        self._selector, self._algorithms = selector.name, selector.algorithms
        self._served = Instances(selector.cutoff, schedules=selector.schedules)

    def close(self) -> None:
        self._journal.close()

    def look(self) -> RunProgress:
        """Return the state of the run; only new events are read."""
        written = is_written(self.path)  # before reading, so that everything written by then is read
        self._served.take_all(list(self._journal.events(self._number, after=self._served.last_event)))
        served, over = self._served, self._served.over
        every = list(served.instances.values())
        finished = sorted(over, key=lambda one: one.over or 0.0, reverse=True)[:LATEST]
        return RunProgress(
            state=str(self.path),
            project=self.project,
            selector=self._selector,
            cutoff=served.cutoff,
            at=time.time(),
            last_event=served.last_event,
            last_event_at=served.last_at,
            written=written,
            over=len(over),
            solved=sum(one.solved for one in over),
            par10=sum(one.par10 for one in over) / len(over) if over else None,
            seconds=sum(one.seconds for one in over),
            besides=sum(one.besides for one in every),
            running=[
                {"instance": one.name, "solver": run.algorithm, "budget": run.budget, "since": run.began}
                for one in every
                for run in one.runs
                if run.status is None and one.over is None
            ],
            latest=[
                {
                    "instance": one.name,
                    "solved": one.solved,
                    "solver": None if one.answering is None else one.answering.algorithm,
                    "seconds": one.seconds,
                    "at": one.over or 0.0,
                }
                for one in finished
            ],
            solvers=self._solvers(),
        )

    def _solvers(self) -> list[dict[str, Any]]:
        found = {name: {"runs": 0, "solved": 0, "seconds": 0.0} for name in self._algorithms}
        for one in self._served.instances.values():
            for run in one.runs:
                solver = found.setdefault(run.algorithm, {"runs": 0, "solved": 0, "seconds": 0.0})
                solver["runs"] += run.status is not None
                solver["solved"] += run.status is Status.SOLVED
                solver["seconds"] += run.seconds or 0.0
        return [{"solver": name, **done} for name, done in found.items()]


def is_written(path: Path) -> bool | None:
    """Return whether a process has a state file open for writing; None if this system does not say."""
    real = path.resolve()
    try:
        found = real.with_name(real.name + "-lock").stat()
        locks = _LOCKS.read_text()
    except FileNotFoundError:
        return False if _LOCKS.exists() else None
    except OSError:
        return None
    # A line: "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF"; a waiting one has "->" behind the number.
    return any(
        parts[1] == "FLOCK" and parts[5].rpartition(":")[2] == str(found.st_ino)
        for parts in map(str.split, locks.splitlines())
        if len(parts) >= 6
    )
