"""``tailcut demo``: real solvers on a generated stream, then what other choices would have cost."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tailcut.bench.labels import labelled
from tailcut.bench.plan import Cell
from tailcut.bench.store import Result
from tailcut.cli.progress_bars import ProgressBars, called_as, say_failed
from tailcut.cli.run_view import QuietView, progress_view
from tailcut.cli.stopping import terminable
from tailcut.display import counted
from tailcut.live.costs import StreamCost
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio
from tailcut.report.demo import LIVE, PUBLISHED, DemoProgress, run_demo
from tailcut.scenarios import Scenario, bundled


def command(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the formulas, the answers and the report.")
    ] = Path("tailcut-demo"),
    instances: Annotated[
        int, typer.Option(min=1, max=bundled.COUNT, metavar="N", help="Formulas in the live part.")
    ] = 180,
    seeds: Annotated[int, typer.Option(min=1, help="Orders in which the bundled scenario is replayed.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Solvers at the same time.", show_default="all cores")] = (
        os.cpu_count() or 1
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of text.")] = False,
) -> None:
    """Show what Tailcut does, in about three minutes: first live, then compared with everything else.

    Generates formulas of nine families, solves them with eight real solvers chosen online, and reports what
    each solver alone took for them when measured. Then replays the bundled scenario, 360 such formulas,
    through our own selectors and the published ones, and leaves a report.
    """
    started = time.perf_counter()
    shown = _Shown(silent=as_json)
    try:
        with terminable():
            found = run_demo(
                out,
                instances=instances,
                seeds=seeds,
                jobs=jobs,
                command=called_as(),
                progress=shown,
            )
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        raise typer.Exit(130) from None
    finally:
        shown.stop()
    if as_json:
        parts = {"live": found.live.as_dict(), "alone": [one.as_dict() for one in found.alone]}
        typer.echo(json.dumps({**parts, "replay": found.replay, "report": str(found.page)}, indent=2))
        return
    shown.say(f"Report: {found.page} ({time.perf_counter() - started:.0f} s in all)")


class _Shown(ProgressBars, DemoProgress):
    """Prints words and tables for people, or nothing when a program reads; bars only while it replays."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__()
        self.silent = silent
        self.console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)

    def say(self, what: str | Table) -> None:
        """Print it, unless a program reads."""
        if not self.silent:
            self.console.print(what)

    def live_begins(self, count: int, portfolio: Portfolio, cutoff: float) -> None:
        """Say what will be solved live."""
        self.say(
            f"[bold]Live[/]: {count} formulas, {len(portfolio.solvers)} solvers, {cutoff:g} s of CPU "
            f"time for each formula, chosen by {labelled(LIVE)}, which starts from scratch."
        )

    def live_view(self) -> AbstractContextManager[StreamObserver]:
        """Show the stream as it is served."""
        return QuietView() if self.silent else progress_view()

    def live_done(self, live: StreamCost, single: Sequence[StreamCost]) -> None:
        """Show what it took."""
        self.say(_live_table(live, single))
        self.say(_live_words(live, single))

    def replay_begins(self, scenario: Scenario, seeds: int) -> None:
        """Say what will be replayed."""
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
        """Show what each selector would have cost."""
        self.stop()
        self.say(_replay_table(rows))
        self.say(_replay_words(rows))
        self.start()  # the report follows


def _live_table(live: StreamCost, single: Sequence[StreamCost]) -> Table:
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
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("selector", no_wrap=True)
    for heading in ("PAR10, s", "nPAR10", "unsolved"):
        table.add_column(heading, justify="right", no_wrap=True)
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
