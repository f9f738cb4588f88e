"""The report on one scenario, for whoever runs its solvers: their worth together, and who learns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from tailcut.bench.store import Store
from tailcut.catalogue import kind_of, labelled
from tailcut.policies.hindsight import LINES
from tailcut.report.build import (
    Figures,
    explained_section,
    read_svgs,
    reproduce,
    shown,
    with_svg,
    write_tables,
)
from tailcut.report.complement import Complement, complement
from tailcut.report.drawings import Drawing, drawings, render_all, slug
from tailcut.report.figures import practice
from tailcut.report.figures.canvas import FORMATS
from tailcut.report.gather import Report
from tailcut.report.learning import Learning, learning
from tailcut.report.missing import left_out
from tailcut.report.page import Section, bullets, page, paragraphs, table
from tailcut.report.sheet import Entry, Sheet, scenarios_sheet
from tailcut.scenarios import Scenario
from tailcut.types import Array


def build_practice(
    report: Report,
    scenario: Scenario,
    store: Store,
    out: Path,
    *,
    formats: Sequence[str] = FORMATS,
    on_start: Callable[[int], None] = lambda _count: None,
    on_figure: Callable[[str], None] = lambda _name: None,
) -> Path:
    """Write the report on the one scenario that `report` is about and return its page."""
    penalty, par = report.results.penalty, report.results.par
    found = complement(scenario, penalty)
    learned = learnings(report, store)
    tables = [
        _learning_sheet(learned, report),
        _solvers_sheet(found, par),
        _pairs_sheet(found, par),
        scenarios_sheet([report.scenarios[0].description], par),
    ]
    write_tables(tables, out / "tables")
    featured = [one for one in learned if one.selector in report.featured and one.selector not in LINES]
    wanted = [
        Drawing(
            "learning", f"n{par} in consecutive parts of the stream.", practice.draw_learning, (featured, par)
        ),
        Drawing(
            "growth", "A perfect choice among more and more solvers.", practice.draw_growth, (found, par)
        ),
        *(one for one in drawings(report) if one.scenario is not None),
    ]
    on_start(len(wanted))
    render_all(wanted, out / "figures", with_svg(formats), 1, on_figure)
    path = out / "index.html"
    figures = read_svgs(wanted, out / "figures")
    path.write_text(
        _page(report, scenario, found, learned, tables, figures, store.path.name), encoding="utf-8"
    )
    return path


def learnings(report: Report, store: Store) -> list[Learning]:
    """Return how each selector learns, in the order of the standings."""
    results = report.results
    (name,) = results.scenarios

    def losses(selector: str) -> dict[int, Array]:
        return {cell.seed: store.trace(cell.hash)[1] for cell in results.of(name, selector)}

    sbs, vbs = losses("sbs"), losses("oracle")
    every = (learning(one.selector, losses(one.selector), sbs, vbs) for one in report.standings)
    return [one for one in every if one is not None]


def _page(
    report: Report,
    scenario: Scenario,
    found: Complement,
    learned: Sequence[Learning],
    tables: Sequence[Sheet],
    figures: Figures,
    source: str,
) -> str:
    who_learns, solvers, pairs, overview = tables
    end = slug(scenario.name)
    words = paragraphs(in_words(report, scenario, found, learned))
    sections = [
        Section("summary", "In short", words + table(overview)),
        Section("solvers", "The solvers", table(solvers) + shown(figures, f"survival-{end}")),
        Section("together", "Which solvers complement each other", shown(figures, "growth") + table(pairs)),
        Section(
            "learning",
            "How fast each selector learns",
            shown(figures, "learning")
            + table(who_learns)
            + "".join(shown(figures, f"{kind}-{end}") for kind in ("regret", "solved", "choices")),
        ),
        *explained_section(report, figures),
        Section("reproduce", "How to reproduce it", reproduce(report, source)),
        Section("left-out", "Left out, missing or failed", bullets(_missing(report)) or "<p>Nothing.</p>"),
    ]
    return page(f"{scenario.name}: is it worth choosing?", "", sections)


def _missing(report: Report) -> list[str]:
    """Return what is missing of this one scenario; that there are no ranks and sweeps is no news here."""
    return [line for line in left_out(report) if not line.startswith(("No ranks", "No sensitivity"))]


def in_words(report: Report, scenario: Scenario, found: Complement, learned: Sequence[Learning]) -> list[str]:
    """Return the answer in a few paragraphs."""
    par = report.results.par
    best = found.solvers[0]
    n = len(scenario.instances)
    lines = [
        f"Always running {best.name}, the single best of {len(found.solvers)} solvers, costs "
        f"{found.sbs:.2f} s per instance ({par}) and leaves {best.timeouts:.1%} of {n} instances unsolved. "
        f"A perfect choice per instance would cost {found.vbs:.2f} s; {found.unsolved} instances are solved "
        f"by none."
    ]
    if found.sbs <= found.vbs:
        return [*lines, "The single best solver is best on every instance: there is nothing to choose."]
    lines.append(_complementing(found))
    contenders = [
        one
        for one in report.standings
        if kind_of(one.selector) == "one pick" and not math.isnan(one.npar_mean)
    ]
    if contenders:
        leader = contenders[0]
        lines.append(
            f"Of the selectors, learning from the first instance on, {leader.selector} does best: n{par} "
            f"{leader.npar_mean:.2f} over the whole stream, where 1 is the single best solver and 0 a "
            f"perfect choice. " + _overtaking(learned)
        )
    lines += [
        f"{labelled(one.selector)} may stop a solver early and start another; it reaches n{par} "
        f"{one.npar_mean:.2f}."
        for one in report.standings
        if kind_of(one.selector) == "schedule" and not math.isnan(one.npar_mean)
    ][:1]
    return lines


def _complementing(found: Complement) -> str:
    halfway = next((one for one in found.growth if one.closed >= 0.5), found.growth[-1])
    most = max(found.solvers, key=lambda one: one.adds)
    text = (
        f"Half of that gap is closed by {len(halfway.algorithms)} solvers: {', '.join(halfway.algorithms)}. "
    )
    idle = [one.name for one in found.solvers if one.adds <= 0.0]
    text += (
        f"The one that would be missed most is {most.name}: without it a perfect choice costs "
        f"{most.adds:.2f} s more."
    )
    if idle:
        text += f" Without loss one could drop any one of: {', '.join(idle)}."
    return text


def _overtaking(learned: Sequence[Learning]) -> str:
    real = [one for one in learned if one.selector not in LINES]
    over = sorted((one.break_even, one.selector) for one in real if one.break_even is not None)
    if not over:
        return (
            "No selector's total falls below the single best solver's on this many instances: if you know "
            "the best solver, run it; if not, a selector finds out at the cost shown here."
        )
    first = ", ".join(f"{labelled(name)} from instance {step} on" for step, name in over[:4])
    return f"In total cheaper than the single best solver are: {first}."


def _learning_sheet(learned: Sequence[Learning], report: Report) -> Sheet:
    par = report.results.par
    parts = max((len(one.at) for one in learned), default=0)
    at = next((one.at for one in learned), ())
    names = tuple(f"to {int(end)}" for end in at)
    overall = {one.selector: one.npar_mean for one in report.standings}
    rows = tuple(
        (
            Entry(labelled(one.selector)),
            Entry(overall[one.selector]),
            *(Entry(float(value)) for value in one.npar),
            Entry("never" if one.break_even is None else one.break_even),
        )
        for one in learned
    )
    columns = ("selector", f"n{par}", *names[:parts], "cheaper than SBS from")
    note = (
        f"n{par} within each part of the stream, numbered by instances served, mean over "
        f"{len(report.results.seeds)} seeds; last: from which instance on the total is at most the SBS's."
    )
    return Sheet("learning", "Selectors over the stream", note, columns, rows)


def _solvers_sheet(found: Complement, par: str) -> Sheet:
    rows = tuple(
        (
            Entry(one.name),
            Entry(one.par),
            Entry(one.timeouts, decimals=1, percent=True),
            Entry(one.fastest, decimals=1, percent=True),
            Entry(one.only),
            Entry(one.adds),
        )
        for one in found.solvers
    )
    columns = ("solver", f"{par}, s", "unsolved", "fastest on", "alone solves", "missed by, s")
    note = f"Missed by: how much a perfect choice's {par} rises without this solver."
    return Sheet("solvers", "Solvers, the best first", note, columns, rows)


def _pairs_sheet(found: Complement, par: str) -> Sheet:
    rows = tuple(
        (
            Entry(one.algorithms[0]),
            Entry(one.algorithms[1]),
            Entry(one.par),
            Entry(one.closed, decimals=1, percent=True),
        )
        for one in found.pairs
    )
    columns = ("solver", "and", f"{par} of a perfect choice, s", "gap closed")
    return Sheet(
        "pairs", "The best pairs", "Gap closed: between single best and virtual best solver.", columns, rows
    )
