"""The one fold of a project's events into instances: the runs on each, their times, and the result.

Reports, estimates, `tailcut watch` and warm starts read it; `tailcut.journal.statistics` counts separately,
because it must fit into a snapshot and outlive the events of a compacted project.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.journal.events import Event, EventKind
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.types import PENALTY, Array, Outcome, Status

PlainFeatures = Mapping[str, float | None] | list[float | None] | None
"""Features as an event has them: a missing one is None."""


class CensoredTime(NamedTuple):
    """What is known about one solver on one instance: its runtime, or how long it was watched unsolved."""

    seconds: float
    solved: bool


@dataclass
class Run:
    decision: int
    algorithm: str
    reason: str
    budget: float
    spent: float
    """Seconds of the instance's cutoff that were used before it."""
    began: float
    """When, in seconds since 1970."""
    ended: float | None = None
    seconds: float | None = None
    """How long it ran by the portfolio's clock; None if it has not ended."""
    status: Status | None = None
    problem: str | None = None

    @property
    def answered(self) -> bool:
        return self.status in (Status.SOLVED, Status.RATED)


@dataclass
class Instance:
    """An instance that a decision was made for, or that was only recorded: then it has no runs."""

    name: str | None
    features: PlainFeatures
    cutoff: float
    began: float
    """When, in seconds since 1970."""
    event: int
    feature_cost: float = math.nan
    """The seconds that computing the features took, nan where unknown."""
    runs: list[Run] = field(default_factory=list)
    times: dict[str, CensoredTime] = field(default_factory=dict)
    """By solver, from chosen runs and from extra runs made to measure or to learn."""
    besides: int = 0
    over: float | None = None
    answer: str | None = None
    problem: str | None = None
    raced: bool = False

    @property
    def answering(self) -> Run | None:
        """The first run that solved it, or None."""
        answers = (run for run in self.runs if run.answered)
        return min(answers, key=lambda run: math.inf if run.ended is None else run.ended, default=None)

    @property
    def solved(self) -> bool:
        return any(run.answered for run in self.runs)

    @property
    def seconds(self) -> float:
        """Seconds used so far by chosen runs, features included."""
        if self.answering is not None:
            return self.answering.spent + (self.answering.seconds or 0.0)
        return max((run.spent + (run.seconds or 0.0) for run in self.runs), default=self.cutoff)

    @property
    def par10(self) -> float:
        """Its cost: its seconds, or ten cutoffs if it was not solved."""
        return self.seconds if self.solved else PENALTY * self.cutoff

    def learn(self, times: Mapping[str, CensoredTime]) -> None:
        """Add what is known about solvers; of two times of one, the solved or the longer one counts."""
        for solver, new in times.items():
            best = self.times.get(solver, new)
            self.times[solver] = max(best, new, key=lambda time: (time.solved, time.seconds))


class FirstDecisions:
    """Finds the instance that an event is about, by the number of the first decision on that instance."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        """By decision; those that can neither end nor continue any more are dropped."""

    def of(self, event: Event) -> int | None:
        """Return the first decision on the instance of an event; None if it is unknown, or about no run."""
        body = event.body
        match event.kind:
            case EventKind.SELECT:
                made = body["decision"]["id"]
                first = (body.get("note") or {}).get("race", made)  # a race is named by its first decision
                self._first[made] = first
                return int(first)
            case EventKind.OBSERVE if event.outcome().answered:
                return self._first.pop(body["decision"], None)
            case EventKind.OBSERVE:
                return self._first.get(body["decision"])
            case EventKind.PROCEED:
                first = self._first.pop(body["after"], None)
                if first is not None and body["decision"] is not None:
                    self._first[body["decision"]["id"]] = first
                return first
        return None


class Instances:
    """Reads the events of a project one by one; with `most`, keeps only the latest instances."""

    def __init__(self, cutoff: float, *, schedules: bool, most: int | None = None) -> None:
        self.cutoff, self.schedules, self.most = cutoff, schedules, most
        self.instances: OrderedDict[int, Instance] = OrderedDict()
        """By the first decision on each, in the order in which they began; one whose features used up its
        cutoff has no decision, and a negative number."""
        self.recorded: list[Instance] = []
        """Instances of recorded runs that were not selected in this project."""
        self.longest_cutoff = cutoff
        """Of this project and of the runs that it learned."""
        self.last_event = 0
        self.last_at: float | None = None
        self._first = FirstDecisions()
        self._by_name: dict[str, Instance] = {}

    @property
    def over(self) -> list[Instance]:
        return [instance for instance in self.instances.values() if instance.over is not None]

    def take_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        body, note = event.body, event.body.get("note") or {}
        self.last_event, self.last_at = event.number, event.at
        first = self._first.of(event)
        instance = None if first is None else self.instances.get(first)
        match event.kind:
            case EventKind.SELECT:
                assert first is not None
                self._select(first, instance, event, note)
            case EventKind.OBSERVE if instance is not None:
                self._observe(instance, event, note)
            case EventKind.PROCEED if instance is not None and instance.over is None:
                if body["decision"] is None:
                    instance.over = event.at
                else:
                    _choose(instance, body["decision"], event.at)
            case EventKind.FIT:
                self._fit(RecordedRuns.from_dict(body), event)
            case EventKind.REMARK if "feature_seconds" in note:  # the features used up the cutoff
                unrun = Instance(body["instance"], None, self.cutoff, event.at, event.number, over=event.at)
                unrun.problem = note.get("problem")
                self._add(-event.number, unrun)

    def _add(self, number: int, instance: Instance) -> None:
        self.instances[number] = instance
        if instance.name is not None:
            self._by_name[instance.name] = instance
        if self.most is not None and len(self.instances) > self.most:
            _, oldest = self.instances.popitem(last=False)
            if oldest.name is not None and self._by_name.get(oldest.name) is oldest:
                del self._by_name[oldest.name]

    def _select(self, first: int, instance: Instance | None, event: Event, note: Mapping[str, Any]) -> None:
        body, decision = event.body, event.body["decision"]
        if instance is None:
            cutoff, cost = note.get("cutoff", decision["cutoff"]), body["feature_cost"]
            given = decision["instance"], body["features"], cutoff, event.at, event.number, cost
            instance = Instance(*given, problem=note.get("problem"))
            self._add(first, instance)
        else:  # another run joins a race
            instance.raced, instance.over = True, instance.over if instance.solved else None
        _choose(instance, decision, event.at)

    def _observe(self, instance: Instance, event: Event, note: Mapping[str, Any]) -> None:
        outcome, decision = event.outcome(), event.body["decision"]
        run = next(run for run in reversed(instance.runs) if run.decision == decision)
        run.ended, run.status, run.problem = event.at, outcome.status, note.get("problem")
        run.seconds = float(note.get("seconds", run.budget if outcome.time is None else outcome.time))
        if outcome.loss is None:  # a rated run has no runtime
            # More time would not have helped a failed run.
            seconds = instance.cutoff if outcome.time is None else outcome.time
            instance.learn({run.algorithm: CensoredTime(seconds, outcome.answered)})
        if outcome.answered:
            instance.answer = note.get("answer")
        running = instance.raced and any(other.status is None for other in instance.runs)
        if instance.over is None and (outcome.answered or not (self.schedules or running)):
            instance.over = event.at

    def _fit(self, runs: RecordedRuns, event: Event) -> None:
        """Add runs that were not chosen, of instances of this project or of others."""
        self.longest_cutoff = max(self.longest_cutoff, runs.cutoff)
        known = runs.solved | ~np.isnan(runs.runtimes)
        if runs.known is not None:
            known &= runs.known
        watched = runs.cutoff if runs.watched is None else np.fmin(runs.watched, runs.cutoff)
        seconds = np.where(runs.solved, runs.runtimes, watched)
        for row, cells in enumerate(zip(seconds, runs.solved, known, strict=True)):
            each = zip(runs.algorithms, *(values.tolist() for values in cells), strict=True)
            times = {solver: CensoredTime(time, solved) for solver, time, solved, there in each if there}
            name = f"row {row} of event {event.number}" if runs.instances is None else runs.instances[row]
            instance = self._by_name.get(name)
            if instance is not None:
                instance.besides += len(times)
                instance.learn(times)
            elif times and (self.most is None or len(self.recorded) < self.most):
                cost = math.nan if runs.feature_cost is None else float(runs.feature_cost[row])
                plain = (name, _plain_features(runs, row), runs.cutoff, event.at, event.number, cost)
                self.recorded.append(Instance(*plain, times=times))


def _choose(instance: Instance, made: Mapping[str, Any], at: float) -> None:
    instance.runs.append(
        Run(made["id"], made["algorithm"], made["reason"], made["budget"], made["spent"], began=at)
    )


def _plain_features(runs: RecordedRuns, row: int) -> PlainFeatures:
    values = [None if math.isnan(value) else value for value in runs.features[row].tolist()]
    return values if runs.feature_names is None else dict(zip(runs.feature_names, values, strict=True))


def feature_table(
    given: Sequence[PlainFeatures], names: Sequence[str] | None = None
) -> tuple[list[str | int], Array]:
    """Return the features of instances as a table, nan where missing, and its columns.

    Columns are in the order of their first appearance; without names, features go by their positions.
    """
    rows: list[Mapping[Any, float | None]] = [
        values if isinstance(values, Mapping) else dict(zip(names or range(len(values)), values, strict=True))
        for values in (features or {} for features in given)
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name) for name in columns] for row in rows]
    return columns, np.array(cells, dtype=np.float64).reshape(len(rows), len(columns))


def time_table(instances: Sequence[Instance], solvers: Sequence[str]) -> tuple[Array, NDArray[np.bool_]]:
    """Return seconds, nan where nothing is known, and what was solved within them: shape (n, K) each."""
    unknown = CensoredTime(math.nan, solved=False)
    cells = [[instance.times.get(solver, unknown) for solver in solvers] for instance in instances]
    table = np.array(cells, dtype=np.float64).reshape(len(instances), len(solvers), 2)
    return table[:, :, 0].copy(), table[:, :, 1].astype(np.bool_)


def one_run(
    instance: str, algorithm: str, features: PlainFeatures, cutoff: float, outcome: Outcome
) -> RecordedRuns:
    names = tuple(features) if isinstance(features, Mapping) else None
    # A failed run counts as censored at the cutoff.
    watched = outcome.time if outcome.status is Status.CENSORED else math.nan
    return RecordedRuns(
        algorithms=(algorithm,),
        cutoff=cutoff,
        feature_names=names or None,
        features=feature_table([features])[1],
        runtimes=np.array([[cutoff if outcome.time is None else outcome.time]]),
        solved=np.array([[outcome.status is Status.SOLVED]]),
        known=None,
        instances=(instance,),
        watched=np.array([[watched]]),
    )
