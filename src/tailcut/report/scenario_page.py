"""The report on one scenario: which of its algorithms complement each other, and which selectors learn."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

from tailcut.bench.labels import ContenderKind, kind_of, labelled
from tailcut.catalogue import BASELINES
from tailcut.display import counted
from tailcut.report import scenario_figures
from tailcut.report.canvas import Drawings
from tailcut.report.complement import Complement
from tailcut.report.gather import Report
from tailcut.report.page import write_page
from tailcut.report.results_page import (
    comparison_drawings,
    decision_drawings,
    page_context,
    scenario_drawings,
    scenarios_table,
)
from tailcut.report.tables import Row, Table
from tailcut.scenarios import Scenario


def write_scenario_page(
    report: Report,
    scenario: Scenario,
    portfolio: Complement,
    out: Path,
    *,
    source: str = "results.db",
    live_page: str | None = None,
    **options: Any,
) -> Path:
    """Write the report on the one scenario that `report` is about and return its page.

    `live_page` is the address of the page of a live run on such instances, to be linked; `options` are those
    of `write_page`.
    """
    par = report.results.par
    (part,) = report.scenarios
    real = [one for one in part.learning if one.selector not in BASELINES]
    shown = [one for one in real if one.selector in report.featured]
    drawings: Drawings = {
        "learning": partial(scenario_figures.learning, shown, par),
        "growth": partial(scenario_figures.growth, portfolio, par),
        **{name: draw for name, draw in comparison_drawings(report).items() if name == "npar10"},
        **scenario_drawings(part, report),
        **decision_drawings(report),
    }
    tables = [
        _learning_table(report),
        _solvers_table(portfolio, par),
        _pairs_table(portfolio, par),
        scenarios_table([part.description], par),
    ]
    related = [one for one in report.standings if not math.isnan(one.npar_mean)]
    context = page_context(report, source)
    context |= {
        "scenario": scenario,
        "part": part,
        "portfolio": portfolio,
        "picks": [one for one in related if kind_of(one.selector) == ContenderKind.ONE_PICK],
        "schedules": [one for one in related if kind_of(one.selector) == ContenderKind.SCHEDULE],
        "overtaking": sorted((one.break_even, one.selector) for one in real if one.break_even is not None),
        "live_page": live_page,
        "left_out": [
            line for line in context["left_out"] if not line.startswith(("No ranks", "No sensitivity"))
        ],  # one scenario cannot have them
    }
    return write_page("scenario.html.j2", out, tables, drawings, **context, **options)


def _learning_table(report: Report) -> Table:
    par, learned = report.results.par, report.scenarios[0].learning
    overall = {one.selector: one.npar_mean for one in report.standings}
    rows: list[Row] = [
        (
            labelled(one.selector),
            overall[one.selector],
            *one.npar,
            "never" if one.break_even is None else one.break_even,
        )
        for one in learned
    ]
    parts = {f"to {int(end)}": ".2f" for end in (learned[0].at if learned else ())}
    columns = {"selector": "", f"n{par}": ".2f", **parts, "cheaper than SBS from": ""}
    note = (
        f"n{par} within each part of the stream, numbered by instances, mean over "
        f"{counted(len(report.results.seeds), 'seed')}; last: the instance from which the total is at most "
        "that of the SBS."
    )
    return Table("learning", "Selectors over the stream", note, columns, rows)


def _solvers_table(portfolio: Complement, par: str) -> Table:
    columns = {"solver": "", f"{par}, s": ".2f", "unsolved": ".1%", "fastest on": ".1%", "alone solves": ""}
    columns["missed by, s"] = ".2f"
    rows = [(one.name, one.par, one.timeouts, one.fastest, one.only, one.adds) for one in portfolio.solvers]
    note = f"Missed by: how much a perfect choice's {par} rises without this solver."
    return Table("solvers", "Solvers, the best first", note, columns, rows)


def _pairs_table(portfolio: Complement, par: str) -> Table:
    columns = {"solver": "", "and": "", f"{par} of a perfect choice, s": ".2f", "gap closed": ".1%"}
    rows: list[Row] = [(*pair.algorithms, pair.par, pair.closed) for pair in portfolio.pairs]
    note = "Gap closed: between single best and virtual best solver."
    return Table("pairs", "The best pairs", note, columns, rows)
