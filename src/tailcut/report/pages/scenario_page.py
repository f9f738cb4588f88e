"""The report on one scenario: how its solvers complement each other, and which selectors learn."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path

from tailcut.bench.labels import ContenderKind, kind_of, labelled
from tailcut.catalogue import BASELINES
from tailcut.display import counted
from tailcut.report.figures import practice
from tailcut.report.figures.canvas import FORMATS, with_svg
from tailcut.report.figures.drawings import Drawing, Figures, drawings, read_svgs, render_all, slug
from tailcut.report.numbers.complement import Complement
from tailcut.report.numbers.gather import Report
from tailcut.report.numbers.learning import Learning
from tailcut.report.pages.html_page import Section, bullets, page, paragraphs, table
from tailcut.report.pages.missing import left_out
from tailcut.report.pages.results_page import explained_section, reproduce, shown
from tailcut.report.progress import SILENT, ReportProgress
from tailcut.report.tables.formats import write_tables
from tailcut.report.tables.sheet import Sheet, SheetEntry, scenarios_sheet
from tailcut.scenarios import Scenario


def write_scenario_page(
    report: Report,
    scenario: Scenario,
    found: Complement,
    out: Path,
    *,
    formats: Sequence[str] = FORMATS,
    source: str = "results.db",
    live_page: str | None = None,
    progress: ReportProgress = SILENT,
) -> Path:
    """Write the report on the one scenario that `report` is about and return its page.

    `live_page` is the address of the page of a live run on such instances, to be linked.
    """
    par = report.results.par
    (part,) = report.scenarios
    tables = [
        _learning_sheet(part.learning, report),
        _solvers_sheet(found, par),
        _pairs_sheet(found, par),
        scenarios_sheet([part.description], par),
    ]
    write_tables(tables, out / "tables")
    wanted = _drawings(report, found, part.learning)
    render_all(wanted, out / "figures", with_svg(formats), 1, progress)
    path = out / "index.html"
    figures = read_svgs(wanted, out / "figures")
    path.write_text(_page(report, scenario, found, tables, figures, source, live_page), encoding="utf-8")
    return path


def _drawings(report: Report, found: Complement, learned: Sequence[Learning]) -> list[Drawing]:
    """Return what is drawn: two figures of this page's own, and those of its scenario."""
    par = report.results.par
    shown = [one for one in learned if one.selector in report.featured and one.selector not in BASELINES]
    learning = f"n{par} in consecutive parts of the stream."
    growth = "A perfect choice among more and more solvers."
    return [
        Drawing("learning", learning, practice.draw_learning, (shown, par)),
        Drawing("growth", growth, practice.draw_growth, (found, par)),
        *(one for one in drawings(report) if one.scenario is not None or one.name == "npar10"),
    ]


def _page(
    report: Report,
    scenario: Scenario,
    found: Complement,
    tables: Sequence[Sheet],
    figures: Figures,
    source: str,
    live_page: str | None,
) -> str:
    who_learns, solvers, pairs, overview = tables
    end = slug(scenario.name)
    words = paragraphs(in_words(report, scenario, found))
    live = ""
    if live_page is not None:
        text = "The live run: what the solvers did, and what it saved"
        live = f'<p><a href="{html.escape(live_page)}">{text}</a></p>'
    sections = [
        Section("summary", "In short", live + shown(figures, "npar10") + words + table(overview)),
        Section("solvers", "The solvers", table(solvers) + shown(figures, f"survival-{end}")),
        Section("together", "Which solvers complement each other", shown(figures, "growth") + table(pairs)),
        Section(
            "learning",
            "How fast each selector learns",
            shown(figures, "learning")
            + table(who_learns)
            + "".join(
                shown(figures, f"{kind}-{end}") for kind in ("instances", "regret", "solved", "choices")
            ),
        ),
        *explained_section(report, figures),
        Section("reproduce", "How to reproduce it", reproduce(report, source)),
        Section("left-out", "Left out, missing or failed", bullets(_missing(report)) or "<p>Nothing.</p>"),
    ]
    return page(f"{scenario.name}: is it worth choosing?", "", sections)


def _missing(report: Report) -> list[str]:
    """Return what is missing for this one scenario, without the ranks and sweeps that it cannot have."""
    return [line for line in left_out(report) if not line.startswith(("No ranks", "No sensitivity"))]


def in_words(report: Report, scenario: Scenario, found: Complement) -> list[str]:
    """Return the answer in a few paragraphs."""
    par = report.results.par
    best = found.solvers[0]
    n = len(scenario.instances)
    unsolved = "every one is solved by some solver"
    if found.unsolved:
        unsolved = f"{found.unsolved} of the {n} {'is' if found.unsolved == 1 else 'are'} solved by none"
    lines = [
        f"Always running {best.name}, the single best of {len(found.solvers)} solvers, costs "
        f"{found.sbs:.2f} s per instance ({par}) and leaves {best.timeouts:.1%} of {n} instances unsolved. "
        f"A perfect choice per instance would cost {found.vbs:.2f} s; {unsolved}."
    ]
    if found.sbs <= found.vbs:
        return [*lines, "The single best solver is best on every instance: there is nothing to choose."]
    lines.append(_complementing(found))
    contenders = [
        one
        for one in report.standings
        if kind_of(one.selector) == ContenderKind.ONE_PICK and not math.isnan(one.npar_mean)
    ]
    if contenders:
        leader = contenders[0]
        lines.append(
            f"Of the selectors, which all learn as they go, {leader.selector} does best: n{par} "
            f"{leader.npar_mean:.2f} over the whole stream, where 1 is the single best solver and 0 a "
            f"perfect choice. " + _overtaking(report.scenarios[0].learning)
        )
    lines += [
        f"{labelled(one.selector)} may stop a solver early and start another; it reaches n{par} "
        f"{one.npar_mean:.2f}."
        for one in report.standings
        if kind_of(one.selector) == ContenderKind.SCHEDULE and not math.isnan(one.npar_mean)
    ][:1]
    return lines


def _complementing(found: Complement) -> str:
    halfway = next((one for one in found.growth if one.closed >= 0.5), found.growth[-1])
    most = max(found.solvers, key=lambda one: one.adds)
    closing = counted(len(halfway.algorithms), "solver")
    text = f"Half of that gap is closed by {closing}: {', '.join(halfway.algorithms)}. "
    idle = [one.name for one in found.solvers if one.adds <= 0.0]
    text += (
        f"The solver that would be missed most is {most.name}: without it a perfect choice costs "
        f"{most.adds:.2f} s more."
    )
    if idle:
        text += f" Any one of these could be dropped without loss: {', '.join(idle)}."
    return text


def _overtaking(learned: Sequence[Learning]) -> str:
    real = [one for one in learned if one.selector not in BASELINES]
    over = sorted((one.break_even, one.selector) for one in real if one.break_even is not None)
    if not over:
        return (
            "No selector's total falls below the single best solver's on this many instances: if you know "
            "the best solver, run it; if not, a selector finds out at the cost shown here."
        )
    first = ", ".join(f"{labelled(name)} from instance {step}" for step, name in over[:4])
    return f"Cheaper in total than the single best solver: {first}."


def _learning_sheet(learned: Sequence[Learning], report: Report) -> Sheet:
    par = report.results.par
    parts = max((len(one.at) for one in learned), default=0)
    at = next((one.at for one in learned), ())
    names = tuple(f"to {int(end)}" for end in at)
    overall = {one.selector: one.npar_mean for one in report.standings}
    rows = tuple(
        (
            SheetEntry(labelled(one.selector)),
            SheetEntry(overall[one.selector]),
            *(SheetEntry(float(value)) for value in one.npar),
            SheetEntry("never" if one.break_even is None else one.break_even),
        )
        for one in learned
    )
    columns = ("selector", f"n{par}", *names[:parts], "cheaper than SBS from")
    note = (
        f"n{par} within each part of the stream, numbered by instances, mean over "
        f"{counted(len(report.results.seeds), 'seed')}; last: the instance from which the total is at most "
        "that of the SBS."
    )
    return Sheet("learning", "Selectors over the stream", note, columns, rows)


def _solvers_sheet(found: Complement, par: str) -> Sheet:
    rows = tuple(
        (
            SheetEntry(one.name),
            SheetEntry(one.par),
            SheetEntry(one.timeouts, decimals=1, percent=True),
            SheetEntry(one.fastest, decimals=1, percent=True),
            SheetEntry(one.only),
            SheetEntry(one.adds),
        )
        for one in found.solvers
    )
    columns = ("solver", f"{par}, s", "unsolved", "fastest on", "alone solves", "missed by, s")
    note = f"Missed by: how much a perfect choice's {par} rises without this solver."
    return Sheet("solvers", "Solvers, the best first", note, columns, rows)


def _pairs_sheet(found: Complement, par: str) -> Sheet:
    rows = tuple(
        (
            SheetEntry(one.algorithms[0]),
            SheetEntry(one.algorithms[1]),
            SheetEntry(one.par),
            SheetEntry(one.closed, decimals=1, percent=True),
        )
        for one in found.pairs
    )
    columns = ("solver", "and", f"{par} of a perfect choice, s", "gap closed")
    return Sheet(
        "pairs", "The best pairs", "Gap closed: between single best and virtual best solver.", columns, rows
    )
