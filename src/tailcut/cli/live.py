"""``tailcut run``: a stream of instances through a portfolio of solvers, chosen online."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tailcut.bench.plan import Contender
from tailcut.catalogue import BASELINES, DEFAULT_SELECTOR
from tailcut.cli.executors import (
    RUNS,
    RunExecutorOption,
    SchedulerOption,
    ShipOption,
    check_executor,
    program_runs,
)
from tailcut.cli.live_view import headline, solver_table, view_of
from tailcut.cli.portfolio_check import check
from tailcut.cli.stopping import terminable
from tailcut.errors import InputError
from tailcut.journal import Journal
from tailcut.live.course import Course
from tailcut.live.engine import Engine
from tailcut.live.instances import Instance, instances_in
from tailcut.live.lines import AnswerLines, line
from tailcut.live.local import LocalRuns
from tailcut.live.portfolio import Portfolio, cutoff_of, read_portfolio
from tailcut.live.session import Wanted, all_courses, open_project, works
from tailcut.live.tally import Tally
from tailcut.live.work import Runs, drive


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
        typer.Option(metavar="FILE", help="State file: what was learned and done; a rerun goes on there."),
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
    check_only: Annotated[
        bool, typer.Option("--check", help="Try each solver on a tiny instance and run nothing else.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the answers of this run as JSON lines, as they come.")
    ] = False,
) -> None:
    """Run the solvers of a portfolio on instances, choosing the solver for each by what was learned so far.

    Every decision and outcome is in the state file before anything depends on it. Ctrl-C ends cleanly; the
    same command again, even after kill -9, goes on where it stopped: what has an outcome is not run again.
    """
    check_executor(executor, RUNS, scheduler, ship=ship_instances)
    read = read_portfolio(portfolio)
    if check_only:
        raise typer.Exit(check(read, instances or [], as_json=as_json))
    limit = cutoff_of(read, cutoff)
    if not instances:
        raise InputError("there is nothing to run: give instance files, folders, or - for a list")
    contender = Contender.parse(selector or read.selector or DEFAULT_SELECTOR)
    if contender.selector in BASELINES:
        raise InputError(f"{contender.selector} is a hindsight baseline: it cannot choose")
    wanted = Wanted(contender.selector, limit, seed, dict(contender.hyperparameters))
    if outputs is not None:
        outputs.mkdir(parents=True, exist_ok=True)
    given = instances_in(instances, read.instances)
    known = given if "-" in instances else list(given)
    try:
        with (
            terminable(),
            program_runs(executor, scheduler, jobs, read, ship=ship_instances) as (runs, at_once),
            Journal(state) as journal,
        ):
            tally = serve_stream(
                journal,
                read,
                wanted,
                known,
                answers or state.with_suffix(".jsonl"),
                outputs=outputs,
                runs=runs,
                jobs=at_once,
                quiet=as_json,
                on_over=_print_line if as_json else None,
            )
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; what is done is kept in {state}: run the same command again\n")
        raise typer.Exit(130) from None
    _tell(tally, as_json)


def _print_line(course: Course) -> None:
    sys.stdout.write(line(course) + "\n")
    sys.stdout.flush()


def serve_stream(
    journal: Journal,
    portfolio: Portfolio,
    wanted: Wanted,
    instances: Iterable[Instance],
    answers: Path,
    *,
    outputs: Path | None = None,
    runs: Runs | None = None,
    jobs: int = 1,
    quiet: bool = False,
    on_over: Callable[[Course], None] | None = None,
) -> Tally:
    """Serve what is left of a stream, shown as it goes, and return the sums, those from before included.

    Programs run at `runs`; without, on this machine.
    """
    project, changes = open_project(journal, portfolio, wanted)
    for change in changes:
        sys.stderr.write(f"{change}\n")
    courses = all_courses(project)
    tally = Tally.of(courses.values())
    if tally.over:
        sys.stderr.write(f"going on: {tally.over} instances are over\n")
    engine = Engine(portfolio, project, cutoff=wanted.cutoff, outputs=outputs)
    with (
        AnswerLines(answers, courses.values()) as lines,
        nullcontext(runs)
        if runs is not None
        else LocalRuns(jobs, portfolio.preload, portfolio.folder) as place,
        view_of(tally, _total(instances, courses), quiet=quiet) as view,
    ):

        def over(course: Course) -> None:
            lines.add(course)
            if on_over is not None:
                on_over(course)

        engine.listen = view.take
        drive(works(engine, instances, courses), place.submit, at_once=jobs, on_result=over)
    project.keep()
    return tally


def _total(instances: Iterable[Instance], courses: Mapping[str, Course]) -> int | None:
    """Return how many instances there will be, those over from before included; None if that is open."""
    if not isinstance(instances, list):
        return None
    names = {instance.name for instance in instances}
    return len(names.union(name for name, course in courses.items() if course.over))


def _tell(tally: Tally, as_json: bool) -> None:
    """Print what came of it, unless a program reads."""
    for problem in tally.problems:
        sys.stderr.write(f"problem: {problem}\n")
    if as_json:
        return
    typer.echo(headline(tally, None))
    Console(width=None if sys.stdout.isatty() else 100).print(solver_table(tally))
