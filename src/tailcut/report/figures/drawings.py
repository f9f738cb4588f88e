"""Which figures a report has, and drawing them in several processes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailcut.bench.labels import is_schedule, labelled
from tailcut.numerics.processes import unordered
from tailcut.report.figures import (
    canvas,
    choices,
    cpu_tradeoff,
    critical,
    decision,
    instance_scatter,
    npar_bars,
    regret,
    sensitivity,
    solved,
    survival_curves,
    tradeoff,
)
from tailcut.report.numbers.explained_decisions import ExplainedDecision, ExplainedDecisions
from tailcut.report.numbers.gather import Report, ScenarioPart
from tailcut.report.progress import SILENT, ReportProgress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """One figure to be made: its file's name, what it shows in words, and the call that draws it."""

    name: str
    caption: str
    draw: Callable[..., Figure]
    arguments: tuple[Any, ...]
    scenario: str | None = None


Figures = dict[str, tuple[str, str]]
"""Name of a drawing -> its SVG and its caption."""


def drawings(report: Report) -> list[Drawing]:
    """Return all figures of a report, the large ones first so that no process waits for another."""
    par, many = report.results.par, report.featured
    found = []
    if npar_bars.bars(report.standings):
        text = (
            f"Mean n{par} over scenarios: 1 is the single best solver, 0 the best solver for every instance."
        )
        found.append(Drawing("npar10", text, npar_bars.draw, (report.standings, par)))
    curves = [part.regret for part in report.scenarios if part.regret is not None]
    if len(curves) > 1:
        text = (
            f"Cumulative {par} regret against the oracle on all scenarios; bands: one deviation over seeds."
        )
        found.append(Drawing("regret-overview", text, regret.overview, (curves, many, par)))
    for points in report.sweeps:
        text = f"{par} of {points.selector} for values of {points.parameter}; bars: one deviation over seeds."
        name = f"sensitivity-{points.selector}-{points.parameter}"
        found.append(Drawing(name, text, sensitivity.draw, (points, par)))
    if report.ranked is not None:
        text = "Average ranks; selectors under one bar do not differ significantly."
        found.append(Drawing("critical-difference", text, critical.draw, (report.ranked, par)))
    for scatter in report.scatters:
        text = f"{scatter.title}: median re{par} against decision time; lower left is better."
        found.append(Drawing(scatter.key, text, tradeoff.draw, (scatter, par)))
    if report.cpu_curves:
        text = f"n{par} of the answers against the CPU time of all other runs; lower left is better."
        found.append(Drawing("extra-cpu", text, cpu_tradeoff.draw, (report.cpu_curves, par)))
    for part in report.scenarios:
        found += _of_scenario(part, report)
    if report.explained is not None:
        found += [_of_decision(one, report.explained) for one in report.explained.decisions]
    return found


def _of_scenario(part: ScenarioPart, report: Report) -> Iterator[Drawing]:
    name, many, par, end = part.name, report.featured, report.results.par, slug(part.name)
    if part.regret is not None:
        bands = "; bands: one deviation over seeds" if len(report.results.seeds) > 1 else ""
        text = f"{name}: cumulative {par} regret against the oracle{bands}."
        yield Drawing(f"regret-{end}", text, regret.draw, (part.regret, many, par), name)
    if part.versus is not None:
        text = (
            f"{name}: each instance under {labelled(part.versus.selector)} against the single best solver, "
            f"seed {part.versus.seed}; below the line the selector is faster."
        )
        yield Drawing(f"instances-{end}", text, instance_scatter.draw, (part.versus,), name)
    if part.solved is not None:
        text = f"{name}: share of instances solved within a time."
        if any(band.name == "oracle" for band in part.solved.bands):
            text += " oracle: the best solver for each instance (VBS)."
        yield Drawing(f"solved-{end}", text, solved.draw, (part.solved, many), name)
    if part.shares:
        best = [one.algorithm for one in part.survival]
        which = f"lowest {par}" if best else "most chosen"
        text = f"{name}: how often each algorithm is chosen over time, all seeds together; coloured: {which}."
        if any(is_schedule(one.selector) for one in part.shares):
            text += " Of a schedule the last to run is counted."
        given = (name, part.shares, part.algorithms, best)
        yield Drawing(f"choices-{end}", text, choices.draw, given, name)
    if part.survival:
        text = f"{name}: survival of runs (Kaplan-Meier) per algorithm; the lowest {par} in colour."
        yield Drawing(f"survival-{end}", text, survival_curves.draw, (name, part.survival), name)


def _of_decision(one: ExplainedDecision, of: ExplainedDecisions) -> Drawing:
    place, chosen = f"{of.scenario}, decision {one.step} of {of.instances}", one.explanation.algorithm
    text = (
        f"{place} by {labelled(of.selector)}: {chosen}. "
        "Lines: 90% intervals of the runtimes it predicts; crosses: how long runs really take, if they end; "
        "right: the features that weigh most."
    )
    name = f"explained-{slug(of.scenario)}-{one.step}"
    return Drawing(name, text, decision.draw, (one, of.selector, f"{place}: {chosen}"), of.scenario)


def slug(name: str) -> str:
    """Return a name as a part of a file name; a changed name gets a unique suffix.

    >>> slug("SAT12-INDU"), slug("a/b")
    ('SAT12-INDU', 'a_b-c14cddc0')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")
    return plain if plain == name else f"{plain[:60]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def render(drawing: Drawing, folder: Path, formats: Sequence[str]) -> str:
    """Draw one figure, write it in all formats, and return its name."""
    canvas.save(drawing.draw(*drawing.arguments), folder, drawing.name, formats)
    return drawing.name


def render_all(
    found: Sequence[Drawing],
    folder: Path,
    formats: Sequence[str],
    jobs: int = 1,
    progress: ReportProgress = SILENT,
) -> None:
    """Draw all figures, in processes if there are several jobs and enough to do."""
    folder.mkdir(parents=True, exist_ok=True)
    progress.figures_planned(len(found))
    if jobs == 1 or len(found) < 12:
        for drawing in found:
            progress.figure_drawn(render(drawing, folder, formats))
        return
    for name in unordered(partial(render, folder=folder, formats=formats), found, jobs=jobs):
        progress.figure_drawn(name)


def read_svgs(found: Sequence[Drawing], folder: Path) -> Figures:
    """Return the drawings just made."""
    return {
        one.name: ((folder / f"{one.name}.svg").read_text(encoding="utf-8"), one.caption) for one in found
    }
