"""The page of a live run, read from its journal: what it did, its cost, and that of single solvers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.display import counted
from tailcut.errors import InputError, TailcutError
from tailcut.estimate import LEVEL, RunEstimate, estimate_run
from tailcut.explain import Explanation
from tailcut.journal import Journal, Project
from tailcut.journal.instances import Instance, Instances
from tailcut.report import figures
from tailcut.report.curves import Shares
from tailcut.report.page import Drawings, Row, Table, table, write_page
from tailcut.types import Status

PREFERRED = "run"
"""The default project of a state file with several: that of `tailcut run`."""
SLOWEST = 8
"""The number of instances listed with an explanation."""
PARTS = 20
"""Parts of the stream in which choices are counted."""


@dataclass(frozen=True)
class LiveRun:
    """Everything that the page of a live run shows."""

    path: Path
    project: str
    selector: str
    cutoff: float
    algorithms: tuple[str, ...]
    instances: tuple[Instance, ...]
    """The completed instances, in the order in which they began."""
    under_way: int
    estimate: RunEstimate | None
    slowest: tuple[tuple[Instance, Explanation | None], ...]
    """Instances that cost most, and why the first decision was made; None: it cannot be explained."""
    compacted: bool
    """Whether earlier events are gone."""

    @property
    def solved(self) -> int:
        return sum(one.solved for one in self.instances)

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
        name = _chosen_project(journal, project)
        kept = Project(journal, name)
        selector = kept.selector
        served = Instances(selector.cutoff, schedules=selector.schedules)
        served.take_all(kept.history())
        if not served.instances:
            raise InputError(f"{path}: project {name!r} has served no instance yet")
        ran = {run.algorithm for one in served.instances.values() for run in one.runs}
        slowest = sorted(served.over, key=lambda one: (-one.par10, -one.seconds))[:SLOWEST]
        return LiveRun(
            path=path,
            project=name,
            selector=selector.name,
            cutoff=selector.cutoff,
            algorithms=(*selector.algorithms, *sorted(ran.difference(selector.algorithms))),
            instances=tuple(served.over),
            under_way=len(served.instances) - len(served.over),
            estimate=estimate_run(served, selector.algorithms),
            slowest=tuple((one, _why(kept, one)) for one in slowest),
            compacted=journal.base(kept.number) is not None,
        )


def _chosen_project(journal: Journal, wanted: str | None) -> str:
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


def _why(project: Project, instance: Instance) -> Explanation | None:
    if not instance.runs:
        return None
    try:
        return project.explain(instance.runs[0].decision)
    except TailcutError:  # its solver may be gone by now
        return None


def write_live_page(run: LiveRun, out: Path, **options: Any) -> Path:
    """Write the page, its tables and its figures into `out`; `options` are those of `write_page`."""
    drawings = Drawings()
    tables = [solvers_table(run)]
    if run.estimate is not None:
        tables.append(_estimate_table(run.estimate))
        drawings["estimate"] = partial(figures.estimate, run.estimate)
    over_time = len(run.instances) > 1
    if over_time:
        drawings["solved-over-time"] = partial(figures.solved_over_time, run.instances)
    if run.instances:
        drawings["waterfall"] = partial(figures.waterfall, run.instances, run.algorithms)
    shares = run.shares()
    if shares is not None and over_time:
        drawings["choices"] = partial(figures.choices, run.project, [shares], run.algorithms, run.algorithms)
    longest = min(figures.LONGEST, len(run.instances))
    return write_page("live.html.j2", out, tables, drawings, run=run, level=LEVEL, longest=longest, **options)


def solvers_table(run: LiveRun) -> Table:
    """Return what each solver did, the one with the most runs first."""
    rows: list[tuple[str, int, int, int, float]] = []
    for name in run.algorithms:
        runs = [one for instance in run.instances for one in instance.runs if one.algorithm == name]
        ends = [one.status for one in runs]
        solved, failed = ends.count(Status.SOLVED), ends.count(Status.FAILED)
        rows.append((name, len(runs), solved, failed, sum(one.seconds or 0.0 for one in runs)))
    rows.sort(key=lambda row: (-row[1], row[0]))
    return table("solvers", rows, texts="live-solvers")


def _estimate_table(estimate: RunEstimate) -> Table:
    rows: list[Row] = [("this run", estimate.par10, None, None, estimate.instances, "what it cost")]
    for one in estimate.solvers:
        kind = "exact" if one.exact else "never ran" if one.par10 is None else "estimate"
        rows.append((one.name, one.par10, one.low, one.high, one.known, kind))
    return table("estimate", rows, instances=counted(estimate.instances, "instance"), level=LEVEL)
