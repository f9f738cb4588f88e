"""``tailcut demo``: real solvers on a generated stream, then what other choices would have cost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.table import Table

import tailcut.domains.sat
from tailcut.bench.benchmark import benchmark, local
from tailcut.bench.labels import labelled
from tailcut.bench.plan import Contender
from tailcut.cli.options import JSON, make_folder, stoppable
from tailcut.cli.progress_bars import ProgressBars, called_as
from tailcut.cli.views import QuietView, output, plain_table, progress_view
from tailcut.display import counted
from tailcut.domains.sat.cnf import write
from tailcut.domains.sat.generators import stream
from tailcut.journal import Journal
from tailcut.live.instances import Instance
from tailcut.live.monitor import FollowedRun
from tailcut.live.portfolio import Portfolio, read_portfolio
from tailcut.live.stream import StreamSettings, run_stream
from tailcut.report.reports import report_live_run, report_scenario
from tailcut.scenarios import Scenario, bundled
from tailcut.types import PENALTY, Array

LIVE = "tailcut_schedule"
"""The selector of the live part."""
PUBLISHED = ("thompson", "thompson_rev", "bj_thompson_rev", "blinducb", "degroote_epsilon_greedy_lr")
SHOWN = (
    *("tailcut", "tailcut_schedule", "bounded_thompson"),
    *PUBLISHED,
    *("random", "round_robin", "sbs", "sbs_schedule", "oracle"),
)
"""Replayed: our own selectors, published ones, random, and the hindsight baselines."""
_Say = Callable[[str | Table], None]


@dataclass(frozen=True)
class StreamCost:
    """What one way of choosing cost for a stream."""

    name: str
    count: int
    solved: int
    seconds: float
    """CPU time used, including that of unsolved instances."""
    par10: float


def command(
    out: Path = typer.Option(Path("tailcut-demo"), metavar="DIR"),
    instances: int = typer.Option(180, min=1, max=bundled.COUNT, metavar="N"),
    seeds: int = typer.Option(5, min=1),
    jobs: int = typer.Option(os.cpu_count() or 1, min=1, show_default="all cores"),
    as_json: JSON = False,
) -> None:
    """Show what Tailcut does, in about three minutes: first live, then compared with everything else.

    Generates formulas of nine families, solves them with eight real solvers chosen online, and reports what
    each solver alone took for them when measured. Then replays the bundled scenario, 360 such formulas,
    through our own selectors and the published ones, and leaves a report.
    """
    started = time.perf_counter()
    say: _Say = (lambda _: None) if as_json else output().print
    scenario = Scenario.read(bundled.SCENARIO)
    with stoppable("stopped"):
        live, alone = _solve_live(
            scenario, out, instances, jobs, say, QuietView() if as_json else progress_view()
        )
        rows = _replay(scenario, out, seeds, jobs, say)
        report_live_run(out / "live.db", out / "report" / "live", formats=["svg"])
        with ProgressBars() as bars:
            page = report_scenario(
                bundled.SCENARIO,
                out / "results.db",
                out / "report",
                selectors=[name for name in SHOWN if name not in ("sbs", "oracle")],
                seeds=seeds,
                formats=["svg"],
                jobs=jobs,
                command=called_as(),
                live_page="live/index.html",
                progress=bars,
            )
    if as_json:
        parts = {"live": asdict(live), "alone": [asdict(one) for one in alone]}
        typer.echo(json.dumps({**parts, "replay": rows, "report": str(page)}, indent=2))
    say(f"Report: {page} ({time.perf_counter() - started:.0f} s in all)")


def _solve_live(
    scenario: Scenario, out: Path, count: int, jobs: int, say: _Say, view: QuietView
) -> tuple[StreamCost, list[StreamCost]]:
    portfolio = live_portfolio()
    say(
        f"[bold]Live[/]: {count} formulas, {len(portfolio.solvers)} solvers, {scenario.cutoff:g} s of CPU "
        f"time for each formula, chosen by {labelled(LIVE)}, which starts from scratch."
    )
    given = _write_formulas(out / "formulas", count)
    for old in out.glob("live.*"):
        old.unlink()
    settings = StreamSettings(LIVE, scenario.cutoff)
    with Journal(out / "live.db") as journal, view:
        run_stream(journal, portfolio, settings, given, out / "live.jsonl", jobs=jobs, observer=view)
    with closing(FollowedRun(out / "live.db")) as followed:
        came = followed.look()
    live = StreamCost(f"{LIVE}, live", came.over, came.solved, came.seconds, came.par10 or 0.0)
    single = costs_of_single_solvers(scenario, [instance.name for instance in given])
    table = plain_table("", "solved", "CPU time, s", "PAR10, s")
    for one in [live, *single]:
        values = (f"{one.solved} of {one.count}", f"{one.seconds:.0f}", f"{one.par10:.2f}")
        table.add_row(one.name, *values, style="bold" if one is live else "")
    say(table)
    say(_live_words(live, single[:-1]))
    return live, single


def live_portfolio() -> Portfolio:
    """Return the portfolio of the bundled domain; without CryptoMiniSat, where Python has no wheel of it."""
    portfolio = read_portfolio(Path(tailcut.domains.sat.__file__).parent / "portfolio.toml")
    return replace(portfolio, lacking=tuple(why for why in portfolio.lacking if "cryptominisat" not in why))


def _write_formulas(folder: Path, count: int) -> list[Instance]:
    make_folder(folder)
    given = []
    for name, formula in islice(stream(bundled.COUNT, bundled.SEED), count):
        path = folder / f"{name}.cnf"
        write(path, formula)
        given.append(Instance(path.name, path.absolute()))
    return given


def _live_words(live: StreamCost, single: Sequence[StreamCost]) -> str:
    best, worst = single[0], single[-1]  # they are sorted by PAR10
    return (
        f"Choosing online solved {live.solved} of {live.count} formulas. The best single solver for them, "
        f"which is known only in hindsight ({best.name.removeprefix('always ')}), solves {best.solved}; the "
        f"worst ({worst.name.removeprefix('always ')}) {worst.solved}.\n"
        "Times of the single solvers are those of the bundled scenario, measured on its machine. The "
        "families were chosen so that solvers complement each other: on other mixes there is less to save.\n"
    )


def _replay(scenario: Scenario, out: Path, seeds: int, jobs: int, say: _Say) -> list[dict[str, Any]]:
    n, k = scenario.runtimes.shape
    say(
        f"[bold]Replay[/]: the {n} formulas of {scenario.name} with their {k} measured runtimes each, in "
        f"{counted(seeds, 'order')}; every selector starts from scratch."
    )
    contenders = [Contender.parse(name) for name in SHOWN]
    planned = benchmark(bundled.FOLDER, contenders=contenders, whole_folder=True, seeds=seeds)
    with ProgressBars() as bars:
        place = local(jobs)
        rows = planned.run(out / "results.db", executor=place, command=called_as(), progress=bars).rows
    rows.sort(key=lambda row: float(row["par10_mean"]))
    table = plain_table("selector", "PAR10, s", "nPAR10", "unsolved")
    for row in rows:
        values = (f"{row['par10_mean']:.2f}", f"{row['npar10']:.2f}", f"{row['unsolved']:.1%}")
        table.add_row(labelled(row["selector"]), *values)
    say(table)
    say(_replay_words({row["selector"]: float(row["par10_mean"]) for row in rows}))
    return rows


def _replay_words(cost: dict[str, float]) -> str:
    def saved(name: str) -> str:
        share = 1.0 - cost[name] / cost["sbs"]
        return f"{cost[name]:.1f} s ({abs(share):.0%} {'less' if share >= 0.0 else 'more'})"

    return (
        f"Always using the best single solver (sbs) costs {cost['sbs']:.1f} s per formula, unsolved ones "
        f"counted tenfold; tailcut, picking one solver per formula, {saved('tailcut')}; "
        f"tailcut_schedule, which may switch within the cutoff, {saved('tailcut_schedule')}; "
        f"the best published approach {min(cost[name] for name in PUBLISHED):.1f} s.\n"
    )


def costs_of_single_solvers(scenario: Scenario, instances: Sequence[str]) -> list[StreamCost]:
    """Return the cost of each solver alone, and of the VBS, on some of a scenario's instances.

    >>> runs = {"instance": ["i", "i", "j", "j"], "algorithm": ["a", "b", "a", "b"], "runtime": [1, 4, 99, 2]}
    >>> scenario = Scenario.from_frames(runs, {"instance": ["i", "j"], "x": [0, 1]}, cutoff=10)
    >>> costs = costs_of_single_solvers(scenario, ["i", "j"])
    >>> [(one.name, one.solved, one.seconds, one.par10) for one in costs]
    [('always b', 2, 6.0, 3.0), ('always a', 1, 11.0, 50.5), ('the best for each, in hindsight', 2, 3.0, 1.5)]
    """
    number = {name: row for row, name in enumerate(scenario.instances)}
    rows = [number[name] for name in instances]
    losses, solved = scenario.losses(PENALTY)[rows], scenario.solved[rows]
    seconds = np.minimum(scenario.runtimes[rows], scenario.cutoff)

    def cost(name: str, solved: Any, seconds: Array, losses: Array) -> StreamCost:
        return StreamCost(name, len(rows), int(solved.sum()), float(seconds.sum()), float(losses.mean()))

    found = [
        cost(f"always {name}", solved[:, a], seconds[:, a], losses[:, a])
        for a, name in enumerate(scenario.algorithms)
    ]
    least = seconds[np.arange(len(rows)), losses.argmin(axis=1)]
    ideal = cost("the best for each, in hindsight", solved.any(axis=1), least, losses.min(axis=1))
    return [*sorted(found, key=lambda one: one.par10), ideal]
