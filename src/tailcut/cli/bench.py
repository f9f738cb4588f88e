"""``tailcut bench``: selectors on scenarios, over seeds, resumable."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tailcut.bench.context import describe_run, describe_scenario
from tailcut.bench.executors import Executor
from tailcut.bench.folder import scenarios_in
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.run import run
from tailcut.bench.store import Result, Store, opened
from tailcut.bench.summary import summarise
from tailcut.bench.sweeps import PLANS, NamedPlan
from tailcut.catalogue import labelled
from tailcut.cli.aslib_folder import AslibOption, or_bundled
from tailcut.cli.executor_options import (
    CELLS,
    CellExecutorOption,
    SchedulerOption,
    cell_executor,
    check_executor,
)
from tailcut.errors import InputError

_PLANS = "; ".join(f"{name}: {named.summary}" for name, named in PLANS.items())


def command(
    aslib: AslibOption = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name of a scenario in DIR; repeat for more. Without: all."),
    ] = None,
    selector: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:key=value,...]", help="Selector; repeat for more. Without: those of the plan."
        ),
    ] = None,
    plan_name: Annotated[str, typer.Option("--plan", metavar="NAME", help=_PLANS + ".")] = "default",
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds; each shuffles the instances.")] = 10,
    first_seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of the first seed; the others follow it.")
    ] = 0,
    penalty: Annotated[float, typer.Option(min=1.0, help="The k of PARk.")] = 10.0,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Processes; with dask, workers, unless --scheduler is given.",
            show_default="all cores",
        ),
    ] = os.cpu_count() or 1,
    executor: CellExecutorOption = "processes",
    scheduler: SchedulerOption = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Result file; cells it holds already are not run again.")
    ] = Path("results.db"),
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """Replay scenarios through selectors and tell what each would have cost.

    Without --aslib, on the scenario that comes with Tailcut: 360 generated formulas, 8 SAT solvers.

    Every cell (scenario, selector, seed) is kept in the result file as soon as it is done. Stop it at any
    time, even with kill -9, and run the same command again: only what is missing is computed.

    A schedule may run several algorithms on an instance, one after the other within the same cutoff; it is
    marked as one, because selectors that pick once cannot do that.
    """
    started = time.perf_counter()
    check_executor(executor, CELLS, scheduler)
    named = _named_plan(plan_name)
    contenders = [Contender.parse(text) for text in selector] if selector else list(named.contenders)
    preferred = None if aslib is None else named.scenarios
    found = scenarios_in(or_bundled(aslib), scenario, preferred, _tell_left_out)
    cells = plan(found, contenders, seeds, penalty, first_seed=first_seed)
    with opened(out) as store:
        store.begin_run(describe_run(shlex.join(["tailcut", *sys.argv[1:]])))
        for _, one in found:
            store.describe_scenario(one.name, describe_scenario(one, penalty))
        try:
            with cell_executor(executor, scheduler, jobs) as place:
                failed = run_cells(cells, store, jobs, place)
        except KeyboardInterrupt:
            sys.stderr.write(f"stopped; what is done is kept in {out}: run the same command again\n")
            raise typer.Exit(130) from None
        rows = summarise(_as_asked(cells, store))
    order = {name: i for i, name in enumerate(dict.fromkeys(contender.label for contender in contenders))}
    rows.sort(key=lambda row: (row["scenario"], order[row["selector"]]))
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        _print(rows, penalty)
        typer.echo(f"{len(cells)} cells in {time.perf_counter() - started:.1f} s; results in {out}")
    if failed:
        raise typer.Exit(1)


def _named_plan(name: str) -> NamedPlan:
    if name not in PLANS:
        raise InputError(f"unknown plan {name!r}; known: {', '.join(PLANS)}")
    return PLANS[name]


def _as_asked(cells: list[Cell], store: Store) -> list[dict[str, Any]]:
    """Return the rows of the cells under the labels asked for, not those first stored under.

    `thompson` and `thompson:sigma=1.0` are the same cell if 1.0 is the default.
    """
    stored = {row["hash"]: row for row in store.rows(cell.hash for cell in cells)}
    return [{**stored[cell.hash], "selector": cell.contender.label} for cell in cells]


def _tell_left_out(reason: str) -> None:
    sys.stderr.write(f"left out: {reason}\n")


def run_cells(cells: list[Cell], store: Store, jobs: int, executor: Executor | None = None) -> int:
    """Run what is missing, with a progress bar on a terminal; return how many cells failed."""
    done = store.done()
    failed: list[tuple[Cell, Result]] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("instances, left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("bench", total=sum(cell.steps for cell in cells))
        progress.advance(task, sum(cell.steps for cell in cells if cell.hash in done))

        def on_cell(cell: Cell, result: Result) -> None:
            progress.advance(task, cell.steps)
            if result.error is not None:
                failed.append((cell, result))

        run(cells, store, jobs=jobs, executor=executor, on_cell=on_cell)
    for cell, result in failed:
        reason = (result.error or "").strip().splitlines()[-1]
        where = f"{cell.scenario}, {cell.contender.label}, seed {cell.seed}"
        sys.stderr.write(f"failed: {where}: {reason}\n")
    return len(failed)


def _print(rows: list[dict[str, Any]], penalty: float) -> None:
    """Print one table per scenario, narrow enough for 80 columns."""
    console = Console(width=None if sys.stdout.isatty() else 100)
    for scenario, group in groupby(rows, key=lambda row: str(row["scenario"])):
        console.print(_table(scenario, list(group), penalty))


def _table(scenario: str, rows: list[dict[str, Any]], penalty: float) -> Table:
    par, seeds = f"PAR{penalty:g}", {row["seeds"] for row in rows}
    counted = " to ".join(str(count) for count in sorted({min(seeds), max(seeds)}))
    title = f"{scenario} ({counted} seeds; {par} in seconds)"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")
    table.add_column("selector", no_wrap=True)
    for heading in (par, "±", f"re{par}", f"n{par}", "unsolved", "µs"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            labelled(row["selector"]),
            _seconds(row["par10_mean"]),
            _seconds(row["par10_std"]),
            _text(row["repar10"]),
            _text(row["npar10"]),
            f"{row['unsolved']:.1%}",
            f"{row['decision_us']:.0f}" if row["decision_us"] else "-",
        )
    return table


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 1e5 else f"{value:.2e}"


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
