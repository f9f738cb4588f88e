"""``tailcut run``: a stream of instances through a portfolio of solvers, chosen online."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailcut.bench.plan import Contender
from tailcut.catalogue import BASELINES, DEFAULT_SELECTOR
from tailcut.cli.aslib_folder import AslibOption
from tailcut.cli.executor_options import (
    RUNS,
    RunExecutorOption,
    SchedulerOption,
    ShipOption,
    check_executor,
    program_executor,
)
from tailcut.cli.run_view import JsonView, headline, progress_view, solver_table
from tailcut.cli.stopping import terminable
from tailcut.cli.warm_start_option import WarmStartOption, past_source
from tailcut.errors import InputError
from tailcut.journal import Journal
from tailcut.live.check import PortfolioCheck, Tried, check_portfolio
from tailcut.live.instances import instances_in
from tailcut.live.measure_first import MeasureChoice, MeasureFirst
from tailcut.live.portfolio import Portfolio, cutoff_of, read_portfolio
from tailcut.live.printable import printable
from tailcut.live.stream import StreamSettings, run_stream
from tailcut.live.totals import Totals


def command(
    portfolio: Annotated[Path, typer.Argument(metavar="PORTFOLIO", help="Portfolio file (TOML).")],
    instances: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INSTANCES...", help="Instance files, folders of them, or - for a list on standard input."
        ),
    ] = None,
    cutoff: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Seconds for an instance, features included. Without: the portfolio's.",
        ),
    ] = None,
    state: Annotated[
        Path,
        typer.Option(metavar="FILE", help="State file: what was learned and done; a rerun continues there."),
    ] = Path("tailcut-run.db"),
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers, a JSON line each. Without: STATE with .jsonl."),
    ] = None,
    outputs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep what the answering solver printed, a file each.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Instances at the same time. Without: 1; with dask, as many as its workers have threads.",
        ),
    ] = None,
    executor: RunExecutorOption = "processes",
    scheduler: SchedulerOption = None,
    ship_instances: ShipOption = False,
    selector: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help=f"Selector. Without: the portfolio's, else {DEFAULT_SELECTOR}.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the selector.")] = 0,
    warm_start: WarmStartOption = None,
    aslib: AslibOption = None,
    measure_first: Annotated[
        int,
        typer.Option(
            min=0, metavar="M", help="Run M instances with every solver before the others are begun."
        ),
    ] = 0,
    measure_choice: Annotated[
        MeasureChoice,
        typer.Option(help="Which: the first, a random sample, or unlike each other by their features."),
    ] = MeasureChoice.FIRST,
    measure_cutoff: Annotated[
        float | None,
        typer.Option(metavar="S", help="Seconds for each of these further runs. Without: the cutoff."),
    ] = None,
    check_only: Annotated[
        bool, typer.Option("--check", help="Try each solver on a tiny instance and run nothing else.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the answers of this run as JSON lines, as they come.")
    ] = False,
) -> None:
    """Run the solvers of a portfolio on instances, choosing the solver for each by what was learned so far.

    Every decision and outcome is in the state file before anything depends on it. Ctrl-C ends cleanly; the
    same command again, even after kill -9, continues where it stopped: what has an outcome is not run again.
    Recorded runs (--warm-start) are learned once. An instance that is measured is answered by the first
    solver that solves it; the time of its further runs is reported apart.
    """
    check_executor(executor, RUNS, scheduler, ship=ship_instances)
    read = read_portfolio(portfolio)
    if check_only:
        checked = check_portfolio(read, list(instances_in(instances or [], read.instances)))
        _print_check(checked, as_json)
        raise typer.Exit(0 if checked.passed else 1)
    settings = _settings(read, selector, cutoff, seed)
    if read.without:
        sys.stderr.write(f"{read.without}\n")
    source = None if warm_start is None else past_source(warm_start, aslib)
    if not instances:
        raise InputError("there is nothing to run: give instance files, folders, or - for a list")
    absent: list[str] = []
    given = instances_in(instances, read.instances, on_absent=absent.append)
    try:
        with (
            terminable(),
            program_executor(executor, scheduler, jobs, read, ship=ship_instances) as (place, at_once),
            Journal(state) as journal,
            JsonView() if as_json else progress_view() as view,
        ):
            totals = run_stream(
                journal,
                read,
                settings,
                given if "-" in instances else list(given),
                answers or state.with_suffix(".jsonl"),
                outputs=outputs,
                executor=place,
                jobs=at_once,
                observer=view,
                warm_start=source,
                measure_first=MeasureFirst(measure_first, measure_choice, measure_cutoff)
                if measure_first
                else None,
            )
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; what is done is kept in {state}: run the same command again\n")
        raise typer.Exit(130) from None
    totals.problems += [f"{problem}; skipped" for problem in absent]
    _print_totals(totals, as_json)


def _settings(portfolio: Portfolio, selector: str | None, cutoff: float | None, seed: int) -> StreamSettings:
    limit = cutoff_of(portfolio, cutoff)
    contender = Contender.parse(selector or portfolio.selector or DEFAULT_SELECTOR)
    if contender.selector in BASELINES:
        raise InputError(f"{contender.selector} is a hindsight baseline: it cannot choose")
    return StreamSettings(contender.selector, limit, seed, dict(contender.hyperparameters))


def _print_totals(totals: Totals, as_json: bool) -> None:
    """Print what came of it, unless a program reads."""
    if totals.skipped:
        sys.stderr.write(f"skipped {totals.skipped} instances that are over, with files as they were\n")
    for problem in [*totals.problems, *map(str, totals.silent)]:
        sys.stderr.write(f"problem: {printable(problem)}\n")
    if as_json:
        if totals.measured:
            found = {"instances": len(totals.measured), "extra_runs": totals.extra_runs}
            typer.echo(json.dumps({"measured": {**found, "extra_seconds": totals.extra_seconds}}))
        return
    typer.echo(headline(totals, None))
    Console(width=None if sys.stdout.isatty() else 100).print(solver_table(totals))


def _print_check(checked: PortfolioCheck, as_json: bool) -> None:
    if as_json:
        tried = [asdict(one) for one in checked.tried]
        typer.echo(json.dumps({"limits": checked.method, "tried": tried}, indent=2))
    else:
        Console(width=None if sys.stdout.isatty() else 140).print(_check_table(checked.tried))
        typer.echo(f"limits are enforced by {checked.method}")
    if checked.silent:
        sys.stderr.write(f"no answer at all: {', '.join(checked.silent)}\n")


def _check_table(tried: tuple[Tried, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("", "program", "instance", "seconds", "answer"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "seconds" else "left")
    table.add_column("problem")
    for one in tried:
        mark = "[red]x[/]" if one.problem else "[green]ok[/]"
        row = (one.program, one.instance, f"{one.seconds:.3f}", one.answer or one.ending, one.problem or "")
        table.add_row(mark, *(Text(printable(word)) for word in row))
    return table
