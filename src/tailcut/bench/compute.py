"""Computing one cell of a plan: a scenario replayed through a selector, and what that cost."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from tailcut.bench.imported import import_selectors
from tailcut.bench.metrics import ReferenceCosts, paid
from tailcut.bench.plan import Cell
from tailcut.bench.replay import replay, replay_baseline
from tailcut.bench.store import Result
from tailcut.catalogue import BASELINES
from tailcut.scenarios import Scenario
from tailcut.selector import Selector


@lru_cache(maxsize=2)
def read(folder: str) -> Scenario:
    """Return a scenario, read once per process and run of equal cells."""
    return Scenario.read(folder)


def compute(cell: Cell, modules: Sequence[str] = ()) -> Result:
    """Return the result of one cell; whatever goes wrong in it becomes its error.

    `modules` are imported first, in case one of them registers the selector.
    """
    import_selectors(modules)
    return guarded(cell, lambda: read(cell.folder))


def guarded(cell: Cell, scenario: Callable[[], Scenario]) -> Result:
    """Return the result of one cell on the scenario that is got; whatever goes wrong becomes its error."""
    started = time.perf_counter()
    try:
        return _compute(cell, scenario(), started)
    except Exception:  # one broken cell must not stop the others; its error is kept for the reader
        return Result(cell.hash, time.perf_counter() - started, error=traceback.format_exc(limit=-8))


def _compute(cell: Cell, scenario: Scenario, started: float) -> Result:
    name = cell.contender.selector
    if name in BASELINES:
        trace = replay_baseline(scenario, name, seed=cell.seed, penalty=cell.penalty)
    else:
        settings = cell.contender.settings()
        selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=cell.seed, **settings)
        trace = replay(scenario, selector, seed=cell.seed)
    losses, solved = paid(scenario, trace, cell.penalty)
    reference = ReferenceCosts.of(scenario, cell.penalty)
    return Result(
        cell.hash,
        time.perf_counter() - started,
        par=float(losses.mean()),
        unsolved=float(1.0 - solved.mean()),
        decision_us=float(trace.seconds.mean() * 1e6),
        vbs=reference.vbs,
        sbs=reference.sbs,
        choices=trace.choices.astype(np.int16),
        losses=losses,
        step_seconds=trace.seconds.astype(np.float32),
    )
