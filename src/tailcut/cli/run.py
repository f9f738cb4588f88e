"""``tailcut run``: a stream of instances through a portfolio of solvers, chosen online."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tailcut.cli import options
from tailcut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tailcut.live.instances import Instance
    from tailcut.live.portfolio import Portfolio

OPTION_GROUPS = {
    "Instances": ("shuffle", "watch", "retry"),
    "Limits and parallel runs": ("cutoff", "jobs", "parallel", "executor", "scheduler", "ship_instances"),
    "Choosing and learning": ("selector", "seed", "warm_start", "aslib"),
    "Measuring first": ("measure_first", "measure_choice", "measure_cutoff"),
    "Checking answers": ("trust", "second_opinion", "check_only"),
    "Files and output": ("state", "answers", "outputs", "as_json"),
}
"""The headings of the help; `--domain` stands beside the arguments that it replaces."""


def command(
    portfolio: str | None = typer.Argument(None, metavar="PORTFOLIO"),
    instances: list[str] | None = typer.Argument(None, metavar="INSTANCES..."),
    domain: str | None = typer.Option(None, metavar="NAME"),
    cutoff: float | None = typer.Option(None, metavar="S"),
    state: Path = typer.Option(Path("tailcut-run.db"), metavar="FILE"),
    answers: Path | None = typer.Option(None, metavar="FILE"),
    outputs: Path | None = typer.Option(None, metavar="DIR"),
    jobs: int | None = typer.Option(None, min=1, metavar="N"),
    parallel: int = typer.Option(1, min=1, metavar="K"),
    executor: str = typer.Option("processes", metavar="NAME"),
    scheduler: str | None = typer.Option(None, metavar="ADDRESS"),
    ship_instances: bool = typer.Option(False, "--ship-instances"),
    selector: str | None = typer.Option(None, metavar="NAME[:key=value,...]"),
    seed: int = typer.Option(0, min=0),
    shuffle: bool = typer.Option(False, "--shuffle"),
    watch: Path | None = typer.Option(None, metavar="FOLDER"),
    warm_start: str | None = typer.Option(None, metavar="WHERE"),
    aslib: Path | None = options.ASLIB,
    measure_first: int = typer.Option(0, min=0, metavar="M"),
    measure_choice: str = typer.Option("first", metavar="first|random|diverse"),
    measure_cutoff: float | None = typer.Option(None, metavar="S"),
    retry: str | None = typer.Option(None, metavar="unsolved|failed"),
    trust: list[str] | None = typer.Option(None, metavar="SOLVER"),
    second_opinion: float = typer.Option(0.0, min=0.0, max=1.0, metavar="S"),
    check_only: bool = typer.Option(False, "--check"),
    as_json: options.JSON = False,
) -> None:
    """Run the solvers of a portfolio on instances, choosing for each by what was learned so far.

    Every decision and outcome is in the state file before anything depends on it. Ctrl-C ends cleanly; run
    the same command again, even after kill -9, and it continues where it stopped: what has an outcome is not
    run again. Recorded runs (--warm-start) are learned once. A measured instance is answered by the first
    solver that solves it; the time of its extra runs is reported separately.
    """
    from tailcut.cli.views import JsonView, print_check, print_totals, progress_view
    from tailcut.journal import Journal
    from tailcut.live.engine import check_open_files
    from tailcut.live.instances import instances_in
    from tailcut.live.preparation import MeasureChoice, MeasureFirst, Retry
    from tailcut.live.stream import StreamSettings, begun_stream, run_stream

    check_open_files((jobs or 1) * parallel)
    options.check_executor(executor, options.RUNS, scheduler, ship=ship_instances)
    if executor == "dask" and parallel > 1:
        raise InputError("a race is run on this machine: leave out --parallel with dask")
    read, instances = options.chosen_portfolio(domain, portfolio, instances)
    if check_only:
        from tailcut.live.check import check_portfolio

        checked = check_portfolio(read, list(instances_in(instances, read.instances, models=read.models)))
        print_check(checked, as_json)
        raise typer.Exit(0 if checked.passed else 1)
    wanted = None
    if retry is not None:
        wanted = Retry(retry, cutoff)
        cutoff, unsolved = begun_stream(state)
        instances = instances or unsolved
    settings = StreamSettings.of(read, selector, cutoff, seed)
    if read.without:
        sys.stderr.write(f"{read.without}\n")
    source = None if warm_start is None else options.recorded_runs(warm_start, aslib)
    if wanted is not None and not instances:
        sys.stderr.write(f"nothing to retry: every instance of {state} has an answer\n")
        raise typer.Exit(0)
    if not instances and watch is None:
        raise InputError("there is nothing to run: give instance files, folders, - for a list, or --watch")
    if shuffle and (watch is not None or "-" in (instances or ())):
        raise InputError("what is still to come cannot be shuffled: leave out --shuffle, or - and --watch")
    measuring = MeasureFirst(measure_first, MeasureChoice(measure_choice), measure_cutoff)
    absent: list[str] = []
    given = _stream_of(instances or [], read, watch, absent, seed if shuffle else None)
    with (
        options.stoppable(f"stopped; completed work is kept in {state}: run the same command again"),
        options.program_executor(executor, scheduler, jobs, read, ship=ship_instances) as (place, at_once),
        Journal(state) as journal,
        JsonView() if as_json else progress_view() as view,
    ):
        totals = run_stream(
            journal,
            read,
            settings,
            given,
            answers or state.with_suffix(".jsonl"),
            outputs=outputs,
            executor=place,
            jobs=at_once,
            observer=view,
            warm_start=source,
            measure_first=measuring if measure_first else None,
            retry=wanted,
            trust=trust or (),
            second_opinion=second_opinion,
            parallel=parallel,
        )
    totals.problems += [f"{problem}; skipped" for problem in absent]
    print_totals(totals, as_json)


def _stream_of(
    instances: list[str], portfolio: Portfolio, watch: Path | None, absent: list[str], shuffle: int | None
) -> Iterable[Instance]:
    from tailcut.live.instances import Arrivals, instances_in, shuffled, watched, words_on_order

    given = instances_in(instances, portfolio.instances, on_absent=absent.append, models=portfolio.models)
    if watch is not None:
        return Arrivals(given, watched(watch, portfolio.instances))
    if "-" in instances:
        return Arrivals(given)
    known = list(given)
    if shuffle is not None:
        return shuffled(known, shuffle)
    words = words_on_order(known)
    if words is not None:
        sys.stderr.write(f"{words}\n")
    return known
