"""``tailcut replicate``: the published PAR10 table, run again and compared cell by cell."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from tailcut.cli.options import ASLIB, JSON, existing
from tailcut.cli.progress_bars import ProgressBars
from tailcut.cli.views import output, plain_table
from tailcut.replication.published import VERDICTS, ReplicatedCell, replicate_folder


def command(
    aslib: Path | None = ASLIB,
    scenario: list[str] | None = typer.Option(None, metavar="NAME"),
    approach: list[str] | None = typer.Option(None, metavar="NAME"),
    seeds: int = typer.Option(10, min=2),
    jobs: int = typer.Option(os.cpu_count() or 1, min=1, show_default="all cores"),
    as_json: JSON = False,
) -> None:
    """Run the published PAR10 table again and compare it cell by cell.

    Each cell gets a verdict: exact (mean and deviation to the printed digits), in_distribution (the means
    differ by less than 3.5 standard errors), or differs. Deterministic given data, seeds and libraries.
    """
    folder = existing(aslib)
    run: dict[str, Any] = {"seeds": range(1, seeds + 1), "jobs": jobs}
    with ProgressBars() as bars:
        rows = replicate_folder(folder, scenario or (), approach or (), progress=bars.proceeded, **run)
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    console = output(110)
    for name, cells in groupby(rows, key=lambda row: row.scenario):
        console.print(_table(name, cells))
    notes = Counter((row.verdict, row.note) for row in rows if row.note)
    for (verdict, note), count in sorted(notes.items()):
        console.print(f"{verdict} ({count}): {note}")
    counts = Counter(row.verdict for row in rows)
    console.print(f"{len(rows)} cells: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))


def _table(scenario: str, rows: Iterable[ReplicatedCell]) -> Table:
    table = plain_table("approach", "ours", "published", "z", "verdict", title=scenario)
    for row in rows:
        ours = f"{_short(row.ours_mean)} ± {_short(row.ours_std)}"
        published = f"{_short(row.published_mean)} ± {_short(row.published_std)}"
        z = "" if row.verdict == "exact" else f"{row.z:.2f}"
        table.add_row(row.approach, ours, published, z, row.verdict)
    return table


def _short(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 1e6 else f"{seconds:.2e}"
