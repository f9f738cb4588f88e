"""Computing one cell of a plan: a scenario replayed through a selector, and what that cost."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from tailcut.bench.cross_validation import Folds, best_in_training, cross_validate, folds_of
from tailcut.bench.extra_runs import ExtraRuns
from tailcut.bench.imported import import_selectors
from tailcut.bench.metrics import ReferenceCosts, paid
from tailcut.bench.plan import Cell
from tailcut.bench.race_replay import best_set_trace, replay_race
from tailcut.bench.replay import Trace, picks_trace, replay, replay_baseline, shuffled
from tailcut.bench.store import Result
from tailcut.catalogue import BASELINES
from tailcut.scenarios import Scenario
from tailcut.selector import Selector


@lru_cache(maxsize=2)
def read(folder: str) -> Scenario:
    """Return a scenario, read once per process and run of equal cells."""
    return Scenario.read(folder)


def compute(cell: Cell, modules: Sequence[str] = ()) -> Result:
    """Return the result of one cell; any exception becomes its error.

    `modules` are imported first, in case one of them registers the selector.
    """
    import_selectors(modules)
    return guarded(cell, lambda: read(cell.folder))


def guarded(cell: Cell, scenario: Callable[[], Scenario]) -> Result:
    """Return the result of one cell on the given scenario; any exception becomes its error."""
    started = time.perf_counter()
    try:
        return _compute(cell, scenario(), started)
    except Exception:  # one broken cell must not stop the others; its error is kept for the reader
        return Result(cell.hash, time.perf_counter() - started, error=traceback.format_exc(limit=-8))


def _compute(cell: Cell, scenario: Scenario, started: float) -> Result:
    conditions = cell.contender.conditions
    folds = folds_of(scenario, conditions.folds, cell.seed) if conditions.cv else None
    trace, extra_cpu = _replayed(cell, scenario, folds)
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
        answer_cpu=float(trace.cpu.sum()),
        extra_cpu=extra_cpu,
        sbs_train=None if folds is None else _trained_best(scenario, folds, cell.penalty),
        choices=trace.choices.astype(np.int16),
        losses=losses,
        step_seconds=trace.seconds.astype(np.float32),
    )


def _replayed(cell: Cell, scenario: Scenario, folds: Folds | None) -> tuple[Trace, float]:
    """Return the trace of a contender, and the CPU seconds of its extra runs."""
    name, conditions, seed = cell.contender.selector, cell.contender.conditions, cell.seed
    if name == "sbs_train" and folds is not None:
        chosen = best_in_training(scenario.losses(cell.penalty), folds)
        return picks_trace(scenario, shuffled(len(chosen), seed), chosen), 0.0
    if name == "sbs" and conditions.cores > 1:
        return best_set_trace(scenario, cores=conditions.cores, seed=seed, penalty=cell.penalty), 0.0
    if name in BASELINES:
        return replay_baseline(scenario, name, seed=seed, penalty=cell.penalty), 0.0
    settings = cell.contender.settings()

    def new_selector() -> Selector:
        return Selector(name, scenario.algorithms, scenario.cutoff, seed=seed, **settings)

    if folds is not None:
        return cross_validate(scenario, new_selector, folds, seed=seed, learn_on=conditions.learn_on), 0.0
    selector = new_selector()
    if conditions.cores > 1:
        return replay_race(scenario, selector, cores=conditions.cores, seed=seed), 0.0
    if not conditions.runs_extra:
        return replay(scenario, selector, seed=seed), 0.0
    extra = ExtraRuns(scenario, selector, conditions)
    return replay(scenario, selector, seed=seed, afterwards=extra.after), extra.seconds


def _trained_best(scenario: Scenario, folds: Folds, penalty: float) -> float:
    """Return the mean PARk of the single best solver of the training folds."""
    losses = scenario.losses(penalty)
    return float(losses[np.arange(len(losses)), best_in_training(losses, folds)].mean())
