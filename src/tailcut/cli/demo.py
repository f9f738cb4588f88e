"""``tailcut demo``: real solvers on a generated stream, then what other choices would have cost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from tailcut.bench.labels import labelled
from tailcut.bench.plan import Cell
from tailcut.bench.store import Result
from tailcut.cli.options import stoppable
from tailcut.cli.progress_bars import ProgressBars, called_as, say_failed
from tailcut.cli.views import QuietView, output, plain_table, progress_view
from tailcut.display import counted
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio
from tailcut.report.demo import LIVE, PUBLISHED, DemoProgress, StreamCost, run_demo
from tailcut.scenarios import Scenario, bundled


def command(
    out: Path = typer.Option(
        Path("tailcut-demo"), metavar="DIR", help="Folder for the formulas, the answers and the report."
    ),
    instances: int = typer.Option(
        180, min=1, max=bundled.COUNT, metavar="N", help="Formulas in the live part."
    ),
    seeds: int = typer.Option(5, min=1, help="Orders in which the bundled scenario is replayed."),
    jobs: int = typer.Option(
        os.cpu_count() or 1, min=1, help="Solvers at the same time.", show_default="all cores"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object instead of text."),
) -> None:
    """Show what Tailcut does, in about three minutes: first live, then compared with everything else.

    Generates formulas of nine families, solves them with eight real solvers chosen online, and reports what
    each solver alone took for them when measured. Then replays the bundled scenario, 360 such formulas,
    through our own selectors and the published ones, and leaves a report.
    """
    started = time.perf_counter()
    shown = _Shown(silent=as_json)
    try:
        with stoppable("stopped"):
            found = run_demo(
                out, instances=instances, seeds=seeds, jobs=jobs, command=called_as(), progress=shown
            )
    finally:
        shown.stop()
    if as_json:
        parts = {"live": asdict(found.live), "alone": [asdict(one) for one in found.alone]}
        typer.echo(json.dumps({**parts, "replay": found.replay, "report": str(found.page)}, indent=2))
        return
    shown.say(f"Report: {found.page} ({time.perf_counter() - started:.0f} s in all)")


class _Shown(ProgressBars, DemoProgress):
    """Prints words and tables for people, or nothing when a program reads; bars only while it replays."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__()
        self.silent = silent
        self.console = output()

    def say(self, what: str | Table) -> None:
        if not self.silent:
            self.console.print(what)

    def live_begins(self, count: int, portfolio: Portfolio, cutoff: float) -> None:
        self.say(
            f"[bold]Live[/]: {count} formulas, {len(portfolio.solvers)} solvers, {cutoff:g} s of CPU "
            f"time for each formula, chosen by {labelled(LIVE)}, which starts from scratch."
        )

    def live_view(self) -> AbstractContextManager[StreamObserver]:
        return QuietView() if self.silent else progress_view()

    def live_done(self, live: StreamCost, single: Sequence[StreamCost]) -> None:
        self.say(_live_table(live, single))
        self.say(_live_words(live, single))

    def replay_begins(self, scenario: Scenario, seeds: int) -> None:
        n, k = scenario.runtimes.shape
        self.say(
            f"[bold]Replay[/]: the {n} formulas of {scenario.name} with their {k} measured runtimes each, in "
            f"{counted(seeds, 'order')}; every selector starts from scratch."
        )
        self.start()

    def cell_done(self, cell: Cell, result: Result) -> None:
        """Say which cell failed: its selector is then missing from what is shown."""
        super().cell_done(cell, result)
        if result.error is not None:
            say_failed(cell, result)

    def replay_done(self, rows: Sequence[dict[str, Any]]) -> None:
        self.stop()
        self.say(_replay_table(rows))
        self.say(_replay_words(rows))
        self.start()  # the report follows


def _live_table(live: StreamCost, single: Sequence[StreamCost]) -> Table:
    """Return what the live part took, above what each solver alone takes."""
    table = plain_table("", "solved", "CPU time, s", "PAR10, s")
    for one in [live, *single]:
        style = "bold" if one is live else ""
        table.add_row(
            one.name, f"{one.solved} of {one.count}", f"{one.seconds:.0f}", f"{one.par10:.2f}", style=style
        )
    return table


def _live_words(live: StreamCost, single: Sequence[StreamCost]) -> str:
    """Return what was saved, in plain words."""
    solvers = [one for one in single if one.name.startswith("always ")]
    best = min(solvers, key=lambda one: one.par10)
    worst = max(solvers, key=lambda one: one.par10)
    return (
        f"Choosing online solved {live.solved} of {live.count} formulas. The best single solver for them, "
        f"which is known only in hindsight ({best.name.removeprefix('always ')}), solves {best.solved}; the "
        f"worst ({worst.name.removeprefix('always ')}) {worst.solved}.\n"
        "Times of the single solvers are those of the bundled scenario, measured on its machine. The "
        "families were chosen so that solvers complement each other: on other mixes there is less to save.\n"
    )


def _replay_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return what each selector would have cost, the cheapest first."""
    table = plain_table("selector", "PAR10, s", "nPAR10", "unsolved")
    for row in rows:
        values = (f"{row['par10_mean']:.2f}", f"{row['npar10']:.2f}", f"{row['unsolved']:.1%}")
        table.add_row(labelled(row["selector"]), *values)
    return table


def _replay_words(rows: Sequence[dict[str, Any]]) -> str:
    """Return what was saved against the best single solver, in plain words."""
    cost = {row["selector"]: float(row["par10_mean"]) for row in rows}
    published = min(cost[name] for name in PUBLISHED)
    return (
        f"Always using the best single solver (sbs) costs {cost['sbs']:.1f} s per formula, unsolved ones "
        f"counted tenfold; tailcut, picking one solver per formula, {cost['tailcut']:.1f} s "
        f"({_saved(cost, 'tailcut')}); "
        f"tailcut_schedule, which may switch within the cutoff, {cost['tailcut_schedule']:.1f} s "
        f"({_saved(cost, 'tailcut_schedule')}); the best published approach {published:.1f} s.\n"
    )


def _saved(cost: dict[str, float], name: str) -> str:
    saved = 1.0 - cost[name] / cost["sbs"]
    return f"{abs(saved):.0%} {'less' if saved >= 0.0 else 'more'}"
