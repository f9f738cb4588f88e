"""The page of a live run, read from its journal: what it did, its cost, and that of single solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailcut.display import counted
from tailcut.errors import InputError, TailcutError
from tailcut.estimate import LEVEL, RunEstimate, estimate_run
from tailcut.explain import Explanation
from tailcut.journal import Journal, Project
from tailcut.journal.instances import Instance, Instances
from tailcut.report.canvas import Drawings, distinct, sheet, short_ticks, shortened
from tailcut.report.curves import Shares
from tailcut.report.page import write_page
from tailcut.report.scenario_figures import choices
from tailcut.report.style import ALGORITHMS, DASHED, INK, LOOKS, OTHER_ALGORITHMS
from tailcut.report.tables import Row, Table
from tailcut.types import Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREFERRED = "run"
"""The default project of a state file with several: that of `tailcut run`."""
SLOWEST = 8
"""The number of instances listed with an explanation."""
PARTS = 20
"""Parts of the stream in which choices are counted."""
LONGEST = 60
"""Instances in the waterfall at most."""
_UNITS = ((7200.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


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
        drawings["estimate"] = partial(_draw_estimate, run.estimate)
    over_time = len(run.instances) > 1
    if over_time:
        drawings["solved-over-time"] = partial(_draw_solved, run.instances)
    if run.instances:
        drawings["waterfall"] = partial(_draw_waterfall, run.instances, run.algorithms)
    shares = run.shares()
    if shares is not None and over_time:
        drawings["choices"] = partial(choices, run.project, [shares], run.algorithms, run.algorithms)
    longest = min(LONGEST, len(run.instances))
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
    columns = {"solver": "", "runs": "", "solved": "", "failed": "", "seconds": ".1f"}
    note = "Chosen runs only. Failed: ended without an answer before their time was up."
    return Table("solvers", "What each solver did", note, columns, rows)


def _estimate_table(estimate: RunEstimate) -> Table:
    rows: list[Row] = [("this run", estimate.par10, None, None, estimate.instances, "what it cost")]
    for one in estimate.solvers:
        kind = "exact" if one.exact else "never ran" if one.par10 is None else "estimate"
        rows.append((one.name, one.par10, one.low, one.high, one.known, kind))
    note = (
        f"Seconds of PAR10 per instance over {counted(estimate.instances, 'instance')}. "
        f"From, to: the {LEVEL:.0%} interval; for a solver that never ran, the possible range. "
        "Known: the number of instances on which its cost is known."
    )
    columns = {"solver": "", "PAR10, s": ".2f", "from": ".2f", "to": ".2f", "known": "", "kind": ""}
    return Table("estimate", "What each solver alone would have cost (estimates)", note, columns, rows)


def _draw_solved(instances: Sequence[Instance]) -> Figure:
    """Draw how many instances were over, and solved, at any time."""
    begun = min(one.began for one in instances)
    ends = np.sort([(one.over or begun) - begun for one in instances])
    solved = np.sort([(one.over or begun) - begun for one in instances if one.solved])
    longest = float(ends[-1])
    size, unit = next((size, unit) for least, size, unit in _UNITS if longest >= least)
    figure, axes = sheet(6.4, 3.2)
    for at, label, colour, dashes in (
        (ends, "completed", INK, LOOKS["sbs"].dashes),
        (solved, "solved", LOOKS["tailcut"].colour, "-"),
    ):
        x = np.concatenate([[0.0], at, [longest]]) / size
        y = np.concatenate([np.arange(len(at) + 1), [len(at)]])
        axes.step(x, y, where="post", color=colour, linestyle=dashes, linewidth=1.6, label=label)
    axes.set(xlim=(0, max(longest / size, 1e-9)), ylim=(0, None))
    axes.set(xlabel=f"{unit} since the first decision", ylabel="instances")
    axes.legend(loc="lower right")
    figure.subplots_adjust(left=0.1, right=0.97, bottom=0.16, top=0.96)
    return figure


def _draw_estimate(estimate: RunEstimate) -> Figure:
    """Draw a row per solver: estimate and interval, exact costs filled; dashed: what the run cost."""
    rows = estimate.solvers
    height = 0.27 * len(rows) + 1.0
    figure, axes = sheet(6.4, height)
    colour = LOOKS["thompson"].colour
    for place, one in enumerate(rows):
        shade = OTHER_ALGORITHMS if one.par10 is None else colour
        axes.plot([one.low, one.high], [place, place], color=shade, linewidth=3.0, solid_capstyle="butt")
        if one.par10 is not None:
            face = colour if one.exact else "none"
            axes.plot([one.par10], [place], "o", color=colour, markerfacecolor=face, markeredgecolor=INK)
    axes.axvline(estimate.par10, color=LOOKS["tailcut"].colour, linewidth=1.8, linestyle=DASHED)
    axes.set_yticks(range(len(rows)), distinct([one.name for one in rows], 25), fontsize=8)
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, None))
    axes.grid(visible=False, axis="y")
    short_ticks(axes, "x")
    axes.set_xlabel("PAR10 per instance, s; dashed: what this run cost")
    figure.subplots_adjust(left=0.3, right=0.97, bottom=0.55 / height, top=1 - 0.15 / height)
    return figure


def _draw_waterfall(instances: Sequence[Instance], algorithms: Sequence[str]) -> Figure:
    """Draw a bar per instance, its runs side by side, those of a race one below the other.

    A cross: it was not solved.
    """
    shown = sorted(instances, key=lambda one: -one.seconds)[:LONGEST]
    total = 0.15 * len(shown) + 1.1
    figure, axes = sheet(7.6, total)
    coloured = algorithms[: len(ALGORITHMS)]
    colours = dict(zip(coloured, ALGORITHMS, strict=False))
    for place, one in enumerate(shown):
        if one.runs and one.runs[0].spent:
            axes.barh(place, one.runs[0].spent, color=INK, height=0.8)
        height = 0.8 / len(one.runs) if one.raced else 0.8
        for lane, run in enumerate(one.runs):
            at = place - 0.4 + (lane + 0.5) * height if one.raced else place
            colour = colours.get(run.algorithm, OTHER_ALGORITHMS)
            axes.barh(at, run.seconds or 0.0, left=run.spent, color=colour, height=height)
        if not one.solved:
            axes.plot([one.seconds], [place], "x", color=INK, markersize=3.5, clip_on=False)
    axes.set_yticks(range(len(shown)), [shortened(one.name or "?", 30) for one in shown], fontsize=5.5)
    axes.set(ylim=(len(shown) - 0.4, -0.6), xlim=(0, None))
    axes.grid(visible=False, axis="y")
    short_ticks(axes, "x")
    axes.set_xlabel("seconds; crosses: not solved; ink at the left: features")
    handles: list[Any] = [axes.bar(0, 0, color=colour) for colour in colours.values()]
    labels = distinct(coloured, 22)
    if len(algorithms) > len(coloured):
        handles.append(axes.bar(0, 0, color=OTHER_ALGORITHMS))
        labels.append("others")
    top = 1 - 0.15 / total
    place_of_legend: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.765, top)}
    figure.legend(handles, labels, fontsize=7, borderaxespad=0.0, **place_of_legend)
    figure.subplots_adjust(left=0.24, right=0.75, bottom=0.5 / total, top=top)
    return figure
