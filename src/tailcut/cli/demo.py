"""``tailcut demo``: real solvers on a generated stream, then what other choices would have cost."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tailcut.bench.plan import Contender, plan
from tailcut.bench.store import opened
from tailcut.bench.summary import summarise
from tailcut.catalogue import labelled
from tailcut.cli.bench import run_cells
from tailcut.cli.demo_words import live_table, live_words, replay_table, replay_words
from tailcut.cli.report import practice_page
from tailcut.cli.run_view import QuietView, progress_view
from tailcut.cli.stopping import terminable
from tailcut.domains.sat.cnf import write
from tailcut.domains.sat.generators import generate
from tailcut.domains.sat.generators import plan as formulas
from tailcut.errors import InputError
from tailcut.journal import Journal
from tailcut.live.costs import StreamCost, cost_of_stream, costs_of_single_solvers
from tailcut.live.instances import Instance
from tailcut.live.portfolio import read_portfolio
from tailcut.live.stream import StreamSettings, run_stream
from tailcut.scenarios import Scenario, bundled

LIVE = "tailcut_schedule"
"""What chooses in the live part."""
SHOWN = (
    *("tailcut", "tailcut_schedule", "bounded_thompson"),
    *("thompson", "thompson_rev", "bj_thompson_rev", "blinducb", "degroote_epsilon_greedy_lr"),
    *("random", "round_robin", "sbs", "sbs_schedule", "oracle"),
)
"""Replayed: our own, published ones, chance, and the lines in hindsight."""


def command(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the formulas, the answers and the report.")
    ] = Path("tailcut-demo"),
    instances: Annotated[
        int, typer.Option(min=1, max=bundled.COUNT, metavar="N", help="Formulas in the live part.")
    ] = 90,
    seeds: Annotated[int, typer.Option(min=1, help="Orders in which the bundled scenario is replayed.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Solvers at the same time.", show_default="all cores")] = (
        os.cpu_count() or 1
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of words.")] = False,
) -> None:
    """Show what Tailcut does, in about three minutes: live first, then against everything else.

    Generates formulas of nine families, solves them with eight real solvers chosen online, and tells what
    each solver alone took for them when they were measured. Then replays the bundled scenario, 360 such
    formulas, through our own selectors and the published ones, and leaves a report.
    """
    started = time.perf_counter()
    say = _Voice(as_json)
    try:
        with terminable():
            live, single = _live(out, instances, jobs, say)
            rows = _replayed(out, seeds, jobs, say)
            page = practice_page(
                bundled.SCENARIO, out / "results.db", out / "report", ["svg"], list(_choosing()), seeds, jobs
            )
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        raise typer.Exit(130) from None
    if as_json:
        told = {"live": live.as_dict(), "alone": [one.as_dict() for one in single], "replay": rows}
        typer.echo(json.dumps({**told, "report": str(page)}, indent=2))
        return
    say(f"Report: {page} ({time.perf_counter() - started:.0f} s in all)")


class _Voice:
    """Prints words for people, or nothing when a program reads."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)

    def __call__(self, what: str | Table) -> None:
        if not self.silent:
            self.console.print(what)


def _choosing() -> tuple[str, ...]:
    return tuple(name for name in SHOWN if name not in ("sbs", "oracle"))


def _live(out: Path, count: int, jobs: int, say: _Voice) -> tuple[StreamCost, list[StreamCost]]:
    """Solve the first formulas of the bundled scenario's stream; return what it took, and others."""
    scenario = Scenario.read(bundled.SCENARIO)
    portfolio = read_portfolio(Path(bundled.__file__).parents[1] / "domains" / "sat" / "portfolio.toml")
    say(
        f"[bold]Live[/]: {count} formulas, {len(portfolio.solvers)} solvers, {scenario.cutoff:g} s of CPU "
        f"time for each formula, chosen by {labelled(LIVE)}, which knows nothing yet."
    )
    given = _written(out / "formulas", count)
    for old in out.glob("live.*"):
        old.unlink()
    settings = StreamSettings(LIVE, scenario.cutoff)
    with Journal(out / "live.db") as journal, QuietView() if say.silent else progress_view() as view:
        run_stream(journal, portfolio, settings, given, out / "live.jsonl", jobs=jobs, observer=view)
    with Journal(out / "live.db", read_only=True) as journal:
        live = cost_of_stream(journal, scenario.cutoff)
    single = costs_of_single_solvers(scenario, [instance.name for instance in given])
    say(live_table(live, single))
    say(live_words(live, single))
    return live, single


def _written(folder: Path, count: int) -> list[Instance]:
    """Write the first formulas of the stream and return them in its order."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder.parent}: cannot be written into: {error.strerror}") from None
    found = []
    for name, family, seed in formulas(bundled.COUNT, bundled.SEED)[:count]:
        path = folder / f"{name}.cnf"
        if not path.exists():
            write(path, generate(family, seed))
        found.append(Instance(path.name, path.absolute()))
    return found


def _replayed(out: Path, seeds: int, jobs: int, say: _Voice) -> list[dict[str, Any]]:
    """Replay the bundled scenario through all selectors shown; tell what each would have cost."""
    scenario = Scenario.read(bundled.SCENARIO)
    n, k = scenario.runtimes.shape
    say(
        f"[bold]Replay[/]: the {n} formulas of {scenario.name} with their {k} measured runtimes each, in "
        f"{seeds} orders; nobody knows anything at the start."
    )
    contenders = [Contender.parse(name) for name in SHOWN]
    cells = plan([(str(bundled.SCENARIO), scenario)], contenders, seeds)
    with opened(out / "results.db") as store:
        run_cells(cells, store, jobs)
        rows = summarise(store.rows(cell.hash for cell in cells))
    rows.sort(key=lambda row: float(row["par10_mean"]))
    say(replay_table(rows))
    say(replay_words(rows))
    return rows
