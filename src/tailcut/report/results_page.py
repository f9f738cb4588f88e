"""The report on a result file: its tables, its figures, what it leaves out, and the page of them all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tailcut.bench.labels import ContenderKind, is_schedule, kind_of, labelled, name_of
from tailcut.bench.ranks import Ranking
from tailcut.catalogue import find
from tailcut.report import comparison_figures, scenario_figures
from tailcut.report.canvas import Drawings, slug
from tailcut.report.gather import Report, ScenarioPart
from tailcut.report.page import render, write_page
from tailcut.report.results import Results
from tailcut.report.standings import MetricGrid, Standing, mean_or_nan
from tailcut.report.tables import Cell, Row, Table

_PAIRS = 40
"""Pairs of selectors shown in the table of tests: those of the best ranked first."""
_MOST_LINES = 200
"""So many lines on what is left out are listed; of more, only the number is given."""
_GRIDS = {
    "par": ("{par} in seconds, mean ± deviation over seeds", ".2f"),
    "npar": ("n{par}: 0 is the virtual best solver, 1 the single best", ".3f"),
    "repar": ("re{par}: {par} relative to the virtual best solver", ".3f"),
    "unsolved": ("Unsolved instances", ".1%"),
    "decision": ("Decision time in microseconds per instance, to select and to learn", ".1f"),
}


def write_results_page(report: Report, out: Path, *, source: str = "results.db", **options: Any) -> Path:
    """Write the report into the folder `out` and return its page; `options` are those of `write_page`."""
    context = {
        **page_context(report, source),
        "headline": headline(report.results, report.standings, report.ranked),
    }
    return write_page(
        "results.html.j2", out, results_tables(report), results_drawings(report), **context, **options
    )


def results_drawings(report: Report) -> Drawings:
    """Return all figures of a report."""
    drawings = comparison_drawings(report)
    for part in report.scenarios:
        drawings |= scenario_drawings(part, report)
    return drawings | decision_drawings(report)


def page_context(report: Report, source: str) -> dict[str, Any]:
    """Return what the templates of both pages on results show beside tables and figures."""
    results = report.results
    compared = {cell["hash"] for cell in results.cells}
    swept = {cell["hash"] for cells in results.sweeps.values() for cell in cells} - compared
    runs: dict[str, dict[str, Any]] = {}
    for run in results.runs:  # those that only repeat an earlier one at another time are not shown
        runs.setdefault(str({key: value for key, value in run.items() if key != "started"}), run)
    return {
        "report": report,
        "results": results,
        "par": results.par,
        "source": source,
        "swept": len(swept),
        "runs": list(runs.values()),
        "left_out": left_out(report),
    }


def comparison_drawings(report: Report) -> Drawings:
    """Return the figures over all scenarios, the large ones first so that no process waits for another."""
    par, drawings = report.results.par, Drawings()
    if comparison_figures.with_bars(report.standings):
        drawings["npar10"] = partial(comparison_figures.npar_bars, report.standings, par)
    regrets = [part.regret for part in report.scenarios if part.regret is not None]
    if len(regrets) > 1:
        drawings["regret-overview"] = partial(scenario_figures.regret_overview, regrets, report.featured, par)
    for sweep in report.sweeps:
        name = f"sensitivity-{sweep.selector}-{sweep.parameter}"
        drawings[name] = partial(comparison_figures.sweep, sweep, par)
    if report.ranked is not None:
        drawings["critical-difference"] = partial(comparison_figures.critical_difference, report.ranked, par)
    for key, (title, standings) in report.scatters.items():
        drawings[key] = partial(comparison_figures.tradeoff, title, standings, par)
    if report.cpu_curves:
        drawings["extra-cpu"] = partial(comparison_figures.extra_cpu, report.cpu_curves, par)
    return drawings


def scenario_drawings(part: ScenarioPart, report: Report) -> Drawings:
    """Return the figures of one scenario."""
    par, shown, drawings = report.results.par, report.featured, Drawings()
    if part.regret is not None:
        drawings["regret"] = partial(scenario_figures.regret, part.regret, shown, par)
    if part.versus is not None:
        drawings["instances"] = partial(scenario_figures.instances, part.versus)
    if part.solved is not None:
        drawings["solved"] = partial(scenario_figures.solved, part.solved, shown)
    if part.shares:
        best, algorithms = [one.algorithm for one in part.survival], part.description["algorithms"]
        drawings["choices"] = partial(scenario_figures.choices, part.name, part.shares, algorithms, best)
    if part.survival:
        drawings["survival"] = partial(scenario_figures.survival, part.name, part.survival)
    return {f"{kind}-{slug(part.name)}": draw for kind, draw in drawings.items()}


def decision_drawings(report: Report) -> Drawings:
    """Return the figures of the decisions explained."""
    drawings = Drawings()
    if (of := report.explained) is not None:
        for one in of.decisions:
            title = f"{of.scenario}, decision {one.step} of {of.instances}: {one.explanation.algorithm}"
            draw = partial(scenario_figures.decision, one, of.selector, title)
            drawings[f"explained-{slug(of.scenario)}-{one.step}"] = draw
    return drawings


def headline(results: Results, standings: Sequence[Standing], ranked: Ranking | None) -> str:
    """Return the summary as paragraphs, which claim no more than the numbers show."""
    related = [one for one in standings if not math.isnan(one.npar_mean)]
    picks, schedules = (
        [one for one in related if kind_of(one.selector) == kind]
        for kind in (ContenderKind.ONE_PICK, ContenderKind.SCHEDULE)
    )
    recipe = find(name_of(picks[0].selector)) if picks else None
    alike = []
    if ranked is not None:
        best, *ranks = ranked.average_ranks
        others = zip(ranked.selectors[1:], ranks, strict=True)
        alike = [name for name, rank in others if rank - best <= ranked.critical_difference]
    return render(
        "headline.html.j2",
        results=results,
        par=results.par,
        related=related,
        picks=picks,
        schedules=schedules,
        ranked=ranked,
        alike=alike,
        needs_features=recipe is None or recipe.needs_features,
    )


def left_out(report: Report) -> list[str]:
    """Return one sentence for each thing that is not in the report; empty if nothing is missing."""
    text = render("left_out.txt.j2", report=report, results=report.results, par=report.results.par)
    lines = [*text.splitlines(), *report.notes]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"… and {more} more."] if more > 0 else lines


def results_tables(report: Report) -> list[Table]:
    """Return all tables of a report that have rows."""
    par, ranked = report.results.par, report.ranked
    described = [part.description for part in report.scenarios]
    grids = (_grid_table(report.grids[metric], par, ranked) for metric in _GRIDS)
    tables = [
        _standings_table(report.standings, par),
        _schedules_table(report.standings, par),
        *([] if ranked is None else [_pairs_table(ranked, par)]),
        _extra_cpu_table(report.grids, described, par),
        *grids,
        scenarios_table(described, par),
    ]
    return [table for table in tables if table.rows or table.key == "summary"]


def _standings_table(standings: Sequence[Standing], par: str) -> Table:
    columns = {"selector": "", f"mean n{par}": ".3f", f"median re{par}": ".3f", "average rank": ".2f"}
    columns |= {"wins": "", "beats SBS": "", "scenarios": "", "unsolved": ".1%", "decision, µs": ".0f"}
    rows = [
        (s.selector, s.npar_mean, s.repar_median, s.average_rank, s.wins, *_last_columns(s))
        for s in standings
        if not is_schedule(s.selector)
    ]
    note = (
        "Wins: scenarios on which no other selector is better. Beats SBS: scenarios with a lower "
        f"{par} than the single best solver. Ranks are over scenarios with results of all selectors. "
        "oracle and sbs are hindsight baselines: they know every runtime and do not compete."
    )
    return Table("summary", "Selectors over all scenarios", note, columns, rows)


def _schedules_table(standings: Sequence[Standing], par: str) -> Table:
    columns = {"schedule": "", f"mean n{par}": ".3f", f"median re{par}": ".3f", "beats SBS": ""}
    columns |= {"scenarios": "", "unsolved": ".1%", "decision, µs": ".0f"}
    rows = [
        (labelled(s.selector), s.npar_mean, s.repar_median, *_last_columns(s))
        for s in standings
        if is_schedule(s.selector)
    ]
    note = (
        "A schedule may stop an algorithm early and start another within the same cutoff, which selectors "
        f"that pick once cannot; so they are not ranked together. {par} counts all its runs. sbs_pair and "
        "sbs_schedule are fixed in hindsight: the best two, and the best found of three stages. "
        "Decision time is that of all decisions on an instance together."
    )
    return Table("schedules", "Schedules over all scenarios", note, columns, rows)


def _last_columns(standing: Standing) -> Row:
    return standing.beats_sbs, standing.scenarios, standing.unsolved, standing.decision_us


def _pairs_table(ranked: Ranking, par: str) -> Table:
    columns = {"pair": "", "first better on": "", "worse on": "", "p": ".4f", "p corrected": ".4f"}
    columns[f"differ at {ranked.alpha:g}"] = ""
    rows = []
    for pair in ranked.pairs[:_PAIRS]:
        names = f"{labelled(pair.first)} against {labelled(pair.second)}"
        differ = "yes" if pair.p_holm <= ranked.alpha else "no"
        rows.append((names, pair.wins, pair.losses, pair.p, pair.p_holm, differ))
    note = (
        f"Wilcoxon's signed-rank test of mean {par} over {len(ranked.scenarios)} scenarios, two-sided, with "
        f"Holm's correction for all {len(ranked.pairs)} pairs."
    )
    if len(ranked.pairs) > _PAIRS:
        note += f" The first {_PAIRS} pairs by average rank are shown."
    return Table("wilcoxon", "Pairwise comparison", note, columns, rows)


def _extra_cpu_table(grids: dict[str, MetricGrid], described: Sequence[dict[str, Any]], par: str) -> Table:
    columns = {"scenario": "", "instances": "", "algorithms": "", "selector": "", "extra CPU": ".1%"}
    columns |= {f"{par} saved": ".1%", f"n{par}": ".3f", "difference": ".3f"}
    note = (
        "Extra CPU: the time of all runs beside the answers, as a share of theirs. Saved: how much lower "
        f"{par} of the answers is than that of the same selector without such runs; difference: the same "
        f"of n{par}. Both are empty where it was not run without."
    )
    rows = list(_extra_cpu_rows(grids, {one["name"]: one for one in described}))
    return Table("extra-cpu", "What extra CPU time costs and saves", note, columns, rows)


def _extra_cpu_rows(grids: dict[str, MetricGrid], described: dict[str, dict[str, Any]]) -> Iterator[Row]:
    par, npar, extra = grids["par"].mean, grids["npar"].mean, grids["extra_cpu"].mean
    place = {label: j for j, label in enumerate(grids["par"].selectors)}
    for i, scenario in enumerate(grids["par"].scenarios):
        about = described.get(scenario, {})
        size = (about.get("instances"), len(about["algorithms"]) if "algorithms" in about else None)
        for label, j in place.items():
            if not extra[i, j] > 0.0:  # nothing, or nan where it was not run
                continue
            without = place.get(label.partition("@")[0])
            saved = None if without is None else 1.0 - float(par[i, j] / par[i, without])
            difference = None if without is None else float(npar[i, j] - npar[i, without])
            yield scenario, *size, labelled(label), extra[i, j], saved, npar[i, j], difference


def _grid_table(grid: MetricGrid, par: str, ranked: Ranking | None) -> Table:
    """Return a metric's table: a row per scenario, best and second marked, means (and ranks) below."""
    title, number_format = _GRIDS[grid.metric]
    rows: list[Row] = []
    for i, scenario in enumerate(grid.scenarios):
        best, second = grid.placed(i)
        cells = [
            Cell(mean, deviation, "best" if j in best else "second" if j in second else "")
            for j, (mean, deviation) in enumerate(zip(grid.mean[i], grid.deviation[i], strict=True))
        ]
        rows.append((scenario, *cells))
    footer: list[Row] = []
    if grid.metric != "par":  # seconds of different scenarios have different scales
        footer.append(("mean", *map(mean_or_nan, grid.mean.T)))
    elif ranked is not None:
        ranks = dict(zip(ranked.selectors, ranked.average_ranks, strict=True))
        footer.append(("average rank", *(ranks.get(name) for name in grid.selectors)))
    note = "Best in bold, second best underlined; schedules and the hindsight baselines do not compete."
    columns = {"scenario": "", **dict.fromkeys(map(labelled, grid.selectors), number_format)}
    key = grid.metric.replace("par", par.lower())
    return Table(key, title.format(par=par), note, columns, rows, footer)


def scenarios_table(described: Sequence[dict[str, Any]], par: str) -> Table:
    """Return the overview of scenarios; what is not known about one stays empty."""
    columns = {"scenario": "", "instances": "", "features": "", "algorithms": "", "cutoff, s": ".2f"}
    columns |= dict.fromkeys(("timeouts, mean", "median", "min", "max"), ".1%")
    columns |= {"SBS": "", f"SBS {par}": ".2f", f"VBS {par}": ".2f", "SBS / VBS": ".2f"}
    rows = []
    for one in described:
        algorithms, cutoff = one.get("algorithms"), one.get("cutoff")
        sbs, vbs = one.get("sbs_par"), one.get("vbs_par")
        rows.append(
            (
                *(one["name"], one.get("instances"), one.get("features")),
                None if algorithms is None else len(algorithms),
                int(cutoff) if cutoff is not None and cutoff == int(cutoff) else cutoff,
                *(one.get(f"timeouts_{kind}") for kind in ("mean", "median", "min", "max")),
                *(one.get("sbs"), sbs, vbs),
                sbs / vbs if sbs is not None and vbs else None,
            )
        )
    note = "Timeouts: share of runs that end unsolved, over the scenario's algorithms."
    return Table("scenarios", "Scenarios", note, columns, rows)
