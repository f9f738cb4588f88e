"""Complete reports: on a result file, the paper's experiments, one scenario, a live run.

Each gathers numbers, puts them into tables and figures, and has a template show these on a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bench.benchmark import Executor, local, run_cells
from tailcut.bench.labels import ContenderKind, is_schedule, kind_of, labelled, name_of
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.ranks import Ranking
from tailcut.bench.store import Store, describe_scenario, opened
from tailcut.bench.sweeps import DEFAULT, PLANS
from tailcut.catalogue import BASELINES, find
from tailcut.display import counted
from tailcut.errors import InputError, TailcutError
from tailcut.estimate import LEVEL, RunEstimate, estimate_run
from tailcut.explain import Explanation
from tailcut.journal import Journal, Project
from tailcut.journal.instances import Instance, Instances
from tailcut.live.monitor import chosen_project
from tailcut.report import figures, page
from tailcut.report.curves import Shares, complement, shares
from tailcut.report.gather import SILENT, Report, ReportProgress, ScenarioPart, gather
from tailcut.report.page import Drawings, Row, Table, render, slug, table, write_page
from tailcut.report.results import Results
from tailcut.report.standings import MetricGrid, Standing, cpu_curves, mean_or_nan
from tailcut.scenarios import Scenario
from tailcut.scenarios.aslib_reader import scenarios_in
from tailcut.types import Status

SLOWEST = 8
"""The number of instances listed with an explanation."""
PARTS = 20
"""Parts of the stream in which choices are counted."""
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


def report_results(
    source: Path,
    out: Path,
    *,
    aslib: Path | None = None,
    notes: Sequence[str] = (),
    progress: ReportProgress = SILENT,
    **options: Any,
) -> Path:
    """Write the report on the result file `source` into the folder `out` and return its page.

    `aslib` is the folder of the scenarios' folders, if available; `notes` say what was left out before;
    `options`, here and below, are those of `write_page`.
    """
    with opened(source, read_only=True) as store:
        report = gather(store, aslib, notes=notes, progress=progress)
    return write_results_page(report, out, source=source.name, progress=progress, **options)


def report_paper(
    aslib: Path,
    source: Path,
    out: Path,
    *,
    seeds: int = 10,
    jobs: int = 1,
    command: str = "",
    progress: ReportProgress = SILENT,
    **options: Any,
) -> Path:
    """Run the cells of the paper's comparison and its five sweeps that `source` lacks, then report."""
    left_out: list[str] = []

    def leave_out(name: str, reason: str) -> None:
        left_out.append(f"Left out: {reason}.")
        progress.scenario_left_out(name, reason)

    with opened(source) as store:
        cells: dict[str, Cell] = {}
        for named in (PLANS["default"], PLANS["sensitivity"]):
            scenarios = scenarios_in(aslib, None, named.scenarios, leave_out)
            for _, scenario in scenarios:
                store.describe_scenario(scenario.name, describe_scenario(scenario))
            for cell in plan(scenarios, named.contenders, seeds):
                cells.setdefault(cell.hash, cell)  # a sweep passes through the default, which is run already
        _run_missing(list(cells.values()), store, command, local(jobs), progress)
    return report_results(source, out, aslib=aslib, notes=left_out, jobs=jobs, progress=progress, **options)


def report_scenario(
    folder: Path,
    source: Path,
    out: Path,
    *,
    selectors: Sequence[str] | None = None,
    seeds: int = 10,
    jobs: int = 1,
    modules: Sequence[str] = (),
    command: str = "",
    live_page: str | None = None,
    progress: ReportProgress = SILENT,
    **options: Any,
) -> Path:
    """Run what `source` lacks on one scenario and write the practitioner's page about it; return the page.

    `modules` are imported by the processes that run it: they register selectors. `live_page` is linked.
    """
    scenario = Scenario.read(folder)
    names = [*selectors, "oracle", "sbs"] if selectors else DEFAULT
    contenders = [Contender.parse(name) for name in names]
    cells = plan([(str(folder.resolve()), scenario)], contenders, seeds)
    with opened(source) as store:
        store.describe_scenario(scenario.name, describe_scenario(scenario))
        _run_missing(cells, store, command, local(jobs, modules), progress)
        report = gather(store, scenario=scenario, hashes={cell.hash for cell in cells}, progress=progress)
    options |= {"source": source.name, "live_page": live_page, "progress": progress}
    return write_scenario_page(report, scenario, out, **options)


def report_live_run(source: Path, out: Path, *, project: str | None = None, **options: Any) -> Path:
    """Write the page on a project of the state file `source` into the folder `out` and return it.

    The file is only read, also while a run writes to it.
    """
    return write_live_page(read_live_run(source, project), out, **options)


def _run_missing(
    cells: list[Cell], store: Store, command: str, executor: Executor, progress: ReportProgress
) -> None:
    """Run the cells that the store lacks; those that fail are listed in the report."""
    done = store.done()
    if any(cell.hash not in done for cell in cells):
        store.begin_run(command)
    run_cells(cells, store, executor=executor, progress=progress)


def write_results_page(report: Report, out: Path, *, source: str = "results.db", **options: Any) -> Path:
    context = _page_context(report, source)
    context["headline"] = headline(report.results, report.standings, report.ranked)
    tables, drawings = results_tables(report), results_drawings(report)
    return write_page("results.html.j2", out, tables, drawings, **context, **options)


def write_scenario_page(
    report: Report,
    scenario: Scenario,
    out: Path,
    *,
    source: str = "results.db",
    live_page: str | None = None,
    **options: Any,
) -> Path:
    """Write the report on the one scenario that `report` is about and return its page.

    `live_page` is the address of the page of a live run on such instances, to be linked.
    """
    par = report.results.par
    (part,) = report.scenarios
    portfolio = complement(scenario, report.results.penalty)
    real = [one for one in part.learning if one.selector not in BASELINES]
    shown = [one for one in real if one.selector in report.featured]
    drawings: Drawings = {
        "learning": partial(figures.learning, shown, par),
        "growth": partial(figures.growth, portfolio, par),
        **{name: draw for name, draw in comparison_drawings(report).items() if name == "npar10"},
        **_scenario_drawings(part, report),
        **_decision_drawings(report),
    }
    tables = [
        _learning_table(report),
        table("solvers", portfolio.solvers, par=par),
        table("pairs", [(*pair.algorithms, pair.par, pair.closed) for pair in portfolio.pairs], par=par),
        _scenarios_table(report),
    ]
    context = _page_context(report, source)
    context |= {
        "scenario": scenario,
        "part": part,
        "portfolio": portfolio,
        "overtaking": sorted((one.break_even, one.selector) for one in real if one.break_even is not None),
        "live_page": live_page,
        "left_out": [
            line for line in context["left_out"] if not line.startswith(("No ranks", "No sensitivity"))
        ],  # one scenario cannot have them
    }
    return write_page("scenario.html.j2", out, tables, drawings, **context, **options)


def _page_context(report: Report, source: str) -> dict[str, Any]:
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
        **_leaders(report.standings),
    }


def _leaders(standings: Sequence[Standing]) -> dict[str, list[Standing]]:
    """Return who can be related to the single best solver, the lowest mean nPARk first, also by kind."""
    related = [one for one in standings if not math.isnan(one.npar_mean)]
    return {
        "related": related,
        "picks": [one for one in related if kind_of(one.selector) == ContenderKind.ONE_PICK],
        "schedules": [one for one in related if kind_of(one.selector) == ContenderKind.SCHEDULE],
    }


def results_drawings(report: Report) -> Drawings:
    """Return all figures of a report, the large ones first so that no process waits for another."""
    drawings = comparison_drawings(report)
    for part in report.scenarios:
        drawings |= _scenario_drawings(part, report)
    return drawings | _decision_drawings(report)


def comparison_drawings(report: Report) -> Drawings:
    par, drawings = report.results.par, Drawings()
    if figures.with_bars(report.standings):
        drawings["npar10"] = partial(figures.npar_bars, report.standings, par)
    regrets = [part.regret for part in report.scenarios if part.regret is not None]
    if len(regrets) > 1:
        drawings["regret-overview"] = partial(figures.regret_overview, regrets, report.featured, par)
    for sweep, panels in report.sweeps.items():
        name = f"sensitivity-{sweep.selector}-{sweep.parameter}"
        drawings[name] = partial(figures.sweep, sweep, panels, par)
    if report.ranked is not None:
        drawings["critical-difference"] = partial(figures.critical_difference, report.ranked, par)
    for key, (title, standings) in report.scatters.items():
        drawings[key] = partial(figures.tradeoff, title, standings, par)
    if curves := cpu_curves(report.standings):
        drawings["extra-cpu"] = partial(figures.extra_cpu, curves, par)
    return drawings


def _scenario_drawings(part: ScenarioPart, report: Report) -> Drawings:
    par, shown, drawings = report.results.par, report.featured, Drawings()
    if part.regret is not None:
        drawings["regret"] = partial(figures.regret, part.regret, shown, par)
    if part.versus is not None:
        drawings["instances"] = partial(figures.instances, part.versus)
    if part.solved is not None:
        drawings["solved"] = partial(figures.solved, part.solved, shown)
    if part.shares:
        algorithms = part.description["algorithms"]
        drawings["choices"] = partial(figures.choices, part.name, part.shares, algorithms, [*part.survival])
    if part.survival:
        drawings["survival"] = partial(figures.survival, part.name, part.survival)
    return {f"{kind}-{slug(part.name)}": draw for kind, draw in drawings.items()}


def _decision_drawings(report: Report) -> Drawings:
    return {
        f"explained-{slug(one.scenario)}-{one.step}": partial(figures.decision, one)
        for one in report.explained
    }


def headline(results: Results, standings: Sequence[Standing], ranked: Ranking | None) -> str:
    """Return the summary as paragraphs, which claim no more than the numbers show."""
    leaders = _leaders(standings)
    recipe = find(name_of(leaders["picks"][0].selector)) if leaders["picks"] else None
    alike = []
    if ranked is not None:
        best, *ranks = ranked.average_ranks
        others = zip(ranked.selectors[1:], ranks, strict=True)
        alike = [name for name, rank in others if rank - best <= ranked.critical_difference]
    return render(
        "headline.html.j2",
        results=results,
        compared=sum(kind_of(name) != ContenderKind.BASELINE for name in results.selectors),
        par=results.par,
        ranked=ranked,
        alike=alike,
        needs_features=recipe is None or recipe.needs_features,
        **leaders,
    )


def left_out(report: Report) -> list[str]:
    """Return one sentence for each thing that is not in the report; empty if nothing is missing."""
    text = render("left_out.txt.j2", report=report, results=report.results, par=report.results.par)
    lines = [*text.splitlines(), *report.notes]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"… and {more} more."] if more > 0 else lines


def results_tables(report: Report) -> list[Table]:
    par = report.results.par
    picks: list[Row] = []
    schedules: list[Row] = []
    for s in report.standings:
        last = (s.beats_sbs, s.scenarios, s.unsolved, s.decision_us)
        if is_schedule(s.selector):
            schedules.append((labelled(s.selector), s.npar_mean, s.repar_median, *last))
        else:
            picks.append((s.selector, s.npar_mean, s.repar_median, s.average_rank, s.wins, *last))
    tables = [
        table("summary", picks, par=par),
        table("schedules", schedules, par=par),
        *([] if report.ranked is None else [_pairs_table(report.ranked, par)]),
        table("extra-cpu", list(_extra_cpu_rows(report)), par=par),
        *(_grid_table(report.grids[metric], par, report.ranked) for metric in _GRIDS),
        _scenarios_table(report),
    ]
    return [table for table in tables if table.rows or table.key == "summary"]


def _pairs_table(ranked: Ranking, par: str) -> Table:
    rows = []
    for pair in ranked.pairs[:_PAIRS]:
        names = f"{labelled(pair.first)} against {labelled(pair.second)}"
        differ = "yes" if pair.p_holm <= ranked.alpha else "no"
        rows.append((names, pair.wins, pair.losses, pair.p, pair.p_holm, differ))
    pairs = len(ranked.pairs)
    more = f" The first {_PAIRS} pairs by average rank are shown." if pairs > _PAIRS else ""
    words: dict[str, Any] = {"scenarios": len(ranked.scenarios), "pairs": pairs, "alpha": ranked.alpha}
    return table("wilcoxon", rows, par=par, more=more, **words)


def _extra_cpu_rows(report: Report) -> Iterator[Row]:
    par, npar, extra = (report.grids[metric].mean for metric in ("par", "npar", "extra_cpu"))
    place = {label: j for j, label in enumerate(report.results.selectors)}
    for i, part in enumerate(report.scenarios):
        size = part.description.get("instances"), len(part.description["algorithms"])
        for label, j in place.items():
            if not extra[i, j] > 0.0:  # nothing, or nan where it was not run
                continue
            without = place.get(label.partition("@")[0])
            saved = None if without is None else 1.0 - float(par[i, j] / par[i, without])
            difference = None if without is None else float(npar[i, j] - npar[i, without])
            yield part.name, *size, labelled(label), extra[i, j], saved, npar[i, j], difference


def _grid_table(grid: MetricGrid, par: str, ranked: Ranking | None) -> Table:
    """Return a metric's table: a row per scenario, best and second marked, means (and ranks) below."""
    title, number_format = _GRIDS[grid.metric]
    rows: list[Row] = []
    for i, scenario in enumerate(grid.scenarios):
        best, second = grid.placed(i)
        cells = [
            page.Cell(mean, deviation, "best" if j in best else "second" if j in second else "")
            for j, (mean, deviation) in enumerate(zip(grid.mean[i], grid.deviation[i], strict=True))
        ]
        rows.append((scenario, *cells))
    footer: list[Row] = []
    if grid.metric != "par":  # seconds of different scenarios have different scales
        footer.append(("mean", *map(mean_or_nan, grid.mean.T)))
    elif ranked is not None:
        ranks = dict(zip(ranked.selectors, ranked.average_ranks, strict=True))
        footer.append(("average rank", *(ranks.get(name) for name in grid.selectors)))
    columns = {"scenario": "", **dict.fromkeys(map(labelled, grid.selectors), number_format)}
    key = grid.metric.replace("par", par.lower())
    return table(key, rows, texts="metric", columns=columns, footer=footer, what=title.format(par=par))


def _scenarios_table(report: Report) -> Table:
    """Return the overview of scenarios; what is not known about one stays empty."""
    rows = []
    for part in report.scenarios:
        about = part.description
        cutoff, sbs, vbs = about.get("cutoff"), about["sbs_par"], about["vbs_par"]
        rows.append(
            (
                *(part.name, about.get("instances"), about.get("features"), len(about["algorithms"])),
                int(cutoff) if cutoff is not None and cutoff == int(cutoff) else cutoff,
                *(about.get(f"timeouts_{kind}") for kind in ("mean", "median", "min", "max")),
                *(about.get("sbs"), sbs, vbs, sbs / vbs if vbs else None),
            )
        )
    return table("scenarios", rows, par=report.results.par)


def _learning_table(report: Report) -> Table:
    par, learned = report.results.par, report.scenarios[0].learning
    overall = {one.selector: one.npar_mean for one in report.standings}
    rows: list[Row] = [
        (labelled(one.selector), overall[one.selector], *one.npar, one.break_even or "never")
        for one in learned
    ]
    parts = {f"to {int(end)}": ".2f" for end in (learned[0].at if learned else ())}
    columns = {"selector": "", f"n{par}": ".2f", **parts, "cheaper than SBS from": ""}
    seeds = counted(len(report.results.seeds), "seed")
    return table("learning", rows, columns=columns, par=par, seeds=seeds)


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
        parts = max(1, min(PARTS, len(first) // 5))
        return shares(self.selector, [np.array(first, dtype=np.int16)], len(self.algorithms), parts)


def read_live_run(path: Path, project: str | None = None) -> LiveRun:
    """Return what a project of a state file did; the file is only read, even while another process writes."""
    with Journal(path, read_only=True) as journal, journal.as_of_now():
        name = chosen_project(journal, project)
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
    first = run.shares()
    if first is not None and over_time:
        drawings["choices"] = partial(figures.choices, run.project, [first], run.algorithms, run.algorithms)
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
