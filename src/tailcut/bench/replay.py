"""The replay: instances in a shuffled order, each decided and observed before the next, or fold by fold.

A run starts from scratch and is stopped at its budget: it solves the instance if the scenario's runtime is
not longer. Where a scenario has `ratings`, an answer costs its rating, whatever time it took, and features
cost nothing. Nothing is learned that was not run.

A selector that can skip features (`may_skip_features`) says how long computing them may take: where the
scenario's cost is higher they are stopped then, and that time is lost. It learns what they cost, and its run
gets the time that is left. To the others' choices the cost is added (`tailcut.bench.summary.paid`).

In cross-validation every instance is scored once, so the folds form one trace, in the order of the seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.labels import STREAM, Conditions
from tailcut.errors import InputError
from tailcut.numerics.randomness import stream
from tailcut.policies.recorded_runs import Recorded, RecordedRuns, instance_names
from tailcut.scenarios import QualityScenario, Scenario
from tailcut.selector import Selector
from tailcut.types import PENALTY, Array, Decision, Features, Outcome, Request

P = ParamSpec("P")
T = TypeVar("T")

Folds = NDArray[np.int64]
"""The fold of each instance, shape (n,)."""


class Slice(NamedTuple):
    """One run on an instance."""

    algorithm: int
    """Its number; -1 for a race in which nothing ran."""
    seconds: float
    """How long it ran: until it solved the instance or was stopped."""


@dataclass(slots=True)
class ServedInstance:
    """An instance that is answered or given up."""

    row: int
    name: str
    features: Array | None
    """The features that the selector saw; None if it did not wait for them."""
    feature_cost: float
    slices: list[Slice] = field(default_factory=list)
    """Its runs, in order; of a race, the last to end."""
    solved: bool = False
    """Whether the last of them solved it."""
    cpu: float = 0.0
    """Seconds that its features and runs took."""
    deciding: float = 0.0
    """Seconds to decide and to learn."""


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
    def total(self) -> Array:
        return np.asarray(np.bincount(self.step, self.seconds, len(self.solved)), dtype=np.float64)

    @property
    def last(self) -> NDArray[np.intp]:
        """Number of the last algorithm run at each step, -1 where none was, shape (n,)."""
        algorithms = np.full(len(self.solved), -1, dtype=np.intp)
        algorithms[self.step] = self.algorithm
        return algorithms


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
    """The runs of a schedule or race; None where one algorithm is picked for the whole cutoff."""
    extra_cpu: float = 0.0
    """Seconds of CPU time beside the answers, on instances measured first."""

    @staticmethod
    def of(served: Sequence[ServedInstance], *, sliced: bool, extra_cpu: float = 0.0) -> Trace:
        runs = [(step, *run) for step, instance in enumerate(served) for run in instance.slices]
        steps, algorithms, seconds = zip(*runs, strict=True) if runs else ((), (), ())
        slices = Slices(
            np.array(steps, np.intp),
            np.array(algorithms, np.intp),
            np.array(seconds, np.float64),
            np.array([instance.solved for instance in served], np.bool_),
        )
        return Trace(
            np.array([instance.row for instance in served], np.intp),
            slices.last,
            np.array([instance.deciding for instance in served], np.float64),
            np.array([instance.feature_cost for instance in served], np.float64),
            np.array([instance.cpu for instance in served], np.float64),
            slices if sliced else None,
            extra_cpu,
        )


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """Return the order in which `n` instances arrive under `seed`; the same for every selector."""
    return stream(seed, "instance order").permutation(n)


def losses_of(runs: Recorded, penalty: float = PENALTY) -> Array:
    """Return what each run costs without features, shape (n, K): its rating if there are any, else PARk."""
    ratings: Array | None = getattr(runs, "ratings", None)
    return np.where(runs.solved, runs.runtimes, penalty * runs.cutoff) if ratings is None else ratings


def replay(
    runs: Recorded,
    selector: Selector | FrozenSelector,
    *,
    seed: int,
    order: NDArray[np.intp] | None = None,
    conditions: Conditions = STREAM,
) -> Trace:
    """Serve every instance once, in the order of `seed`, each observed before the next.

    `order` are the rows to serve instead. Of the conditions, those count that are not about cross-validation.
    """
    rows = shuffled(len(runs.runtimes), seed) if order is None else order
    server = _Server(runs, selector, conditions)
    served = server.serve(rows)
    return Trace.of(served, sliced=selector.schedules or server.cores > 1, extra_cpu=server.extra_cpu)


def folds_of(scenario: Scenario | QualityScenario, made: int, seed: int) -> Folds:
    """Return the scenario's own folds (cv.arff); where it has none, `made` many, drawn by `seed`."""
    if scenario.folds is not None:
        if len(np.unique(scenario.folds)) < 2:
            raise InputError(f"{scenario.name}: cv.arff: expected 2 folds or more, got 1")
        return scenario.folds
    n = len(scenario.instances)
    if not made:
        raise InputError(
            f"{scenario.name}: has no folds (cv.arff, with a row for every instance); --folds 10 makes some"
        )
    if made > n:
        raise InputError(f"{scenario.name}: {made} folds are too many for {n} instances")
    return np.asarray(stream(seed, "folds").permutation(n) % made + 1, dtype=np.int64)


def best_in_training(losses: Array, folds: Folds) -> NDArray[np.intp]:
    """Return, for every instance, the algorithm with the lowest mean loss over all other folds.

    >>> best_in_training(np.array([[1.0, 2.0], [1.0, 2.0], [9.0, 1.0]]), np.array([1, 1, 2])).tolist()
    [1, 1, 0]
    """
    choices = np.empty(len(losses), dtype=np.intp)
    for fold in np.unique(folds):
        choices[folds == fold] = losses[folds != fold].mean(axis=0).argmin()
    return choices


def cross_validate(
    scenario: Scenario | QualityScenario,
    new_selector: Callable[[], Selector],
    folds: Folds,
    *,
    seed: int,
    learn_on: bool = False,
) -> Trace:
    """Return the trace of a selector on each fold after learning all others.

    Without `learn_on` it neither learns nor explores on the test fold.
    """
    order = shuffled(len(folds), seed)
    served: dict[int, ServedInstance] = {}
    for fold in np.unique(folds).tolist():
        selector = new_selector()
        selector.fit(scenario, known=np.broadcast_to((folds != fold)[:, None], scenario.solved.shape))
        judged = selector if learn_on else FrozenSelector(selector)
        rows = order[folds[order] == fold]
        served.update((instance.row, instance) for instance in _Server(scenario, judged).serve(rows))
    return Trace.of([served[row] for row in order.tolist()], sliced=selector.schedules)


class FrozenSelector:
    """A selector that decides by what it has learned so far, without randomness, and learns no more."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.schedules = selector.schedules
        self.needs_features = selector.needs_features
        self.may_skip_features = selector.may_skip_features
        self.feature_budget = selector.feature_budget
        self._request = Request()
        self._over = False

    def select(
        self, features: Features = None, *, instance: str | None = None, feature_cost: float = 0.0
    ) -> Decision:
        self._request = Request(features, instance, feature_cost=feature_cost)
        decision = self._selector.decide_frozen(self._request)
        assert decision is not None, "on a new instance everyone may run"
        return decision

    def observe(self, decision: Decision, outcome: Outcome) -> None:
        self._over = outcome.answered or not self.schedules
        ran = decision.budget if outcome.time is None else outcome.time
        failed = dict(self._request.failed or {})
        failed[decision.algorithm] = max(ran, failed.get(decision.algorithm, 0.0))
        self._request = replace(self._request, spent=self._request.spent + ran, failed=failed)

    def proceed(self, decision: Decision) -> Decision | None:  # noqa: ARG002
        return None if self._over else self._selector.decide_frozen(self._request)


class _Server:
    """Serves instances by what a selector decides, and lets it learn what came of that."""

    def __init__(
        self, runs: Recorded, selector: Selector | FrozenSelector, conditions: Conditions = STREAM
    ) -> None:
        self.runs, self.selector, self.cores = runs, selector, conditions.cores
        self.measured = conditions.measure_first
        self.limit = conditions.measure_cutoff * runs.cutoff
        """How long a run of an instance that is measured may take."""
        self.extra_cpu = 0.0
        self.times = np.where(runs.solved, runs.runtimes, np.inf).tolist()
        """Seconds until each algorithm solves each instance, inf where it does not."""
        self.recorded = runs.runtimes.tolist()
        self.names = instance_names(runs, len(self.times)) or tuple(map(str, range(len(self.times))))
        self.feature_cost: Array | None = getattr(runs, "feature_cost", None)
        self.ratings: Array | None = getattr(runs, "ratings", None)
        self.deciding = 0.0

    def serve(self, rows: NDArray[np.intp]) -> list[ServedInstance]:
        answer = self.pick
        if self.cores > 1:
            answer = self.race
        elif self.selector.schedules:
            answer = self.schedule
        served = []
        for step, row in enumerate(rows.tolist()):
            self.deciding = 0.0
            instance = ServedInstance(row, self.names[row], *self.timed(self.features, row))
            cpu = answer(instance)
            instance.cpu, instance.deciding = instance.feature_cost + cpu, self.deciding
            if step < self.measured:
                self.measure(instance)
            served.append(instance)
        return served

    def timed(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a call to the selector returns, and count its time as time to decide."""
        started = time.perf_counter()
        result = call(*args, **kwargs)
        self.deciding += time.perf_counter() - started
        return result

    def features(self, row: int) -> tuple[Array | None, float]:
        """Return the features of an instance and what they cost; None where they were not waited for."""
        if self.feature_cost is None or not self.selector.needs_features:
            return self.runs.features[row], 0.0
        cost = float(self.feature_cost[row])
        features: Array | None = self.runs.features[row]
        if self.selector.may_skip_features:
            budget = self.selector.feature_budget()
            if budget <= 0.0 or cost > budget:
                features, cost = None, budget
        # What takes longer in a race is stopped then.
        return features, min(cost, self.runs.cutoff) if self.cores > 1 else cost

    def cpu(self, served: ServedInstance) -> float:
        """Return the seconds that its runs took: the recorded time, unless that is longer or not known."""
        recorded = self.recorded[served.row]
        return sum(recorded[k] if recorded[k] < limit else limit for k, limit in served.slices)

    def pick(self, served: ServedInstance) -> float:
        """Give one algorithm the whole cutoff; return the CPU seconds of its run."""
        runs, row = self.runs, served.row
        cost = served.feature_cost if self.selector.may_skip_features else 0.0
        decision = self.timed(self.selector.select, served.features, instance=served.name, feature_cost=cost)
        choice = runs.algorithms.index(decision.algorithm)
        runtime, limit = self.times[row][choice], runs.cutoff - cost
        served.solved = runtime + cost <= runs.cutoff
        if self.ratings is not None:
            outcome = Outcome.rated(float(self.ratings[row, choice]))
        else:
            outcome = Outcome.solved(runtime) if served.solved else Outcome.censored(limit)
        self.timed(self.selector.observe, decision, outcome)
        served.slices.append(Slice(choice, runtime if served.solved else limit))
        return self.cpu(served)

    def schedule(self, served: ServedInstance) -> float:
        """Run algorithms until the instance is solved or given up; return the CPU seconds of all runs."""
        if served.feature_cost >= self.runs.cutoff:  # the features used up the cutoff
            return 0.0
        decision: Decision | None = self.timed(
            self.selector.select, served.features, instance=served.name, feature_cost=served.feature_cost
        )
        while decision is not None:
            choice = self.runs.algorithms.index(decision.algorithm)
            runtime, budget = self.times[served.row][choice], decision.budget
            served.solved = runtime <= budget
            served.slices.append(Slice(choice, min(runtime, budget)))
            outcome = Outcome.solved(runtime) if served.solved else Outcome.censored(budget)
            self.timed(self.selector.observe, decision, outcome)
            decision = self.timed(self.selector.proceed, decision)
        return self.cpu(served)

    def race(self, served: ServedInstance) -> float:
        """Run several at once, until the first answer; return the CPU seconds of all cores together."""
        assert isinstance(self.selector, Selector), "races are run on streams"
        algorithms, times = self.runs.algorithms, self.times[served.row]
        running: list[tuple[Decision, float]] = []  # with the time at which each was begun
        failed: dict[str, float] = {}
        cpu, now, last = 0.0, 0.0, -1
        while not served.solved and now < self.runs.cutoff - served.feature_cost:
            begun = self.timed(
                self.selector.race,
                served.features,
                k=self.cores - len(running),
                instance=served.name,
                spent=now,
                feature_cost=served.feature_cost,
                running={decision.algorithm: now - since for decision, since in running},
                failed=failed,
            )
            running += [(decision, now) for decision in begun]
            if not running:
                break
            ends = [
                since + min(times[algorithms.index(decision.algorithm)], decision.budget)
                for decision, since in running
            ]
            first = int(np.argmin(ends))
            now = ends[first]
            decision, since = running.pop(first)
            last = algorithms.index(decision.algorithm)
            served.solved = since + times[last] <= now
            if served.solved:
                cpu += times[last]
                self.timed(self.selector.observe, decision, Outcome.solved(times[last]))
                stopped = running
            else:
                failed[decision.algorithm] = now - since
                stopped = [(decision, since)]
            for other, since in stopped:
                cpu += now - since
                # A run that has only just started teaches nothing.
                self.timed(self.selector.observe, other, Outcome.censored(max(now - since, 1e-9)))
        served.slices.append(Slice(last, now))
        return cpu

    def measure(self, served: ServedInstance) -> None:
        """Run and `fit` all algorithms that the answer did not run, or that a schedule stopped early."""
        assert isinstance(self.selector, Selector), "nothing is measured for those that learn no more"
        runs, limit, row = self.runs, self.limit, served.row
        longest: dict[int, float] = {}
        for number, seconds in served.slices:
            longest[number] = max(seconds, longest.get(number, 0.0))
        if served.solved:
            longest[served.slices[-1].algorithm] = np.inf
        enough = limit if self.selector.schedules else 0.0
        rest = [k for k in range(len(runs.algorithms)) if k not in longest or longest[k] < enough]
        if not rest:
            return
        runtimes = np.full((1, len(runs.algorithms)), np.nan)
        solved = np.zeros(runtimes.shape, dtype=np.bool_)
        for k in rest:
            solved[0, k] = self.times[row][k] <= limit
            runtimes[0, k] = self.times[row][k] if solved[0, k] else limit
            self.extra_cpu += float(np.fmin(self.recorded[row][k], limit))  # an unsolved run may end early
        absent = np.full(runs.features.shape[1], np.nan)  # the selector did not wait for them
        measured = RecordedRuns(
            algorithms=runs.algorithms,
            cutoff=runs.cutoff,
            feature_names=None,
            features=(absent if served.features is None else served.features)[None, :],
            runtimes=runtimes,
            solved=solved,
            known=None,
            instances=(served.name,),
            watched=np.full(runtimes.shape, limit),
        )
        self.selector.fit(measured)
