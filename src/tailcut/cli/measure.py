"""``tailcut measure``: every solver on every instance, as a scenario in ASlib's format."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from tailcut.cli import options
from tailcut.errors import InputError


def command(
    out: Path = typer.Option(..., metavar="DIR"),
    portfolio: str | None = typer.Argument(None, metavar="PORTFOLIO"),
    instances: list[str] | None = typer.Argument(None, metavar="INSTANCES..."),
    domain: str | None = typer.Option(None, metavar="NAME"),
    cutoff: float | None = typer.Option(None, metavar="S"),
    name: str | None = typer.Option(None, metavar="NAME"),
    note: str = typer.Option("", metavar="TEXT"),
    state: Path | None = typer.Option(None, metavar="FILE"),
    jobs: int | None = typer.Option(None, min=1, metavar="N"),
    executor: str = typer.Option("processes", metavar="NAME"),
    scheduler: str | None = typer.Option(None, metavar="ADDRESS"),
    ship_instances: bool = typer.Option(False, "--ship-instances"),
    wrong: list[str] | None = typer.Option(None, metavar="SOLVER:INSTANCE"),
    again: list[str] | None = typer.Option(None, metavar="SOLVER:INSTANCE"),
    as_json: options.JSON = False,
) -> None:
    """Run every solver of a portfolio on every instance and write a scenario that `tailcut bench` reads.

    Each run is kept as soon as it ends. Stop it at any time, even with kill -9, and run the same command
    again: only what is missing is measured, and files that have changed. Answers are verified where the
    portfolio says how, and solvers that contradict each other are an error, which --wrong and --again
    resolve.
    """
    from tailcut.cli.views import MeasureView
    from tailcut.live.instances import instances_in
    from tailcut.live.measure import default_state, measure_scenario
    from tailcut.live.portfolio import cutoff_of

    options.check_executor(executor, options.RUNS, scheduler, ship=ship_instances)
    read, instances = options.chosen_portfolio(domain, portfolio, instances)
    if not instances:
        raise InputError("there is nothing to measure: give instance files or folders")
    limit = cutoff_of(read, cutoff)
    if read.without:
        sys.stderr.write(f"{read.without}\n")
    given = list(instances_in(instances, read.instances, models=read.models))
    kept = state or default_state(out)
    with (
        options.stoppable(f"stopped; what is measured is kept in {kept}: run the same command again"),
        options.program_executor(executor, scheduler, jobs, read, ship=ship_instances) as (place, at_once),
        MeasureView() as bar,
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
    n_instances, n_runs = len(scenario.instances), scenario.solved.size
    n_solved = int(scenario.solved.any(axis=1).sum())
    share = n_solved / n_instances
    row = {"folder": str(out), "instances": n_instances, "runs": n_runs, "solved": share}
    solved = f"{n_solved} of {n_instances} instances were solved by some solver"
    typer.echo(json.dumps(row) if as_json else f"{n_runs} runs; {solved}; the scenario is in {out}")
