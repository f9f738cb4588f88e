"""A live run, read from its journal: instances over time, choices, the slowest, and the estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailcut.errors import InputError, TailcutError
from tailcut.estimate.single_solvers import RunEstimate, estimate_run
from tailcut.explain import Explanation
from tailcut.journal import Journal, Project
from tailcut.journal.served_instances import AskedInstance, ServedInstances
from tailcut.report.numbers.stream_curves import Shares
from tailcut.types import Status

PREFERRED = "run"
"""The default project of a state file with several: that of `tailcut run`."""
SLOWEST = 8
"""The number of instances listed with an explanation."""
PARTS = 20
"""Parts of the stream in which choices are counted."""


@dataclass(frozen=True)
class SolverWork:
    """What one solver was chosen for."""

    name: str
    runs: int
    solved: int
    failed: int
    seconds: float


@dataclass(frozen=True)
class SlowInstance:
    """One of the instances that cost most."""

    instance: AskedInstance
    why: Explanation | None
    """Of its first decision, as of today; None: it cannot be explained."""


@dataclass(frozen=True)
class LiveRun:
    """Everything that the page of a live run shows."""

    path: Path
    project: str
    selector: str
    cutoff: float
    algorithms: tuple[str, ...]
    instances: tuple[AskedInstance, ...]
    """The completed instances, in the order in which they began."""
    under_way: int
    estimate: RunEstimate | None
    slowest: tuple[SlowInstance, ...]
    notes: tuple[str, ...] = ()
    """What could not be shown, and why."""

    @property
    def solved(self) -> int:
        """How many instances were solved."""
        return sum(one.solved for one in self.instances)

    @property
    def solvers(self) -> list[SolverWork]:
        """What each solver did, the one with the most runs first."""
        found = []
        for name in self.algorithms:
            runs = [run for one in self.instances for run in one.runs if run.algorithm == name]
            ends = [run.status for run in runs]
            seconds = sum(run.seconds or 0.0 for run in runs)
            found.append(
                SolverWork(name, len(runs), ends.count(Status.SOLVED), ends.count(Status.FAILED), seconds)
            )
        return sorted(found, key=lambda one: (-one.runs, one.name))

    def shares(self) -> Shares | None:
        """Return how often each solver ran first, in parts of the stream; None: nothing ran."""
        first = [self.algorithms.index(one.runs[0].algorithm) for one in self.instances if one.runs]
        if not first:
            return None
        parts = np.array_split(np.array(first), max(1, min(PARTS, len(first) // 5)))
        share = np.array([np.bincount(part, minlength=len(self.algorithms)) / len(part) for part in parts])
        return Shares(self.selector, np.cumsum([len(part) for part in parts]).astype(float), share)


def read_live_run(path: Path, project: str | None = None) -> LiveRun:
    """Return what a project of a state file did; the file is only read, even while another process writes."""
    with Journal(path, read_only=True) as journal, journal.as_of_now():
        name = chosen_project(journal, project)
        kept = Project(journal, name)
        selector = kept.selector
        served = ServedInstances(selector.cutoff, schedules=selector.schedules)
        served.take_all(kept.history())
        if not served.instances:
            raise InputError(f"{path}: project {name!r} has served no instance yet")
        ran = {run.algorithm for one in served.instances.values() for run in one.runs}
        algorithms = (*selector.algorithms, *sorted(ran.difference(selector.algorithms)))
        found = estimate_run(served, selector.algorithms)
        slowest = [SlowInstance(one, _why(kept, one)) for one in _slowest(served.over)]
        notes = []
        if journal.base(kept.number) is not None:
            notes.append("The project was compacted: earlier events are not shown.")
        return LiveRun(
            path=path,
            project=name,
            selector=selector.name,
            cutoff=selector.cutoff,
            algorithms=tuple(algorithms),
            instances=tuple(served.over),
            under_way=len(served.instances) - len(served.over),
            estimate=found,
            slowest=tuple(slowest),
            notes=tuple(notes),
        )


def chosen_project(journal: Journal, wanted: str | None) -> str:
    """Return the project to report on; raise if that is ambiguous."""
    names = [name for name, number in journal.projects().items() if "selector" in journal.description(number)]
    known = ", ".join(names) or "none"
    if wanted is not None and wanted not in names:
        raise InputError(f"{journal.path}: there is no project {wanted!r} with a selector; it has {known}")
    if wanted is None and not names:
        raise InputError(f"{journal.path}: has no project with a selector")
    if wanted is None and PREFERRED not in names and len(names) > 1:
        raise InputError(f"{journal.path}: has several projects: give --project, one of {known}")
    return wanted or (PREFERRED if PREFERRED in names else names[0])


def _slowest(over: Sequence[AskedInstance]) -> list[AskedInstance]:
    return sorted(over, key=lambda one: (-one.par10, -one.seconds))[:SLOWEST]


def _why(project: Project, one: AskedInstance) -> Explanation | None:
    if not one.runs:
        return None
    try:
        return project.explain(one.runs[0].decision)
    except TailcutError:  # its solver may be gone by now
        return None
