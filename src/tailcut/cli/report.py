"""``tailcut report``: tables, figures and a page made of a result file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tailcut.bench.context import describe_scenario
from tailcut.bench.plan import DEFAULT, Cell, Contender, plan
from tailcut.bench.store import Result, Store, opened
from tailcut.cli.aslib_folder import AslibOption, existing
from tailcut.errors import InputError
from tailcut.report.build import build, with_svg
from tailcut.report.figures.canvas import FORMATS, require
from tailcut.report.gather import gather
from tailcut.report.paper import compute_missing, paper_cells
from tailcut.report.practitioner import build_practice
from tailcut.scenarios import Scenario


def command(
    results: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RESULTS]",
            help="Result file of `tailcut bench`. Optional with --paper (results.db) and --scenario-dir.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write the report into.")] = Path(
        "report"
    ),
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", help="Of figures: svg, pdf, png; repeat for more. Without: all. SVG is always made."
        ),
    ] = None,
    aslib: AslibOption = None,
    paper: Annotated[
        bool,
        typer.Option("--paper", help="First run what is missing for the paper's tables, figures and sweeps."),
    ] = False,
    scenario_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Report on this one scenario, for the practitioner; runs what is missing."
        ),
    ] = None,
    selector: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:key=value,...]", help="With --scenario-dir: selectors to run; repeat for more."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds to run, with --paper or --scenario-dir.")] = 10,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.", show_default="all cores")] = os.cpu_count()
    or 1,
) -> None:
    """Turn a result file into tables, figures and one self-contained page.

    Writes DIR/index.html, DIR/tables (Markdown, LaTeX, CSV, HTML) and DIR/figures. With the scenarios at
    hand (--aslib), the page also shows the survival curves of their algorithms.
    """
    require()
    wanted = with_svg(formats or FORMATS)
    if paper and scenario_dir is not None:
        raise InputError("--paper and --scenario-dir exclude each other")
    if selector and scenario_dir is None:
        raise InputError(
            "--selector goes with --scenario-dir; a report shows all selectors of its result file"
        )
    _writable(out)
    try:
        if scenario_dir is not None:
            page = practice_page(
                scenario_dir, results or out / "results.db", out, wanted, selector, seeds, jobs
            )
        else:
            source = results or (Path("results.db") if paper else None)
            if source is None:
                raise InputError("no result file: name one that `tailcut bench` wrote")
            notes = _run_paper(existing(aslib), source, seeds, jobs) if paper else []
            page = _report(source, existing(aslib) if aslib else None, out, wanted, jobs, notes)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; results computed so far are kept: run the same command again\n")
        raise typer.Exit(130) from None
    typer.echo(str(page))


def _writable(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be a folder to write into: {error.strerror}") from None


def _report(
    source: Path, aslib: Path | None, out: Path, formats: list[str], jobs: int, notes: list[str]
) -> Path:
    with opened(source, read_only=True) as store, _progress() as progress:
        task = progress.add_task("reading scenarios", total=None)
        report = gather(store, aslib, lambda _name: progress.advance(task), notes=notes)
        progress.update(task, total=len(report.scenarios))
        drawn = progress.add_task("drawing figures", total=None)
        return build(
            report,
            out,
            formats=formats,
            jobs=jobs,
            source=source.name,
            on_start=lambda count: progress.update(drawn, total=count),
            on_figure=lambda _name: progress.advance(drawn),
        )


def _run_paper(aslib: Path, source: Path, seeds: int, jobs: int) -> list[str]:
    """Run what is missing; return what could not be run, which is also told on stderr."""
    left_out: list[str] = []
    with opened(source) as store:
        cells = paper_cells(aslib, seeds, store, left_out.append)
        for reason in left_out:
            sys.stderr.write(f"left out: {reason}\n")
        _run(cells, store, jobs)
    return [f"Left out: {reason}." for reason in left_out]


def practice_page(
    folder: Path,
    source: Path,
    out: Path,
    formats: list[str],
    selectors: list[str] | None,
    seeds: int,
    jobs: int,
) -> Path:
    """Run what is missing on one scenario and write the practitioner's page about it; return the page."""
    scenario = Scenario.read(folder)
    names = [*selectors, "oracle", "sbs"] if selectors else DEFAULT
    contenders = [Contender.parse(name) for name in names]
    cells = plan([(str(folder.resolve()), scenario)], contenders, seeds)
    with opened(source) as store:
        store.describe_scenario(scenario.name, describe_scenario(scenario))
        _run(cells, store, jobs)
        hashes = {cell.hash for cell in cells}
        with _progress() as progress:
            report = gather(store, scenario=scenario, hashes=hashes)
            drawn = progress.add_task("drawing figures", total=None)
            return build_practice(
                report,
                scenario,
                store,
                out,
                formats=formats,
                on_start=lambda count: progress.update(drawn, total=count),
                on_figure=lambda _name: progress.advance(drawn),
            )


def _run(cells: list[Cell], store: Store, jobs: int) -> None:
    """Run the missing cells with a progress bar; those that fail are listed in the report."""
    done = store.done()
    with _progress() as progress:
        task = progress.add_task("running selectors", total=sum(cell.steps for cell in cells))
        progress.advance(task, sum(cell.steps for cell in cells if cell.hash in done))
        text = shlex.join(["tailcut", *sys.argv[1:]])

        def on_cell(cell: Cell, _result: Result) -> None:
            progress.advance(task, cell.steps)

        compute_missing(cells, store, text, jobs, on_cell)


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show bars on a terminal, and nothing elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        yield progress
