"""``tailcut bench``: selectors on scenarios, over seeds, resumable."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

from tailcut.bench.labels import BenchProtocol, Conditions
from tailcut.bench.sweeps import PLANS
from tailcut.cli import options
from tailcut.display import counted

_PLANS = "; ".join(f"{name}: {named.summary}" for name, named in PLANS.items()) + "."


def command(
    aslib: Path | None = options.ASLIB,
    scenario: list[str] | None = typer.Option(None, metavar="NAME"),
    selector: list[str] | None = typer.Option(None, metavar="NAME[:key=value,...][@CONDITION,...]"),
    modules: list[str] | None = options.MODULES,
    plan_name: str = typer.Option("default", "--plan", metavar="NAME", help=_PLANS),
    seeds: int = typer.Option(10, min=1),
    first_seed: int = typer.Option(0, min=0, metavar="N"),
    penalty: float = typer.Option(10.0, min=1.0),
    measure_first: int = typer.Option(0, min=0, metavar="M"),
    measure_cutoff: float = typer.Option(1.0, max=1.0, metavar="SHARE"),
    protocol: BenchProtocol = typer.Option(BenchProtocol.STREAM),
    folds: int = typer.Option(0, min=0, metavar="N"),
    learn_on: bool = typer.Option(False, "--learn-on"),
    cores: int = typer.Option(1, min=1, metavar="K"),
    jobs: int = typer.Option(os.cpu_count() or 1, min=1, show_default="all cores"),
    executor: str = typer.Option("processes", metavar="NAME"),
    scheduler: str | None = typer.Option(None, metavar="ADDRESS"),
    out: Path = typer.Option(Path("results.db"), metavar="FILE"),
    as_json: options.JSON = False,
) -> None:
    """Replay scenarios through selectors and report what each would have cost.

    Without --aslib, on the scenario that comes with Tailcut: 360 generated formulas, 8 SAT solvers.

    Every cell (scenario, selector, seed) is kept in the result file as soon as it is computed. Stop it at any
    time, even with kill -9, and run the same command again: only what is missing is computed.

    A schedule may run several algorithms on an instance, one after the other within the same cutoff; it is
    marked as one, because selectors that pick once cannot do that.

    A scenario of solution quality runs only if you name it, with the selectors that can minimise a loss.
    It has its own table: mean losses, normalised between the best of each instance (0) and the single best
    algorithm (1).

    Extra runs (--measure-first) cost nothing in PARk. Their time is shown in a separate column,
    as a share of the answers' CPU time.
    """
    from tailcut.bench.benchmark import benchmark, run_quality
    from tailcut.bench.plan import Contender
    from tailcut.cli.progress_bars import ProgressBars, called_as
    from tailcut.scenarios.aslib_reader import quality_names

    started = time.perf_counter()
    options.check_executor(executor, options.CELLS, scheduler)
    options.import_with_folder(modules or ())
    folder = options.or_bundled(aslib, scenario or ())
    rated = quality_names(folder, scenario or ())
    plan: dict[str, Any] = {
        "contenders": [Contender.parse_label(text) for text in selector or ()] or None,
        "plan_name": plan_name,
        "seeds": seeds,
        "first_seed": first_seed,
        "conditions": Conditions(
            measure_first=measure_first,
            measure_cutoff=measure_cutoff,
            cv=protocol is BenchProtocol.CV,
            cores=cores,
            learn_on=learn_on,
        ),
        "folds": folds,
    }
    rated_rows: list[dict[str, Any]] = []
    if rated:
        quality = run_quality(folder, rated, out, **plan, command=called_as())
        rated_rows = quality.rows
        if not as_json:
            _print_tables(rated_rows, quality.missing, _losses)
        if len(rated) == len(set(scenario or ())):
            if as_json:
                typer.echo(json.dumps(rated_rows, indent=2))
            return
    bars = ProgressBars()
    planned = benchmark(
        folder,
        scenarios=None if scenario is None else [name for name in scenario if name not in rated],
        **plan,
        whole_folder=aslib is None,
        penalty=penalty,
        progress=bars,
    )
    with (
        options.stoppable(f"stopped; completed work is kept in {out}: run the same command again"),
        options.cell_executor(executor, scheduler, jobs, modules or ()) as place,
        bars,
    ):
        outcome = planned.run(out, executor=place, command=called_as(), progress=bars)
    if as_json:
        typer.echo(json.dumps([*outcome.rows, *rated_rows], indent=2))
        for label, reason in outcome.missing.items():
            sys.stderr.write(f"left out: {label} {reason}\n")
    else:
        _print_tables(outcome.rows, outcome.missing, lambda rows: _runtimes(rows, f"PAR{penalty:g}"))
        took = time.perf_counter() - started
        typer.echo(f"{counted(len(planned.cells), 'cell')} in {took:.1f} s; results in {out}")
    if outcome.failed:
        raise typer.Exit(1)


_Row = dict[str, Any]
_Columns = dict[str, Callable[[_Row], str]]
"""The text of each column by its heading."""


def _print_tables(
    rows: list[_Row], missing: Mapping[str, str], layout: Callable[[list[_Row]], tuple[str, _Columns]]
) -> None:
    """Print one table per scenario, narrow enough for 80 columns; below it, who could not run and why."""
    from tailcut.bench.labels import labelled
    from tailcut.cli.views import output, plain_table

    console = output()
    for scenario, group in groupby(rows, key=lambda row: str(row["scenario"])):
        listed = list(group)
        title, columns = layout(listed)
        table = plain_table("selector", *columns, title=f"{scenario} ({title})")
        for row in listed:
            table.add_row(labelled(row["selector"]), *(text(row) for text in columns.values()))
        console.print(table)
        for label, reason in missing.items():
            console.print(f"{labelled(label)} {reason}", markup=False)


def _losses(rows: list[_Row]) -> tuple[str, _Columns]:
    return f"{rows[0]['seeds']} seeds; loss by {rows[0]['measure']}, from 0 to 1", {
        "loss": lambda row: f"{row['loss_mean']:.4f}",
        "±": lambda row: f"{row['loss_std']:.4f}",
        "nloss": lambda row: _ratio(row["nloss"]),
        "µs": _microseconds,
    }


def _runtimes(rows: list[_Row], par: str) -> tuple[str, _Columns]:
    seeds, name = {row["seeds"] for row in rows}, par.lower()
    columns: _Columns = {
        par: lambda row: _seconds(row[f"{name}_mean"]),
        "±": lambda row: _seconds(row[f"{name}_std"]),
        f"re{par}": lambda row: _ratio(row[f"re{name}"]),
        f"n{par}": lambda row: _ratio(row[f"n{name}"]),
    }
    if any(row[f"n{name}_train"] is not None for row in rows):
        columns["train"] = lambda row: _ratio(row[f"n{name}_train"])
    columns |= {"unsolved": lambda row: f"{row['unsolved']:.1%}", "µs": _microseconds}
    if any("cores=" in row["selector"] for row in rows):
        columns["CPU s"] = lambda row: _seconds(row["cpu_seconds"])
    if any(row["extra_cpu"] for row in rows):
        columns["extra CPU"] = lambda row: f"{row['extra_cpu']:.1%}"
    count = " to ".join(str(count) for count in sorted({min(seeds), max(seeds)}))
    return f"{count} seeds; {par} in seconds", columns


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 1e5 else f"{value:.2e}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _microseconds(row: _Row) -> str:
    return f"{row['decision_us']:.0f}" if row["decision_us"] else "-"
