"""Complete reports: on a result file, the paper's experiments, one scenario, a live run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailcut.bench.benchmark import Executor, local, run_cells
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.store import Store, describe_scenario, opened
from tailcut.bench.sweeps import DEFAULT, PLANS
from tailcut.report.canvas import FORMATS
from tailcut.report.complement import complement
from tailcut.report.gather import SILENT, ReportProgress, gather
from tailcut.report.live_page import read_live_run, write_live_page
from tailcut.report.results_page import write_results_page
from tailcut.report.scenario_page import write_scenario_page
from tailcut.scenarios import Scenario
from tailcut.scenarios.aslib_reader import scenarios_in


def report_results(
    source: Path,
    out: Path,
    *,
    aslib: Path | None = None,
    formats: Sequence[str] = FORMATS,
    jobs: int = 1,
    notes: Sequence[str] = (),
    progress: ReportProgress = SILENT,
) -> Path:
    """Write the report on the result file `source` into the folder `out` and return its page.

    `aslib` is the folder of the scenarios' folders, if available; `notes` say what was left out before.
    """
    with opened(source, read_only=True) as store:
        report = gather(store, aslib, notes=notes, progress=progress)
    return write_results_page(report, out, formats=formats, jobs=jobs, source=source.name, progress=progress)


def report_paper(
    aslib: Path,
    source: Path,
    out: Path,
    *,
    seeds: int = 10,
    formats: Sequence[str] = FORMATS,
    jobs: int = 1,
    command: str = "",
    progress: ReportProgress = SILENT,
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
    return report_results(
        source, out, aslib=aslib, formats=formats, jobs=jobs, notes=left_out, progress=progress
    )


def report_scenario(
    folder: Path,
    source: Path,
    out: Path,
    *,
    selectors: Sequence[str] | None = None,
    seeds: int = 10,
    formats: Sequence[str] = FORMATS,
    jobs: int = 1,
    modules: Sequence[str] = (),
    command: str = "",
    live_page: str | None = None,
    progress: ReportProgress = SILENT,
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
    portfolio = complement(scenario, report.results.penalty)
    return write_scenario_page(
        report,
        scenario,
        portfolio,
        out,
        source=source.name,
        live_page=live_page,
        formats=formats,
        progress=progress,
    )


def report_live_run(
    source: Path,
    out: Path,
    *,
    project: str | None = None,
    formats: Sequence[str] = FORMATS,
    progress: ReportProgress = SILENT,
) -> Path:
    """Write the page on a project of the state file `source` into the folder `out` and return it.

    The file is only read, also while a run writes to it.
    """
    return write_live_page(read_live_run(source, project), out, formats=formats, progress=progress)


def _run_missing(
    cells: list[Cell], store: Store, command: str, executor: Executor, progress: ReportProgress
) -> None:
    """Run the cells that the store lacks; those that fail are listed in the report."""
    done = store.done()
    if any(cell.hash not in done for cell in cells):
        store.begin_run(command)
    run_cells(cells, store, executor=executor, progress=progress)
