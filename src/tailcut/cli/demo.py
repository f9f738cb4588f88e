"""``tailcut demo``: selectors on a generated stream, against the best single algorithm in hindsight."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tailcut.bench.metrics import paid
from tailcut.bench.replay import look_back, replay
from tailcut.hindsight import LINES
from tailcut.selector import Selector
from tailcut.synthetic import SyntheticScenario, generate

SHOWN = (
    "thompson",
    "thompson_rev",
    "bj_thompson_rev",
    "bounded_thompson",
    "blinducb",
    "epsilon_greedy",
    "random",
)


def measure(scenario: SyntheticScenario, name: str, progress: Progress, seed: int) -> dict[str, Any]:
    """Return what selector `name` costs on the scenario, as plain values."""
    task = progress.add_task(name, total=len(scenario.features))
    if name in LINES:
        trace = look_back(scenario, name, seed=seed)
    else:
        selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=seed)
        trace = replay(scenario, selector, seed=seed, on_step=lambda: progress.advance(task))
    losses, solved = paid(scenario, trace)
    return {
        "selector": name,
        "par10": float(losses.mean()),
        "par10_last_quarter": float(losses[-len(losses) // 4 :].mean()),
        "unsolved": float(1.0 - solved.mean()),
        "decision_us": float(trace.seconds.mean() * 1e6),
    }


def command(
    instances: int = typer.Option(2000, min=1, help="Length of the generated stream."),
    seed: int = typer.Option(0, min=0, help="Seed of the stream and of the selectors."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON list instead of a table."),
) -> None:
    """Replay a generated stream through several selectors and compare what they cost.

    The stream's runtimes follow the selectors' model exactly (lognormal, linear in the features), so
    this shows that learning works, not how well it works on real solvers.
    """
    scenario = generate(n_instances=instances, seed=seed)
    silent = as_json or not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), disable=silent, transient=True) as progress:
        rows = [measure(scenario, name, progress, seed) for name in (*SHOWN, "sbs", "oracle")]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    _print(rows, scenario)


def _print(rows: list[dict[str, Any]], scenario: SyntheticScenario) -> None:
    console = Console()
    n, k = scenario.runtimes.shape
    table = Table(title=f"{n} generated instances, {k} algorithms, cutoff {scenario.cutoff:.0f} s")
    table.add_column("selector", no_wrap=True)
    for heading in ("PAR10, s", "PAR10, last quarter", "unsolved", "decision, us"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row["selector"],
            f"{row['par10']:.0f}",
            f"{row['par10_last_quarter']:.0f}",
            f"{row['unsolved']:.1%}",
            f"{row['decision_us']:.0f}" if row["decision_us"] else "-",
        )
    console.print(table)
    by_name = {row["selector"]: row for row in rows}
    best = min((row for row in rows if row["selector"] in SHOWN), key=lambda row: float(row["par10"]))
    saved = 1.0 - best["par10"] / by_name["sbs"]["par10"]
    console.print(
        f"{best['selector']}, learning from its first instance on, cost {abs(saved):.0%} "
        f"{'less' if saved >= 0 else 'more'} than the best single algorithm, known only in hindsight."
    )
