"""Baselines that know all runtimes: the oracle, the single best algorithm, the best fixed schedules and sets.

They are functions of the whole table of runtimes, not selectors. Their names and summaries are in
`tailcut.catalogue.BASELINES`. None of them pays for features.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.fixed_schedules import Stages, best_schedule
from tailcut.bench.replay import Folds, Slices, Trace, best_in_training, losses_of, shuffled
from tailcut.policies.recorded_runs import Recorded
from tailcut.types import PENALTY, Array

Choices = NDArray[np.intp]

_EXACT = 50_000
"""Up to this many sets are compared exhaustively; beyond that, the set is built greedily."""


def oracle(losses: Array) -> Choices:
    """Return the best algorithm on each instance (virtual best solver, VBS); losses (n, K) -> (n,)."""
    return np.asarray(losses.argmin(axis=1))


def single_best(losses: Array) -> Choices:
    """Return, for every instance, the algorithm with the lowest mean loss over all (SBS)."""
    return np.full(len(losses), losses.mean(axis=0).argmin(), dtype=np.intp)


PICKS = ("oracle", "sbs", "sbs_train")
"""Baselines that pick one algorithm per instance, which means something without times, too."""

FIXED: dict[str, int] = {"sbs_pair": 2, "sbs_schedule": 3}
"""Baselines that follow the best fixed schedule (`fixed_schedules`): name -> how many stages at most."""


def replay_baseline(
    runs: Recorded,
    name: str,
    *,
    seed: int,
    penalty: float = PENALTY,
    folds: Folds | None = None,
    cores: int = 1,
) -> Trace:
    """Return the trace of a hindsight baseline (`tailcut.catalogue.BASELINES`) in the order of `seed`.

    `sbs_train` needs the folds. With several cores, `sbs` is a race of those that are best together.
    """
    order, nothing = shuffled(len(runs.runtimes), seed), np.zeros(len(runs.runtimes))
    losses, times = losses_of(runs, penalty), np.where(runs.solved, runs.runtimes, np.inf)
    if name in FIXED:
        slices = follow(best_schedule(times, runs.cutoff, penalty, most=FIXED[name]), times[order])
        ran = np.fmin(runs.runtimes[order[slices.step], slices.algorithm], slices.seconds)
        cpu = np.bincount(slices.step, ran, len(order)).astype(np.float64)
        return Trace(order, slices.last, nothing, nothing, cpu, slices)
    if cores > 1:
        chosen = best_set(losses, cores)
        raced = times[order][:, chosen]
        wall = np.minimum(raced.min(axis=1), runs.cutoff)
        winner = np.array(chosen, dtype=np.intp)[raced.argmin(axis=1)]
        slices = Slices(np.arange(len(order)), winner, wall, raced.min(axis=1) <= runs.cutoff)
        return Trace(order, winner, nothing, nothing, len(chosen) * wall, slices)
    if name == "sbs_train":
        assert folds is not None, "the plan sees to it"
        choices = best_in_training(losses, folds)
    else:
        choices = oracle(losses) if name == "oracle" else single_best(losses)
    if hasattr(runs, "ratings"):  # without curves: in one order their mean is the same for every seed
        order = np.arange(len(order))
    cpu = np.fmin(runs.runtimes[order, choices[order]], runs.cutoff)
    return Trace(order, choices[order], nothing, nothing, cpu)


def follow(stages: Stages, times: Array) -> Slices:
    """Return the runs of a fixed schedule; times (n, K), inf where unsolved."""
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
