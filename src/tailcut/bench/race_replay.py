"""The replay of races: several algorithms at once on each instance, the first answer wins.

What counts is wall time: until the first solves the instance. CPU time is that of all cores together.
The baseline in hindsight is the set of k algorithms that would have been best together on all instances.
"""

from __future__ import annotations

import time
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.replay import Replayable, Slices, Trace, shuffled
from tailcut.policies.recorded_runs import instance_names
from tailcut.selector import Selector
from tailcut.types import PENALTY, Array, Decision, Outcome

_EXACT = 50_000
"""Up to this many sets are compared exhaustively; beyond that, the set is built greedily."""


def replay_race(runs: Replayable, selector: Selector, *, cores: int, seed: int) -> Trace:
    """Serve every instance once, in the order of `seed`, each with up to `cores` algorithms at once."""
    order = shuffled(len(runs.runtimes), seed)
    times = np.where(runs.solved, runs.runtimes, np.inf)
    names = instance_names(runs, len(times)) or tuple(map(str, range(len(times))))
    cost, cpu, seconds, wall = (np.zeros(len(order)) for _ in range(4))
    solved, winner = np.zeros(len(order), dtype=np.bool_), np.zeros(len(order), dtype=np.intp)
    for step, row in enumerate(order.tolist()):
        started = time.perf_counter()
        features, cost[step] = _features(runs, row, selector)
        deciding = time.perf_counter() - started
        race = _Race(selector, runs, cores, names[row], features, float(cost[step]))
        wall[step], solved[step], winner[step] = race.run(times[row])
        cpu[step], seconds[step] = cost[step] + race.cpu, deciding + race.deciding
    slices = Slices(np.arange(len(order)), winner, wall, solved)
    return Trace(order, winner, seconds, cost, cpu, slices)


def _features(runs: Replayable, row: int, selector: Selector) -> tuple[Array | None, float]:
    """Return the features of an instance and what they cost; None where they were not waited for."""
    if not selector.needs_features:
        return runs.features[row], 0.0
    cost = float(runs.feature_cost[row])
    budget = selector.feature_budget() if selector.may_skip_features else runs.cutoff
    return (runs.features[row], cost) if budget > 0.0 and cost <= budget else (None, budget)


class _Race:
    """One instance, from its first runs to the first answer."""

    def __init__(
        self,
        selector: Selector,
        runs: Replayable,
        cores: int,
        name: str,
        features: Array | None,
        feature_cost: float,
    ) -> None:
        self._selector, self._runs, self._cores = selector, runs, cores
        self._name, self._features, self._feature_cost = name, features, feature_cost
        self._left = runs.cutoff - feature_cost
        self._running: list[tuple[Decision, float]] = []
        """With the time at which each was begun."""
        self._failed: dict[str, float] = {}
        self.cpu = 0.0
        self.deciding = 0.0

    def run(self, times: Array) -> tuple[float, bool, int]:
        """Return the wall time, whether it was solved, and by whom; times (K,), inf where unsolved."""
        now, last = 0.0, -1
        while now < self._left:
            self._join(now)
            if not self._running:
                break
            ends = [self._end(one, since, times) for one, since in self._running]
            first = int(np.argmin(ends))
            decision, since = self._running[first]
            now, last = ends[first], self._number(decision)
            runtime = float(times[last])
            if since + runtime <= now:
                self._observe(decision, Outcome.solved(runtime), runtime)
                del self._running[first]
                for other, begun in self._running:
                    self._stop(other, now - begun)
                return now, True, last
            del self._running[first]
            self._failed[decision.algorithm] = now - since
            self._stop(decision, now - since)
        return now, False, last

    def _join(self, now: float) -> None:
        started = time.perf_counter()
        made = self._selector.race(
            self._features,
            k=self._cores - len(self._running),
            instance=self._name,
            spent=now,
            feature_cost=self._feature_cost,
            running={one.algorithm: now - since for one, since in self._running},
            failed=self._failed,
        )
        self.deciding += time.perf_counter() - started
        self._running += [(one, now) for one in made]

    def _end(self, decision: Decision, since: float, times: Array) -> float:
        return since + min(float(times[self._number(decision)]), decision.budget)

    def _number(self, decision: Decision) -> int:
        return self._runs.algorithms.index(decision.algorithm)

    def _stop(self, decision: Decision, ran: float) -> None:
        """Stop a run unsolved; one that has only just started teaches nothing."""
        self._observe(decision, Outcome.censored(max(ran, 1e-9)), ran)

    def _observe(self, decision: Decision, outcome: Outcome, ran: float) -> None:
        self.cpu += ran
        started = time.perf_counter()
        self._selector.observe(decision, outcome)
        self.deciding += time.perf_counter() - started


def best_set(losses: Array, k: int) -> list[int]:
    """Return the k algorithms with the lowest mean of the best loss of each instance; losses (n, K).

    >>> best_set(np.array([[1.0, 2.0, 9.0], [9.0, 8.0, 1.0], [1.0, 2.0, 9.0]]), 2)  # not the two best singly
    [0, 2]
    """
    n_algorithms = losses.shape[1]
    size = min(k, n_algorithms)
    if comb(n_algorithms, size) <= _EXACT:
        sets = combinations(range(n_algorithms), size)
        return list(min(sets, key=lambda one: float(losses[:, list(one)].min(axis=1).mean())))
    chosen: list[int] = []
    for _ in range(size):
        rest = [one for one in range(n_algorithms) if one not in chosen]
        means = [float(losses[:, [*chosen, one]].min(axis=1).mean()) for one in rest]
        chosen.append(rest[int(np.argmin(means))])
    return sorted(chosen)


def best_set_trace(runs: Replayable, *, cores: int, seed: int, penalty: float = PENALTY) -> Trace:
    """Return the trace of the k algorithms that are best together in hindsight, run on every instance."""
    order = shuffled(len(runs.runtimes), seed)
    losses = np.where(runs.solved, runs.runtimes, penalty * runs.cutoff)
    chosen = best_set(losses, cores)
    times = np.where(runs.solved, runs.runtimes, np.inf)[order][:, chosen]
    first = times.argmin(axis=1)
    wall = np.minimum(times.min(axis=1), runs.cutoff)
    solved: NDArray[np.bool_] = times.min(axis=1) <= runs.cutoff
    nothing = np.zeros(len(order))
    winner = np.array(chosen, dtype=np.intp)[first]
    slices = Slices(np.arange(len(order)), winner, wall, solved)
    return Trace(order, winner, nothing, nothing, len(chosen) * wall, slices)
