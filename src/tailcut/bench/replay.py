"""The replay: instances in a shuffled order, each decided and observed before the next.

A run of a schedule starts from scratch and is stopped at its budget: it solves the instance if the
scenario's runtime is not longer.

Features are paid for by who looks at them. A selector that can skip them (`may_skip_features`) says how long
computing them may take: where the scenario's cost is higher they are stopped then, that time is lost and they
are not there. It learns what they cost, and its run gets the time that is left. The others learn nothing of
it: what features cost is added to what they chose (`tailcut.bench.metrics`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.baselines import FIXED, PICKS
from tailcut.bench.fixed_schedules import Stages, best_schedule
from tailcut.numerics.randomness import stream
from tailcut.policies.selector_like import Recorded
from tailcut.selector import Selector
from tailcut.types import PENALTY, Array, Decision, Outcome


class Replayable(Recorded, Protocol):
    """What a replay needs of a scenario: recorded runs, and what their features cost."""

    @property
    def feature_cost(self) -> Array:
        """Seconds that computing the features takes, shape (n,)."""
        ...


@dataclass(frozen=True)
class Slices:
    """The m runs of a schedule over n steps, in the order they were made."""

    step: NDArray[np.intp]
    """At which step each run was made, shape (m,)."""
    algorithm: NDArray[np.intp]
    """Number of its algorithm, shape (m,)."""
    seconds: Array
    """How long it ran: until it solved the instance or was stopped, shape (m,)."""
    solved: NDArray[np.bool_]
    """Whether the last run of each step solved the instance, shape (n,)."""

    @property
    def count(self) -> NDArray[np.intp]:
        """How many runs each step had, shape (n,)."""
        return np.bincount(self.step, minlength=len(self.solved))

    @property
    def total(self) -> Array:
        """Seconds of all runs of each step, shape (n,)."""
        return np.asarray(np.bincount(self.step, self.seconds, len(self.solved)), dtype=np.float64)

    @property
    def last(self) -> NDArray[np.intp]:
        """Number of the last algorithm run at each step, -1 where none was, shape (n,)."""
        found = np.full(len(self.solved), -1, dtype=np.intp)
        found[self.step] = self.algorithm
        return found


@dataclass(frozen=True)
class Trace:
    """What happened at each of n steps."""

    order: NDArray[np.intp]
    """Row of the instance served at each step, shape (n,)."""
    choices: NDArray[np.intp]
    """Number of the algorithm chosen at each step, shape (n,); of a schedule the last one, -1 if none ran."""
    seconds: Array
    """Time each step took to decide and to learn, shape (n,); 0 for a hindsight baseline."""
    feature_cost: Array
    """Seconds paid for features at each step, shape (n,)."""
    slices: Slices | None = None
    """The runs of a schedule; None where one algorithm is picked for the whole cutoff."""


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """Return the order in which `n` instances arrive under `seed`; the same for every selector."""
    return stream(seed, "instance order").permutation(n)


def replay(
    runs: Replayable, selector: Selector, *, seed: int, on_step: Callable[[], None] | None = None
) -> Trace:
    """Serve every instance once, in the order of `seed`, each observed before the next."""
    if selector.schedules:
        return _replay_schedule(runs, selector, seed, on_step)
    runtimes, solved = runs.runtimes, runs.solved
    order = shuffled(len(runtimes), seed)
    number = {name: i for i, name in enumerate(runs.algorithms)}
    cost = np.zeros(len(order))
    choices = np.empty(len(order), dtype=np.intp)
    seconds = np.empty(len(order))
    for step, row in enumerate(order.tolist()):
        started = time.perf_counter()
        features, cost[step] = _computed(runs, row, selector)
        reported = float(cost[step]) if selector.may_skip_features else 0.0
        decision = selector.select(features, feature_cost=reported)
        decided = time.perf_counter()
        choice = number[decision.algorithm]
        in_time = solved[row, choice] and runtimes[row, choice] + reported <= runs.cutoff
        runtime = float(runtimes[row, choice])
        outcome = Outcome.solved(runtime) if in_time else Outcome.censored(runs.cutoff - reported)
        resumed = time.perf_counter()
        selector.observe(decision, outcome)
        seconds[step] = time.perf_counter() - resumed + decided - started
        choices[step] = choice
        if on_step is not None:
            on_step()
    return Trace(order, choices, seconds, cost)


def _computed(runs: Replayable, row: int, selector: Selector) -> tuple[Array | None, float]:
    """Return the features of an instance and what they cost; None where they were not waited for."""
    if not selector.needs_features:
        return runs.features[row], 0.0
    cost = float(runs.feature_cost[row])
    if not selector.may_skip_features:
        return runs.features[row], cost
    budget = selector.feature_budget()
    if budget > 0.0 and cost <= budget:
        return runs.features[row], cost
    return None, budget


def _replay_schedule(
    runs: Replayable, selector: Selector, seed: int, on_step: Callable[[], None] | None
) -> Trace:
    """Serve every instance once, each until it is solved or given up."""
    order = shuffled(len(runs.features), seed)
    times = np.where(runs.solved, runs.runtimes, np.inf)
    cost = np.zeros(len(order))
    solved, seconds = np.zeros(len(order), dtype=np.bool_), np.zeros(len(order))
    taken: list[tuple[int, int, float]] = []
    for step, row in enumerate(order.tolist()):
        features, cost[step] = _computed(runs, row, selector)
        if (
            cost[step] < runs.cutoff
        ):  # else the features take all the time there is: nothing is left to decide
            own, solved[step], seconds[step] = _serve(
                selector,
                features,
                float(cost[step]),
                dict(zip(runs.algorithms, times[row].tolist(), strict=True)),
            )
            taken += [(step, runs.algorithms.index(name), ran) for name, ran in own]
        if on_step is not None:
            on_step()
    steps, algorithms, ran = zip(*taken, strict=True) if taken else ((), (), ())
    slices = Slices(
        np.array(steps, np.intp), np.array(algorithms, np.intp), np.array(ran, np.float64), solved
    )
    return Trace(order, slices.last, seconds, cost, slices)


def _serve(
    selector: Selector, features: Array | None, cost: float, times: Mapping[str, float]
) -> tuple[list[tuple[str, float]], bool, float]:
    """Return the runs made on one instance, whether it was solved, and the time to decide and to learn."""
    taken, solved = [], False
    started = time.perf_counter()
    decision: Decision | None = selector.select(features, feature_cost=cost)
    elapsed = time.perf_counter() - started
    while decision is not None:
        runtime, budget = times[decision.algorithm], decision.budget
        solved = runtime <= budget
        taken.append((decision.algorithm, min(runtime, budget)))
        outcome = Outcome.solved(runtime) if solved else Outcome.censored(budget)
        started = time.perf_counter()
        selector.observe(decision, outcome)
        decision = selector.proceed(decision)
        elapsed += time.perf_counter() - started
    return taken, solved, elapsed


def replay_baseline(runs: Replayable, name: str, *, seed: int, penalty: float = PENALTY) -> Trace:
    """Return the trace of a hindsight baseline (`tailcut.catalogue.BASELINES`); it needs no features."""
    order = shuffled(len(runs.features), seed)
    nothing = np.zeros(len(order))
    if name in FIXED:
        times = np.where(runs.solved, runs.runtimes, np.inf)
        stages = best_schedule(times, runs.cutoff, penalty, most=FIXED[name])
        slices = follow(stages, times[order])
        return Trace(order, slices.last, nothing, nothing, slices)
    losses = np.where(runs.solved, runs.runtimes, penalty * runs.cutoff)
    return Trace(order, PICKS[name](losses)[order], nothing, nothing)


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
    in_turn = np.argsort(step, kind="stable")
    return Slices(step[in_turn], algorithms[in_turn], seconds[in_turn], solved)
