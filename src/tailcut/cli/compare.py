"""``tailcut compare``: ranks and statistics over the scenarios of a result file; choosing settings."""

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

from tailcut.bench.leave_out import choices
from tailcut.bench.ranks import compare_summary
from tailcut.bench.store import opened
from tailcut.bench.summary import summarise
from tailcut.catalogue import labelled
from tailcut.cli.leave_out import show
from tailcut.errors import InputError
from tailcut.report.results import load


def command(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Result file of `tailcut bench`.")],
    selector: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare only this one; repeat for more. Without: all."),
    ] = None,
    leave_out: Annotated[
        bool,
        typer.Option(
            "--leave-out",
            help="Choose between the settings of each selector instead, leaving scenarios out.",
        ),
    ] = False,
    alpha: Annotated[float, typer.Option(min=0.0001, max=0.5, help="Level of significance.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare the selectors of a result file over its scenarios, by mean PAR10.

    The hindsight lines know every runtime and do not compete, unless named. Schedules may run several
    algorithms on an instance, so they compete in a group of their own; name them together with others to
    rank all in one group.

    Average ranks (1 is best), wins, the Friedman test of whether they differ at all, and the difference of
    average ranks from which two of them differ (Nemenyi).

    With --leave-out, hyperparameters are chosen: each scenario, and each family of them, is left out in turn
    and scored with the setting of the selector that has the lowest mean nPAR10 on all others. All
    settings must have been run on the same scenarios and seeds, as `tailcut bench --plan settings` does.
    """
    with opened(results, read_only=True) as store:
        found = load(store)
    cells = [asdict(cell) for cell in found.cells]
    if leave_out:
        show(choices(cells, selector), found.par, as_json=as_json)
        return
    rows = summarise(cells)
    groups = [_ranked(group, alpha) for group in _groups(rows, selector)]
    if as_json:
        main, *others = groups
        typer.echo(json.dumps({**main, "schedules": others[0] if others else None}, indent=2))
        return
    for group in groups:
        _print(group)
    left_out = dict.fromkeys(name for group in groups for name in group["left_out"])
    if left_out:
        sys.stderr.write(f"left out, not run with every selector: {', '.join(left_out)}\n")


def _groups(rows: list[dict[str, Any]], names: list[str] | None) -> list[list[dict[str, Any]]]:
    """Return the rows of the selectors named; else of those that pick once and, if two or more, of schedules.

    A single schedule has nobody to be ranked among.
    """
    present = list(dict.fromkeys(row["selector"] for row in rows))
    unknown = [name for name in names or () if name not in present]
    if unknown:
        raise InputError(f"--selector {', '.join(unknown)}: no results; there are: {', '.join(present)}")
    if names:
        return [[row for row in rows if row["selector"] in names]]
    picks, schedules = ([row for row in rows if row["kind"] == kind] for kind in ("one pick", "schedule"))
    several = len({row["selector"] for row in schedules}) > 1
    return [group for group in (picks, schedules if several else []) if group] or [picks]


def _ranked(rows: list[dict[str, Any]], alpha: float) -> dict[str, Any]:
    """Return the comparison of one group as plain values."""
    comparison, left_out = compare_summary(rows, alpha)
    means = {
        name: float(
            np.mean([row["npar10"] for row in rows if row["selector"] == name and row["npar10"] is not None])
        )
        for name in comparison.selectors
    }
    kinds = {row["selector"]: row["kind"] for row in rows}
    return {**asdict(comparison), "mean_npar10": means, "kinds": kinds, "left_out": left_out}


def _print(group: dict[str, Any]) -> None:
    kinds = set(group["kinds"].values())
    table = Table(
        title=f"{len(group['scenarios'])} scenarios" + (", schedules" if kinds == {"schedule"} else "")
    )
    table.add_column("selector", no_wrap=True)
    for heading in ("average rank", "wins", "mean nPAR10"):
        table.add_column(heading, justify="right")
    for name, rank, wins in zip(group["selectors"], group["average_ranks"], group["wins"], strict=True):
        table.add_row(labelled(name), f"{rank:.2f}", str(wins), f"{group['mean_npar10'][name]:.2f}")
    Console().print(table)
    typer.echo(
        f"Friedman: chi2 = {group['friedman_chi2']:.2f}, p = {group['friedman_p']:.3g}. "
        f"Nemenyi: ranks that differ by more than {group['critical_difference']:.2f} "
        f"differ at the level {group['alpha']:g}."
    )
