"""``tailcut compare``: ranks and statistics over the scenarios of a result file."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from tailcut.bench.ranks import Comparison, compare_summary
from tailcut.bench.store import opened
from tailcut.bench.summary import summarise
from tailcut.errors import InputError
from tailcut.hindsight import LINES
from tailcut.report.results import load


def command(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Result file of `tailcut bench`.")],
    selector: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare only this one; repeat for more. Without: all."),
    ] = None,
    alpha: Annotated[float, typer.Option(min=0.0001, max=0.5, help="Level of significance.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of a table.")] = False,
) -> None:
    """Compare the selectors of a result file over its scenarios, by mean PAR10.

    The hindsight lines know every runtime and do not compete, unless named.

    Average ranks (1 is best), wins, the Friedman test of whether they differ at all, and the difference of
    average ranks from which two of them differ (Nemenyi).
    """
    with opened(results, read_only=True) as store:
        rows = summarise(asdict(cell) for cell in load(store).cells)
    rows = _wanted(rows, selector)
    comparison, left_out = compare_summary(rows, alpha)
    means = {
        name: float(
            np.mean([row["npar10"] for row in rows if row["selector"] == name and row["npar10"] is not None])
        )
        for name in comparison.selectors
    }
    if as_json:
        typer.echo(json.dumps({**asdict(comparison), "mean_npar10": means, "left_out": left_out}, indent=2))
        return
    _print(comparison, means)
    if left_out:
        sys.stderr.write(f"left out, not run with every selector: {', '.join(left_out)}\n")


def _wanted(rows: list[dict[str, Any]], names: list[str] | None) -> list[dict[str, Any]]:
    """Return the rows of the selectors named, or of all that compete."""
    present = list(dict.fromkeys(row["selector"] for row in rows))
    unknown = [name for name in names or () if name not in present]
    if unknown:
        raise InputError(f"--selector {', '.join(unknown)}: no results; there are: {', '.join(present)}")
    return [row for row in rows if (row["selector"] in names if names else row["selector"] not in LINES)]


def _print(comparison: Comparison, means: dict[str, float]) -> None:
    table = Table(title=f"{len(comparison.scenarios)} scenarios")
    table.add_column("selector", no_wrap=True)
    for heading in ("average rank", "wins", "mean nPAR10"):
        table.add_column(heading, justify="right")
    for name, rank, wins in zip(comparison.selectors, comparison.average_ranks, comparison.wins, strict=True):
        table.add_row(name, f"{rank:.2f}", str(wins), f"{means[name]:.2f}")
    Console().print(table)
    typer.echo(
        f"Friedman: chi2 = {comparison.friedman_chi2:.2f}, p = {comparison.friedman_p:.3g}. "
        f"Nemenyi: ranks that differ by more than {comparison.critical_difference:.2f} "
        f"differ at the level {comparison.alpha:g}."
    )
