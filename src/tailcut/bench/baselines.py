"""Baselines that know all runtimes: the oracle, the single best algorithm, the best fixed schedules and sets.

They are functions of the whole table of runtimes, not selectors. Their names and summaries are in
`tailcut.catalogue.BASELINES`. None of them pays for features.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.fixed_schedules import Stages, best_schedule
from tailcut.bench.replay import Slices, Trace, losses_of, shuffled
from tailcut.policies.recorded_runs import Recorded
from tailcut.types import PENALTY, Array

Choices = NDArray[np.intp]

_EXACT = 50_000
"""Up to this many sets are compared exhaustively; beyond that, the set is built greedily."""


def oracle(losses: Array) -> Choices:
    """Return the best algorithm on each instance (virtual best solver, VBS); losses (n, K) -> (n,).

    >>> oracle(np.array([[1.0, 9.0], [9.0, 1.0], [3.0, 2.0]])).tolist()
    [0, 1, 1]
    """
    return np.asarray(losses.argmin(axis=1))


def single_best(losses: Array) -> Choices:
    """Return, for every instance, the algorithm with the lowest mean loss over all (SBS).

    >>> single_best(np.array([[1.0, 9.0], [9.0, 1.0], [3.0, 2.0]])).tolist()
    [1, 1, 1]
    """
    return np.full(len(losses), losses.mean(axis=0).argmin(), dtype=np.intp)


PICKS: dict[str, Callable[[Array], Choices]] = {"oracle": oracle, "sbs": single_best}
"""Baselines that pick one algorithm per instance: name -> choices from losses."""

FIXED: dict[str, int] = {"sbs_pair": 2, "sbs_schedule": 3}
"""Baselines that follow the best fixed schedule (`fixed_schedules`): name -> how many stages at most."""


def replay_baseline(runs: Recorded, name: str, *, seed: int, penalty: float = PENALTY) -> Trace:
    """Return the trace of a hindsight baseline (`tailcut.catalogue.BASELINES`) in the order of `seed`."""
    if name in PICKS:
        return picks_trace(runs, PICKS[name](losses_of(runs, penalty)), seed=seed)
    order, times = shuffled(len(runs.runtimes), seed), np.where(runs.solved, runs.runtimes, np.inf)
    slices = follow(best_schedule(times, runs.cutoff, penalty, most=FIXED[name]), times[order])
    ran = np.fmin(runs.runtimes[order[slices.step], slices.algorithm], slices.seconds)
    cpu = np.bincount(slices.step, ran, len(order)).astype(np.float64)
    return Trace(order, slices.last, np.zeros(len(order)), np.zeros(len(order)), cpu, slices)


def picks_trace(runs: Recorded, choices: Choices, *, seed: int) -> Trace:
    """Return the trace of fixed choices; `choices` has one number per row."""
    # Ratings have no curves over time, and in one order their mean is the same to the digit for every seed.
    order = np.arange(len(choices)) if hasattr(runs, "ratings") else shuffled(len(choices), seed)
    cpu = np.fmin(runs.runtimes[order, choices[order]], runs.cutoff)
    return Trace(order, choices[order], np.zeros(len(order)), np.zeros(len(order)), cpu)


def follow(stages: Stages, times: Array) -> Slices:
    """Return the runs of a fixed schedule; times (n, K), inf where unsolved.

    >>> from tailcut.bench.fixed_schedules import Stage
    >>> slices = follow((Stage(0, 2.0), Stage(1, 8.0)), np.array([[1.0, 9.0], [np.inf, 4.0]]))
    >>> slices.step.tolist(), slices.algorithm.tolist(), slices.seconds.tolist(), slices.solved.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 2.0, 4.0], [True, True])
    """
    solved = np.zeros(len(times), dtype=np.bool_)
    parts = []
    for algorithm, budget in stages:
        (steps,) = np.nonzero(~solved)
        own = times[steps, algorithm]
        parts.append((steps, np.full(len(steps), algorithm), np.minimum(own, budget)))
        solved[steps] = own <= budget
    step, algorithms, seconds = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    by_step = np.argsort(step, kind="stable")
    return Slices(step[by_step], algorithms[by_step], seconds[by_step], solved)


def best_set(losses: Array, k: int) -> list[int]:
    """Return the k algorithms with the lowest mean of the best loss of each instance; losses (n, K).

    >>> best_set(np.array([[1.0, 2.0, 9.0], [9.0, 8.0, 1.0], [1.0, 2.0, 9.0]]), 2)  # not the two best singly
    [0, 2]
    """

    def mean(algorithms: list[int]) -> float:
        return float(losses[:, algorithms].min(axis=1).mean())

    n_algorithms = losses.shape[1]
    size = min(k, n_algorithms)
    if comb(n_algorithms, size) <= _EXACT:
        return min(map(list, combinations(range(n_algorithms), size)), key=mean)
    chosen: list[int] = []
    for _ in range(size):
        rest = [k for k in range(n_algorithms) if k not in chosen]
        chosen.append(min(rest, key=lambda k: mean([*chosen, k])))
    return sorted(chosen)


def best_set_trace(runs: Recorded, *, cores: int, seed: int, penalty: float = PENALTY) -> Trace:
    """Return the trace of the `cores` algorithms that are best together, raced on every instance."""
    order = shuffled(len(runs.runtimes), seed)
    chosen = best_set(losses_of(runs, penalty), cores)
    times = np.where(runs.solved, runs.runtimes, np.inf)[order][:, chosen]
    fastest = times.min(axis=1)
    wall = np.minimum(fastest, runs.cutoff)
    winner = np.array(chosen, dtype=np.intp)[times.argmin(axis=1)]
    slices = Slices(np.arange(len(order)), winner, wall, fastest <= runs.cutoff)
    return Trace(order, winner, np.zeros(len(order)), np.zeros(len(order)), len(chosen) * wall, slices)
