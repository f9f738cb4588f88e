"""What ``tailcut bench`` prints for people: a table per scenario."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tailcut.bench.labels import labelled


def print_tables(rows: list[dict[str, Any]], penalty: float, missing: Mapping[str, str]) -> None:
    """Print one table per scenario, narrow enough for 80 columns; below it, who could not run and why."""
    console = Console(width=None if sys.stdout.isatty() else 100)
    for scenario, group in groupby(rows, key=lambda row: str(row["scenario"])):
        console.print(_table(scenario, list(group), penalty))
        for label, reason in missing.items():
            console.print(f"{labelled(label)} {reason}", markup=False, highlight=False)


def print_quality(rows: list[dict[str, Any]], missing: Mapping[str, str]) -> None:
    """Print one table of losses per scenario of solution quality."""
    console = Console(width=None if sys.stdout.isatty() else 100)
    for scenario, group in groupby(rows, key=lambda row: str(row["scenario"])):
        listed = list(group)
        title = f"{scenario} ({listed[0]['seeds']} seeds; loss by {listed[0]['measure']}, from 0 to 1)"
        table = _titled(title)
        for heading in ("loss", "±", "nloss", "µs"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in listed:
            took = f"{row['decision_us']:.0f}" if row["decision_us"] else "-"
            losses = f"{row['loss_mean']:.4f}", f"{row['loss_std']:.4f}"
            table.add_row(row["selector"], *losses, _text(row["nloss"]), took)
        console.print(table)
        for label, reason in missing.items():
            console.print(f"{labelled(label)} {reason}", markup=False, highlight=False)


def _table(scenario: str, rows: list[dict[str, Any]], penalty: float) -> Table:
    par, seeds = f"PAR{penalty:g}", {row["seeds"] for row in rows}
    counted = " to ".join(str(count) for count in sorted({min(seeds), max(seeds)}))
    title = f"{scenario} ({counted} seeds; {par} in seconds)"
    table = _titled(title)
    trained = any(row["npar10_train"] is not None for row in rows)
    raced = any("cores=" in row["selector"] for row in rows)
    extra = any(row["extra_cpu"] for row in rows)
    headings = [par, "±", f"re{par}", f"n{par}", *["train"] * trained, "unsolved", "µs"]
    for heading in [*headings, *["CPU s"] * raced, *["extra CPU"] * extra]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            labelled(row["selector"]),
            _seconds(row["par10_mean"]),
            _seconds(row["par10_std"]),
            _text(row["repar10"]),
            _text(row["npar10"]),
            *[_text(row["npar10_train"])] * trained,
            f"{row['unsolved']:.1%}",
            f"{row['decision_us']:.0f}" if row["decision_us"] else "-",
            *[_seconds(row["cpu_seconds"])] * raced,
            *[f"{row['extra_cpu']:.1%}"] * extra,
        )
    return table


def _titled(title: str) -> Table:
    """Return a table with a column of selectors."""
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")
    table.add_column("selector", overflow="fold")  # a label may be long: it wraps, and numbers do not
    return table


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 1e5 else f"{value:.2e}"


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
