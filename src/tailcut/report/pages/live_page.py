"""The page of a live run: what it did, its cost, and the estimated cost of single solvers."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from tailcut.display import counted
from tailcut.estimate.single_solvers import LEVEL, RunEstimate
from tailcut.explain import seconds
from tailcut.report.figures import choices, run_figures
from tailcut.report.figures.canvas import FORMATS, with_svg
from tailcut.report.figures.drawings import Drawing, Figures, read_svgs, render_all
from tailcut.report.numbers.live_run import LiveRun, SlowInstance
from tailcut.report.pages.html_page import Section, bullets, details, figure, page, paragraphs, table
from tailcut.report.progress import SILENT, ReportProgress
from tailcut.report.tables.formats import write_tables
from tailcut.report.tables.sheet import Sheet, SheetEntry

_ENOUGH = 2
"""Completed instances from which on something over time can be drawn."""


def write_live_page(
    run: LiveRun, out: Path, *, formats: Sequence[str] = FORMATS, progress: ReportProgress = SILENT
) -> Path:
    """Write the page, its tables and its figures into the folder `out` and return the page."""
    tables = {"solvers": _solvers_sheet(run)}
    if run.estimate is not None:
        tables["estimate"] = _estimate_sheet(run.estimate)
    write_tables(list(tables.values()), out / "tables")
    found = _drawings(run)
    render_all(found, out / "figures", with_svg(formats), 1, progress)
    path = out / "index.html"
    path.write_text(_page(run, tables, read_svgs(found, out / "figures")), encoding="utf-8")
    return path


def _drawings(run: LiveRun) -> list[Drawing]:
    found = []
    if run.estimate is not None:
        text = (
            f"Estimates of what each solver alone would have cost, with {LEVEL:.0%} intervals. Filled points "
            "are exact; grey lines are solvers that never ran, about which nothing is known."
        )
        found.append(Drawing("estimate", text, run_figures.draw_estimate, (run.estimate,)))
    if run.instances:
        if len(run.instances) >= _ENOUGH:
            text = "Completed and solved instances over elapsed time, including pauses between two calls."
            found.append(Drawing("solved-over-time", text, run_figures.draw_solved, (run.instances,)))
        longest = min(run_figures.SHOWN, len(run.instances))
        which = "the only instance" if longest == 1 else f"the {longest} instances that took longest"
        text = f"Where the seconds went: {which}, one bar each, its runs in order."
        found.append(Drawing("waterfall", text, run_figures.draw_waterfall, (run.instances, run.algorithms)))
    shares = run.shares()
    if shares is not None and len(run.instances) >= _ENOUGH:
        text = "How often each solver was the first to run, in parts of the stream."
        found.append(
            Drawing("choices", text, choices.draw, (run.project, [shares], run.algorithms, run.algorithms))
        )
    return found


def _page(run: LiveRun, tables: dict[str, Sheet], figures: Figures) -> str:
    def shown(name: str) -> str:
        return figure(*figures[name], f"f-{name}") if name in figures else ""

    sections = [Section("summary", "In short", paragraphs(summary(run)))]
    if "estimate" in tables:
        body = paragraphs([_how_estimated()]) + shown("estimate") + table(tables["estimate"])
        sections.append(Section("saved", "What it saved: an estimate", body))
    sections += [
        Section(
            "time",
            "Solved over time",
            shown("solved-over-time") or "<p>There is a curve once two instances are complete.</p>",
        ),
        Section("choices", "Choices", shown("choices") + table(tables["solvers"])),
        Section(
            "waterfall", "Where the seconds went", shown("waterfall") or "<p>No instance is complete yet.</p>"
        ),
        Section(
            "slowest", "The slowest instances, and why", "".join(map(_slow, run.slowest)) or "<p>None.</p>"
        ),
    ]
    if run.notes:
        sections.append(Section("left-out", "Left out", bullets(run.notes)))
    introduction = paragraphs(
        [f"Project {run.project} of {run.path.name}: selector {run.selector}, "
         f"{counted(len(run.algorithms), 'solver')}, cutoff {seconds(run.cutoff)} s."]
    )  # fmt: skip
    return page(f"Live run: {run.path.name}", introduction, sections)


def summary(run: LiveRun) -> list[str]:
    """Return a summary in a few sentences, which claim no more than is known."""
    count = len(run.instances)
    words = [f"{counted(count, 'instance')} complete, {run.solved} solved; {run.under_way} in progress."]
    found = run.estimate
    if found is None:
        return words
    words.append(
        f"The run cost {seconds(found.par10)} s of PAR10 per instance, features included (an unsolved "
        "instance counts ten cutoffs)."
    )
    best, saved = found.best, found.saved
    if best is None or saved is None:
        return words
    middle, low, high = saved
    kind = "It is known" if best.exact else "It is estimated"
    against = (
        f"{kind} that {best.name} alone, the best single solver as far as this run shows, would "
        f"have cost {_cost(best.par10)} s"
    )
    span = "" if best.exact else f" ({LEVEL:.0%} interval {_cost(best.low)} to {_cost(best.high)} s)"
    words.append(f"{against}{span}: {verdict(middle, low, high)}.")
    return words


def verdict(middle: float, low: float, high: float) -> str:
    """Return in words whether choosing paid off.

    >>> verdict(4.0, 1.0, 6.0), verdict(1.0, -1.0, 3.0)
    ('choosing saved about 4.00 s per instance', 'whether choosing paid off is not clear yet')
    """
    if low > 0.0:
        return f"choosing saved about {middle:.2f} s per instance"
    if high < 0.0:
        return f"choosing lost about {-middle:.2f} s per instance"
    return "whether choosing paid off is not clear yet" if low < high else "choosing changed nothing"


def _how_estimated() -> str:
    return (
        "Not every solver ran on every instance, so these are estimates. Costs are exact where a solver ran "
        "to its end, by choice or to measure; elsewhere they come from a model of how long solvers take, "
        "given the features and how the other solvers did on the same instance. The intervals allow for a "
        "model error as large as the one measured where the truth is known."
    )


def _cost(value: float | None) -> str:
    return "?" if value is None else seconds(value)


def _estimate_sheet(found: RunEstimate) -> Sheet:
    own = (SheetEntry("this run"), SheetEntry(found.par10), SheetEntry(None), SheetEntry(None),
           SheetEntry(found.instances), SheetEntry("what it cost"))  # fmt: skip
    rows = [
        (
            SheetEntry(one.name),
            SheetEntry(one.par10),
            SheetEntry(one.low),
            SheetEntry(one.high),
            SheetEntry(one.known),
            SheetEntry("exact" if one.exact else "never ran" if one.par10 is None else "estimate"),
        )
        for one in found.solvers
    ]
    note = (
        f"Seconds of PAR10 per instance over {counted(found.instances, 'instance')}. "
        f"From, to: the {LEVEL:.0%} interval; for a solver that never ran, the possible range. "
        "Known: the number of instances on which its cost is known."
    )
    columns = ("solver", "PAR10, s", "from", "to", "known", "kind")
    return Sheet(
        "estimate", "What each solver alone would have cost (estimates)", note, columns, (own, *rows)
    )


def _solvers_sheet(run: LiveRun) -> Sheet:
    rows = tuple(
        (
            SheetEntry(one.name),
            SheetEntry(one.runs),
            SheetEntry(one.solved),
            SheetEntry(one.failed),
            SheetEntry(one.seconds, decimals=1),
        )
        for one in run.solvers
    )
    note = "Chosen runs only. Failed: ended without an answer before their time was up."
    return Sheet(
        "solvers", "What each solver did", note, ("solver", "runs", "solved", "failed", "seconds"), rows
    )


def _slow(one: SlowInstance) -> str:
    found = one.instance
    end = "solved" if found.solved else "not solved"
    took = f"{seconds(found.seconds)} s in {counted(len(found.runs), 'run')}"
    title = f"{found.name or 'without a name'}: {end}, {took}"
    steps = [
        f"{run.algorithm}: {'in progress' if run.status is None else run.status.value} after "
        f"{seconds(run.seconds or 0.0)} of {seconds(run.budget)} s"
        + (f" ({run.problem})" if run.problem else "")
        for run in found.runs
    ]
    if found.problem:
        steps.append(found.problem)
    why = (
        paragraphs(["Its first decision cannot be explained."])
        if one.why is None
        else f'<pre tabindex="0">{html.escape(one.why.text())}</pre>'
    )
    number = found.runs[0].decision if found.runs else "none"
    return details(f"slow-{number}", title, bullets(steps) + why)
