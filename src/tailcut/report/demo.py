"""The demonstration: real solvers on a generated stream, then what other choices would have cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tailcut.domains.sat
from tailcut.bench.benchmark import compute_missing
from tailcut.bench.plan import Contender, plan
from tailcut.bench.store import describe_run, opened
from tailcut.bench.summary import summarise
from tailcut.domains.sat.cnf import write
from tailcut.domains.sat.generators import generate
from tailcut.domains.sat.generators import plan as plan_formulas
from tailcut.errors import InputError
from tailcut.journal import Journal
from tailcut.live.instances import Instance
from tailcut.live.monitor import FollowedRun
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio, read_portfolio
from tailcut.live.stream import StreamSettings, run_stream
from tailcut.report.gather import ReportProgress
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


@dataclass(frozen=True)
class StreamCost:
    """What one way of choosing cost for a stream."""

    name: str
    count: int
    solved: int
    seconds: float
    """CPU time used, including that of unsolved instances."""
    par10: float


class DemoProgress(ReportProgress):
    """Is called as the demonstration proceeds."""

    def live_begins(self, count: int, portfolio: Portfolio, cutoff: float) -> None:
        """Handle the start of the live part: the number of formulas, the solvers and the cutoff."""

    def live_view(self) -> AbstractContextManager[StreamObserver]:
        """Return the observer of the live part, a context that is open while it lasts."""
        return nullcontext(StreamObserver())

    def live_done(self, live: StreamCost, single: Sequence[StreamCost]) -> None:
        """Handle the cost of the live part, and of each solver alone."""

    def replay_begins(self, scenario: Scenario, seeds: int) -> None:
        """Handle the start of the replay: the scenario and the number of orders."""

    def replay_done(self, rows: Sequence[dict[str, Any]]) -> None:
        """Handle what each selector would have cost, the cheapest first."""


@dataclass(frozen=True)
class DemoOutcome:
    """What the demonstration showed."""

    live: StreamCost
    alone: list[StreamCost]
    """Each solver alone, and the VBS."""
    replay: list[dict[str, Any]]
    """One row per selector, as returned by `summarise`, the cheapest first."""
    page: Path
    """The report that was written."""


def run_demo(
    out: Path,
    *,
    instances: int = 180,
    seeds: int = 5,
    jobs: int = 1,
    command: str = "",
    progress: DemoProgress,
) -> DemoOutcome:
    """Solve formulas live, replay the bundled scenario, write a report on it; everything goes into `out`."""
    live, single = _solve_live(out, instances, jobs, progress)
    rows = _replay(out, seeds, jobs, command, progress)
    report_live_run(out / "live.db", out / "report" / "live", formats=["svg"])
    page = report_scenario(
        bundled.SCENARIO,
        out / "results.db",
        out / "report",
        selectors=[name for name in SHOWN if name not in ("sbs", "oracle")],
        seeds=seeds,
        formats=["svg"],
        jobs=jobs,
        command=command,
        live_page="live/index.html",
        progress=progress,
    )
    return DemoOutcome(live, single, rows, page)


def _solve_live(
    out: Path, count: int, jobs: int, progress: DemoProgress
) -> tuple[StreamCost, list[StreamCost]]:
    """Solve the first formulas of the bundled scenario's stream; return what it took, and others."""
    scenario = Scenario.read(bundled.SCENARIO)
    portfolio = live_portfolio()
    progress.live_begins(count, portfolio, scenario.cutoff)
    given = _write_formulas(out / "formulas", count)
    for old in out.glob("live.*"):
        old.unlink()
    settings = StreamSettings(LIVE, scenario.cutoff)
    with Journal(out / "live.db") as journal, progress.live_view() as view:
        run_stream(journal, portfolio, settings, given, out / "live.jsonl", jobs=jobs, observer=view)
    with closing(FollowedRun(out / "live.db")) as followed:
        came = followed.look()
    live = StreamCost(f"{LIVE}, live", came.over, came.solved, came.seconds, came.par10 or 0.0)
    single = costs_of_single_solvers(scenario, [instance.name for instance in given])
    progress.live_done(live, single)
    return live, single


def live_portfolio() -> Portfolio:
    """Return the portfolio of the bundled domain; without CryptoMiniSat, where Python has no wheel of it."""
    portfolio = read_portfolio(Path(tailcut.domains.sat.__file__).parent / "portfolio.toml")
    return replace(portfolio, lacking=tuple(why for why in portfolio.lacking if "cryptominisat" not in why))


def _write_formulas(folder: Path, count: int) -> list[Instance]:
    """Write the first formulas of the stream and return them in its order."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder.parent}: cannot be written into: {error.strerror}") from None
    found = []
    for name, family, seed in plan_formulas(bundled.COUNT, bundled.SEED)[:count]:
        path = folder / f"{name}.cnf"
        if not path.exists():
            write(path, generate(family, seed))
        found.append(Instance(path.name, path.absolute()))
    return found


def _replay(out: Path, seeds: int, jobs: int, command: str, progress: DemoProgress) -> list[dict[str, Any]]:
    """Replay the bundled scenario through all selectors shown; return what each would have cost."""
    scenario = Scenario.read(bundled.SCENARIO)
    progress.replay_begins(scenario, seeds)
    cells = plan([(str(bundled.SCENARIO), scenario)], [Contender.parse(name) for name in SHOWN], seeds)
    with opened(out / "results.db") as store:
        store.begin_run(describe_run(command))
        compute_missing(cells, store, jobs=jobs, progress=progress)
        rows = summarise(store.rows(cell.hash for cell in cells))
    rows.sort(key=lambda row: float(row["par10_mean"]))
    progress.replay_done(rows)
    return rows


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
