"""``tailcut measure``: every solver on every instance, as a scenario in ASlib's format."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tailcut.cli.executor_options import (
    RUNS,
    RunExecutorOption,
    SchedulerOption,
    ShipOption,
    check_executor,
    program_executor,
)
from tailcut.cli.stopping import terminable
from tailcut.live.instances import instances_in
from tailcut.live.measure import MeasureObserver, default_state, measure_scenario
from tailcut.live.measurement import Measured
from tailcut.live.outcomes import SilentSolver
from tailcut.live.portfolio import cutoff_of, read_portfolio
from tailcut.live.printable import printable


def command(
    portfolio: Annotated[Path, typer.Argument(metavar="PORTFOLIO", help="Portfolio file (TOML).")],
    instances: Annotated[
        list[str], typer.Argument(metavar="INSTANCES...", help="Instance files, or folders of them.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the scenario; must not hold one yet.")],
    cutoff: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds for a run. Without: the portfolio's.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the scenario. Without: that of the folder.")
    ] = None,
    note: Annotated[str, typer.Option(help="A sentence for the scenario's readme.")] = "",
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What is measured so far. Without: DIR with .measure.db."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs at the same time; more disturb each other. Without: 1; with dask, all its threads.",
        ),
    ] = None,
    executor: RunExecutorOption = "processes",
    scheduler: SchedulerOption = None,
    ship_instances: ShipOption = False,
    wrong: Annotated[
        list[str] | None,
        typer.Option(metavar="SOLVER:INSTANCE", help="An answer that is wrong: the run counts as failed."),
    ] = None,
    again: Annotated[
        list[str] | None, typer.Option(metavar="SOLVER:INSTANCE", help="A run to be measured again.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object about the scenario.")] = False,
) -> None:
    """Run every solver of a portfolio on every instance and write a scenario that `tailcut bench` reads.

    Each run is kept as soon as it ended. Stop it at any time, even with kill -9, and run the same command
    again: only what is missing is measured, and files that have changed. Answers are verified where the
    portfolio says how, and solvers that contradict each other are an error: --wrong and --again mend that.
    """
    check_executor(executor, RUNS, scheduler, ship=ship_instances)
    read = read_portfolio(portfolio)
    limit = cutoff_of(read, cutoff)
    if read.without:
        sys.stderr.write(f"{read.without}\n")
    given = list(instances_in(instances, read.instances))
    kept = state or default_state(out)
    try:
        with (
            terminable(),
            program_executor(executor, scheduler, jobs, read, ship=ship_instances) as (place, at_once),
            _ProgressBar() as bar,
        ):
            scenario = measure_scenario(
                read,
                given,
                out,
                cutoff=limit,
                name=name,
                note=note,
                state=kept,
                executor=place,
                jobs=at_once,
                observer=bar,
                wrong=wrong or [],
                again=again or [],
            )
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; what is measured is kept in {kept}: run the same command again\n")
        raise typer.Exit(130) from None
    n_instances, n_runs = len(scenario.instances), scenario.solved.size
    n_solved = int(scenario.solved.any(axis=1).sum())
    if as_json:
        share = n_solved / n_instances
        row = {"folder": str(out), "instances": n_instances, "runs": n_runs, "solved": share}
        typer.echo(json.dumps(row))
    else:
        typer.echo(
            f"{n_runs} runs; {n_solved} of {n_instances} instances were solved "
            f"by some solver; the scenario is in {out}"
        )


class _ProgressBar(MeasureObserver):
    """A progress bar on a terminal, elsewhere a line for every hundredth; problems are printed anywhere."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs, left"),
            TimeRemainingColumn(),
        )
        self._lines = not sys.stderr.isatty()
        self._progress = Progress(*columns, console=Console(stderr=True), disable=self._lines)
        self._task = self._progress.add_task("measure", total=None)
        self._done = self._total = 0

    def started(self, done: int, total: int) -> None:
        self._done, self._total = done, total
        self._progress.update(self._task, completed=done, total=total)
        if self._lines:
            sys.stderr.write(f"measured before: {done} of {total} runs\n")

    def instance_changed(self, instance: str) -> None:
        sys.stderr.write(f"{printable(instance)} has changed since it was measured: it is measured again\n")

    def solver_silent(self, one: SilentSolver) -> None:
        sys.stderr.write(f"problem: {printable(str(one))}\n")

    def measured(self, one: Measured) -> None:
        self._done += 1
        self._progress.advance(self._task)
        every = max(1, self._total // 100)
        if self._lines and (self._done % every == 0 or self._done == self._total):
            sys.stderr.write(f"measured: {self._done} of {self._total} runs\n")
        if one.problem:
            who = f"{one.solver}: " if one.solver else ""
            sys.stderr.write(f"problem: {printable(f'{one.instance}: {who}{one.problem}')}\n")

    def __enter__(self) -> _ProgressBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
