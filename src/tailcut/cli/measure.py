"""``tailcut measure``: every solver on every instance, as a scenario in ASlib's format."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tailcut.cli.executors import (
    RUNS,
    RunExecutorOption,
    SchedulerOption,
    ShipOption,
    check_executor,
    program_runs,
)
from tailcut.cli.stopping import terminable
from tailcut.errors import InputError
from tailcut.journal import Journal
from tailcut.live.instances import Instance, instances_in
from tailcut.live.measure import Measurement
from tailcut.live.portfolio import Portfolio, cutoff_of, read_portfolio
from tailcut.live.provenance import readme
from tailcut.live.work import Runs, drive
from tailcut.state import statefile


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
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object about the scenario.")] = False,
) -> None:
    """Run every solver of a portfolio on every instance and write a scenario that `tailcut bench` reads.

    Each run is kept as soon as it ended. Stop it at any time, even with kill -9, and run the same command
    again: only what is missing is measured. Answers are verified where the portfolio tells how, and solvers
    that contradict each other are an error.
    """
    check_executor(executor, RUNS, scheduler, ship=ship_instances)
    read = read_portfolio(portfolio)
    limit = cutoff_of(read, cutoff)
    given = list(instances_in(instances, read.instances))
    named = {instance.name.rpartition("/")[2] for instance in given}
    if len(named) == len(given):  # files of one folder need no path in the scenario
        given = [Instance(one.path.name, one.path) for one in given]
    kept = state or out.with_name(out.name + ".measure.db")
    if (out / "description.txt").exists():
        raise InputError(f"{out} already holds a scenario")
    try:
        with (
            terminable(),
            program_runs(executor, scheduler, jobs, read, ship=ship_instances) as (runs, at_once),
            Journal(kept) as journal,
        ):
            measurement = Measurement(journal, read, limit)
            method = _measure(measurement, read, given, runs, at_once)
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; what is measured is kept in {kept}: run the same command again\n")
        raise typer.Exit(130) from None
    scenario = measurement.scenario(given, name or out.name)
    scenario.write(out)
    text = readme(scenario.name, read, limit, measurement.measured, method, note)
    statefile.write(out / "readme.txt", text.encode())
    _tell(out, measurement, scenario.solved.any(axis=1).mean(), as_json)


def _measure(
    measurement: Measurement, portfolio: Portfolio, given: list[Instance], runs: Runs, jobs: int
) -> str:
    """Measure what is missing, with a progress bar on a terminal; return how limits were enforced."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs, left"),
        TimeRemainingColumn(),
    )
    silent = not sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), disable=silent) as progress:
        per_instance = len(portfolio.solvers) + (portfolio.features is not None)
        task = progress.add_task("measure", total=len(given) * per_instance)
        progress.advance(task, len(measurement.measured.runs) + len(measurement.measured.features))

        def measured(body: dict[str, Any]) -> None:
            progress.advance(task)
            if body.get("problem"):
                sys.stderr.write(f"problem: {body['instance']}: {body.get('solver', '')} {body['problem']}\n")

        drive(measurement.missing(given), runs.submit, at_once=jobs, on_result=measured)
        return runs.method


def _tell(out: Path, measurement: Measurement, solved: float, as_json: bool) -> None:
    runs = measurement.measured.runs
    instances = {instance for instance, _ in runs}
    if as_json:
        told = {"folder": str(out), "instances": len(instances), "runs": len(runs), "solved": float(solved)}
        typer.echo(json.dumps(told))
    else:
        typer.echo(
            f"{len(runs)} runs; {round(solved * len(instances))} of {len(instances)} instances were solved "
            f"by some solver; the scenario is in {out}"
        )
