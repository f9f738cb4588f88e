"""The replay: instances in a shuffled order, each decided and observed before the next.

A run of a schedule starts from scratch and is stopped at its budget: it solves the instance if the
scenario's runtime is not longer.

Selectors that look at features pay for them. A selector that can skip them (`may_skip_features`) says how
long computing them may take: where the scenario's cost is higher they are stopped then, that time is lost and
they are not there. It learns what they cost, and its run gets the time that is left. The others learn nothing
of it: what features cost is added to what they chose (`tailcut.bench.metrics`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.baselines import FIXED, PICKS
from tailcut.bench.fixed_schedules import Stages, best_schedule
from tailcut.numerics.randomness import stream
from tailcut.policies.recorded_runs import instance_names
from tailcut.policies.selector_like import Recorded
from tailcut.types import PENALTY, Array, Decision, Features, Outcome


class Replayable(Recorded, Protocol):
    """What a replay needs from a scenario: recorded runs, and the cost of features."""

    @property
    def feature_cost(self) -> Array:
        """Seconds that computing the features takes, shape (n,)."""
        ...


class Replayed(Protocol):
    """What a replay needs from a selector."""

    @property
    def schedules(self) -> bool:
        """Whether `proceed` may run another algorithm on the same instance."""
        ...

    @property
    def needs_features(self) -> bool:
        """Whether it looks at features at all."""
        ...

    @property
    def may_skip_features(self) -> bool:
        """Whether it can skip them."""
        ...

    def feature_budget(self) -> float:
        """Return how many seconds computing the next instance's features may take."""
        ...

    def select(
        self, features: Features = None, *, instance: str | None = None, feature_cost: float = 0.0
    ) -> Decision:
        """Return the first run on an instance."""
        ...

    def observe(self, decision: Decision, outcome: Outcome) -> object:
        """Learn the outcome of a run."""
        ...

    def proceed(self, decision: Decision) -> Decision | None:
        """Return the next run on the same instance; None: it is over."""
        ...


class Slice(NamedTuple):
    """One run on an instance."""

    algorithm: int
    seconds: float
    """How long it ran: until it solved the instance or was stopped."""


class ServedInstance(NamedTuple):
    """An instance that has been answered or given up."""

    row: int
    name: str
    features: Array | None
    """The features that the selector saw; None if it did not wait for them."""
    slices: tuple[Slice, ...]
    """Its runs, in order."""
    solved: bool
    """Whether the last of them solved it."""
    cpu: float
    """Seconds that its features and runs took."""


Afterwards = Callable[[ServedInstance], None]
"""Called after each instance, before the next is decided."""


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
    cpu: Array
    """Seconds of CPU time that features and runs took at each step, shape (n,).

    A run takes its recorded time, at most its budget: an unsolved one may have ended early.
    """
    slices: Slices | None = None
    """The runs of a schedule; None where one algorithm is picked for the whole cutoff."""


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """Return the order in which `n` instances arrive under `seed`; the same for every selector."""
    return stream(seed, "instance order").permutation(n)


def replay(
    runs: Replayable,
    selector: Replayed,
    *,
    seed: int,
    order: NDArray[np.intp] | None = None,
    afterwards: Afterwards | None = None,
) -> Trace:
    """Serve every instance once, in the order of `seed`, each observed before the next.

    `order` are the rows to serve instead. What is done `afterwards` is not counted as time to decide.
    """
    rows = shuffled(len(runs.runtimes), seed) if order is None else order
    serve = _run_schedule if selector.schedules else _run_one
    times = np.where(runs.solved, runs.runtimes, np.inf).tolist()
    recorded = runs.runtimes.tolist()
    names = instance_names(runs, len(times)) or tuple(map(str, range(len(times))))
    costs: list[float] = []
    cpu: list[float] = []
    seconds: list[float] = []
    solved: list[bool] = []
    taken: list[tuple[int, int, float]] = []
    for step, row in enumerate(rows.tolist()):
        started = time.perf_counter()
        features, cost = _computed(runs, row, selector)
        elapsed = time.perf_counter() - started
        arrived = _Arrived(names[row], features, cost, times[row])
        own, answered, deciding = serve(selector, arrived, runs)
        seconds.append(elapsed + deciding)
        costs.append(cost)
        solved.append(answered)
        cpu.append(cost + sum(_ran(recorded[row][algorithm], limit) for algorithm, limit in own))
        taken += [(step, *slice_) for slice_ in own]
        if afterwards is not None:
            afterwards(ServedInstance(row, names[row], features, tuple(own), answered, cpu[-1]))
    steps, algorithms, ran = zip(*taken, strict=True) if taken else ((), (), ())
    slices = Slices(
        np.array(steps, np.intp),
        np.array(algorithms, np.intp),
        np.array(ran, np.float64),
        np.array(solved, np.bool_),
    )
    return Trace(
        rows,
        slices.last,
        np.array(seconds, np.float64),
        np.array(costs, np.float64),
        np.array(cpu, np.float64),
        slices if selector.schedules else None,
    )


def _ran(recorded: float, limit: float) -> float:
    """Return the seconds that a run took: its recorded time, unless it is longer than the limit or not known.

    >>> _ran(3.0, limit=5.0), _ran(8.0, limit=5.0), _ran(np.nan, limit=5.0)
    (3.0, 5.0, 5.0)
    """
    return recorded if recorded < limit else limit


class _Arrived(NamedTuple):
    """An instance that is to be served."""

    name: str
    features: Array | None
    feature_cost: float
    times: Sequence[float]
    """Seconds until each algorithm solves it, inf where it does not."""


def _computed(runs: Replayable, row: int, selector: Replayed) -> tuple[Array | None, float]:
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


def _run_one(selector: Replayed, arrived: _Arrived, runs: Replayable) -> tuple[list[Slice], bool, float]:
    """Return the one run on an instance, whether it solved it, and the time to decide and to learn."""
    started = time.perf_counter()
    reported = arrived.feature_cost if selector.may_skip_features else 0.0
    decision = selector.select(arrived.features, instance=arrived.name, feature_cost=reported)
    elapsed = time.perf_counter() - started
    choice = runs.algorithms.index(decision.algorithm)
    runtime = arrived.times[choice]
    solved = runtime + reported <= runs.cutoff
    outcome = Outcome.solved(runtime) if solved else Outcome.censored(runs.cutoff - reported)
    started = time.perf_counter()
    selector.observe(decision, outcome)
    elapsed += time.perf_counter() - started
    return [Slice(choice, runtime if solved else runs.cutoff - reported)], solved, elapsed


def _run_schedule(selector: Replayed, arrived: _Arrived, runs: Replayable) -> tuple[list[Slice], bool, float]:
    """Return the runs on an instance until it is solved or given up, and the rest as `_run_one` does."""
    taken: list[Slice] = []
    solved = False
    if arrived.feature_cost >= runs.cutoff:  # the features used up the cutoff
        return taken, solved, 0.0
    started = time.perf_counter()
    decision: Decision | None = selector.select(
        arrived.features, instance=arrived.name, feature_cost=arrived.feature_cost
    )
    elapsed = time.perf_counter() - started
    while decision is not None:
        choice, budget = runs.algorithms.index(decision.algorithm), decision.budget
        runtime = arrived.times[choice]
        solved = runtime <= budget
        taken.append(Slice(choice, min(runtime, budget)))
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
        ran = np.fmin(runs.runtimes[order[slices.step], slices.algorithm], slices.seconds)
        cpu = np.bincount(slices.step, ran, len(order)).astype(np.float64)
        return Trace(order, slices.last, nothing, nothing, cpu, slices)
    losses = np.where(runs.solved, runs.runtimes, penalty * runs.cutoff)
    return picks_trace(runs, order, PICKS[name](losses))


def picks_trace(runs: Replayable, order: NDArray[np.intp], choices: NDArray[np.intp]) -> Trace:
    """Return the trace of fixed choices; `choices` has one number per row."""
    nothing = np.zeros(len(order))
    cpu = np.fmin(runs.runtimes[order, choices[order]], runs.cutoff)
    return Trace(order, choices[order], nothing, nothing, cpu)


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
