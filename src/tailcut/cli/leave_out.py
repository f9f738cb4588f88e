"""``tailcut compare --leave-out``: which settings to take, and what that is worth on other scenarios."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tailcut.bench.leave_out import Choice, Difference, LeftOut


def show(found: list[Choice], par: str, *, as_json: bool) -> None:
    """Print the choices, each as a table and what was chosen, or as one JSON list."""
    if as_json:
        typer.echo(json.dumps([asdict(choice) for choice in found], indent=2))
        return
    console = Console(width=None if sys.stdout.isatty() else 100)
    for choice in found:
        console.print(_table(choice, par))
        for what, left_out in (("scenario", choice.by_scenario), ("family", choice.by_family)):
            if left_out is not None:
                typer.echo(_told(what, left_out))
        if choice.without_gap:
            sys.stderr.write(f"left out, nothing to normalise by: {', '.join(choice.without_gap)}\n")


def _table(choice: Choice, par: str) -> Table:
    title = f"{choice.selector}: {len(choice.scenarios)} scenarios, {choice.seeds} seeds"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")
    table.add_column("setting", no_wrap=True)
    for heading in (f"mean n{par}", "difference", "± seeds", "± scenarios", "better on"):
        table.add_column(heading, justify="right", no_wrap=True)
    default, *others = choice.settings
    table.add_row("default", f"{default.npar:.3f}", end_section=True)
    for one in sorted(others, key=lambda one: one.npar):
        table.add_row(one.setting.partition(":")[2], f"{one.npar:.3f}", *_cells(one.difference))
    table.add_section()
    best = choice.best
    table.add_row("best on all (optimistic)", f"{best.npar:.3f}", *_cells(best.difference))
    for what, left_out in (("scenario", choice.by_scenario), ("family", choice.by_family)):
        if left_out is not None:
            table.add_row(f"leaving out one {what}", f"{left_out.npar:.3f}", *_cells(left_out.difference))
    return table


def _cells(difference: Difference) -> tuple[str, str, str, str]:
    seeds = "-" if difference.seed_error is None else f"{difference.seed_error:.3f}"
    return f"{difference.mean:+.3f}", seeds, f"{difference.scenario_error:.3f}", str(difference.better_on)


def _told(what: str, left_out: LeftOut) -> str:
    """Say how often each setting was chosen.

    >>> least = Difference(0.0, None, 0.0, 0)
    >>> _told("family", LeftOut(1.0, least, {"SAT": "x", "QBF": "x:k=2", "CSP": "x"}))
    'Chosen when leaving out one family: default 2, k=2 1 (without QBF).'
    """
    counts = Counter(left_out.chosen.values())
    usual = counts.most_common(1)[0][0]
    parts = []
    for setting, count in counts.most_common():
        without = [group for group, label in left_out.chosen.items() if label == setting]
        where = "" if setting == usual else f" (without {', '.join(without)})"
        parts.append(f"{setting.partition(':')[2] or 'default'} {count}{where}")
    return f"Chosen when leaving out one {what}: {', '.join(parts)}."
