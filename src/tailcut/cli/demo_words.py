"""What ``tailcut demo`` says: two tables, and what they mean in plain words."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tailcut.catalogue import labelled
from tailcut.live.costs import StreamCost


def live_table(live: StreamCost, single: list[StreamCost]) -> Table:
    """Return what the live part took, above what each solver alone takes."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    for heading in ("solved", "CPU time, s", "PAR10, s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in [live, *single]:
        style = "bold" if one is live else ""
        table.add_row(
            one.name, f"{one.solved} of {one.count}", f"{one.seconds:.0f}", f"{one.par10:.2f}", style=style
        )
    return table


def live_words(live: StreamCost, single: list[StreamCost]) -> str:
    """Return what was saved, in plain words."""
    solvers = [one for one in single if one.name.startswith("always ")]
    best = min(solvers, key=lambda one: one.par10)
    worst = max(solvers, key=lambda one: one.par10)
    return (
        f"Choosing online solved {live.solved} of {live.count} formulas. The best single solver for them, "
        f"which nobody knows beforehand ({best.name.removeprefix('always ')}), solves {best.solved}; the "
        f"worst ({worst.name.removeprefix('always ')}) {worst.solved}.\n"
        "Times of the single solvers are those of the bundled scenario, measured on its machine. The "
        "families were chosen so that solvers complement each other: on other mixes there is less to save.\n"
    )


def replay_table(rows: list[dict[str, Any]]) -> Table:
    """Return what each selector would have cost, the cheapest first."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("selector", no_wrap=True)
    for heading in ("PAR10, s", "nPAR10", "unsolved"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        values = (f"{row['par10_mean']:.2f}", f"{row['npar10']:.2f}", f"{row['unsolved']:.1%}")
        table.add_row(labelled(row["selector"]), *values)
    return table


def replay_words(rows: list[dict[str, Any]]) -> str:
    """Return what was saved against the best single solver, in plain words."""
    cost = {row["selector"]: float(row["par10_mean"]) for row in rows}
    published = min(cost[name] for name in ("thompson", "thompson_rev", "bj_thompson_rev", "blinducb"))
    return (
        f"Always using the best single solver (sbs) costs {cost['sbs']:.1f} s per formula, unsolved ones "
        f"counted tenfold; tailcut, picking one solver per formula, {cost['tailcut']:.1f} s "
        f"({_saved(cost, 'tailcut')}); "
        f"tailcut_schedule, which may switch within the cutoff, {cost['tailcut_schedule']:.1f} s "
        f"({_saved(cost, 'tailcut_schedule')}); the best published bandit {published:.1f} s.\n"
    )


def _saved(cost: dict[str, float], name: str) -> str:
    saved = 1.0 - cost[name] / cost["sbs"]
    return f"{abs(saved):.0%} {'less' if saved >= 0.0 else 'more'}"
