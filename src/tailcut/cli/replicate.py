"""``tailcut replicate``: the published PAR10 table, run again and compared cell by cell."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table as Printed

from tailcut.cli.aslib_folder import AslibOption, existing
from tailcut.errors import InputError
from tailcut.replication.approaches import APPROACHES
from tailcut.replication.compare import VERDICTS, Comparison
from tailcut.replication.published import scenarios
from tailcut.replication.run import replicate
from tailcut.replication.table import Table, table_of
from tailcut.scenarios import Scenario


def read_table(folder: Path) -> Table:
    """Return the ASlib scenario in `folder` as the published experiment saw it."""
    return table_of(Scenario.read(folder))


def found(folder: Path, wanted: list[str]) -> list[str]:
    """Return which scenarios to run: those wanted, or all published ones that the folder has."""
    published = scenarios()
    for name in wanted:
        if name not in published:
            raise InputError(
                f"--scenario {name}: not in the published table, which has {', '.join(published)}"
            )
        if not (folder / name).is_dir():
            raise InputError(f"--scenario {name}: no folder of that name in {folder}")
    present = wanted or [name for name in published if (folder / name).is_dir()]
    if not present:
        raise InputError(f"--aslib {folder}: none of the published scenarios is in it, e.g. {published[0]}")
    return list(dict.fromkeys(present))


def chosen(wanted: list[str]) -> list[str]:
    """Return which approaches to run: those wanted, or all."""
    for name in wanted:
        if name not in APPROACHES:
            raise InputError(
                f"--approach {name}: not in the published table, which has {', '.join(APPROACHES)}"
            )
    return list(dict.fromkeys(wanted)) or list(APPROACHES)


def command(
    aslib: AslibOption = None,
    scenario: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run this scenario only; may be repeated.")
    ] = None,
    approach: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run this approach only; may be repeated.")
    ] = None,
    seeds: int = typer.Option(10, min=2, help="Seeds 1 to N; the published table has 10."),
    jobs: int = typer.Option(os.cpu_count() or 1, min=1, help="Processes.", show_default="all cores"),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON list instead of a table."),
) -> None:
    """Run the published PAR10 table again and compare it cell by cell.

    Each cell gets a verdict: exact (mean and deviation to the printed digits), in_distribution (the means
    differ by less than 3.5 standard errors), or differs. Deterministic given data, seeds and libraries.
    """
    folder = existing(aslib)
    names = found(folder, scenario or [])
    approaches = chosen(approach or [])
    silent = not sys.stderr.isatty()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), disable=silent, transient=True) as progress:
        task = progress.add_task("reading", total=len(names))
        tables: dict[str, Table] = {}
        for name in names:
            tables[name] = read_table(folder / name)
            progress.advance(task)
        task = progress.add_task("cells", total=len(names) * len(approaches))
        rows = replicate(
            tables,
            approaches,
            seeds=range(1, seeds + 1),
            jobs=jobs,
            on_done=lambda _: progress.advance(task),
        )
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _print(rows)


def _print(rows: list[Comparison]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 110)
    for scenario, cells in groupby(rows, key=lambda row: row.scenario):
        console.print(_table(scenario, cells))
    notes = Counter((row.verdict, row.note) for row in rows if row.note)
    for (verdict, note), count in sorted(notes.items()):
        console.print(f"{verdict} ({count}): {note}")
    counts = Counter(row.verdict for row in rows)
    console.print(f"{len(rows)} cells: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))


def _table(scenario: str, rows: Iterable[Comparison]) -> Printed:
    table = Printed(title=scenario, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("approach", no_wrap=True)
    for heading in ("ours", "published", "z"):
        table.add_column(heading, justify="right")
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        ours = f"{_short(row.ours_mean)} ± {_short(row.ours_std)}"
        published = f"{_short(row.published_mean)} ± {_short(row.published_std)}"
        z = "" if row.verdict == "exact" else f"{row.z:.2f}"
        table.add_row(row.approach, ours, published, z, row.verdict)
    return table


def _short(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 1e6 else f"{seconds:.2e}"
