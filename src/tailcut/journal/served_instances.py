"""The instances of a project: the runs on each with their times, and the result.

This follows from the events alone, so it can be read while another process writes them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tailcut.journal.events import Event, EventKind
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.types import PENALTY, Outcome, Status

_ANSWERED = (Status.SOLVED, Status.RATED)

PlainFeatures = Mapping[str, float | None] | list[float | None] | None
"""Features as an event has them: a missing one is None."""


def one_run(
    instance: str, algorithm: str, features: PlainFeatures, cutoff: float, outcome: Outcome
) -> RecordedRuns:
    """Return one run in the form that `fit` learns."""
    names = tuple(features) if isinstance(features, Mapping) else None
    values = list(features.values()) if isinstance(features, Mapping) else list(features or ())
    # A failed run counts as censored at the cutoff.
    watched = outcome.time if outcome.status is Status.CENSORED else math.nan
    return RecordedRuns(
        algorithms=(algorithm,),
        cutoff=cutoff,
        feature_names=names or None,
        features=np.array([values], dtype=np.float64).reshape(1, len(values)),
        runtimes=np.array([[cutoff if outcome.time is None else outcome.time]]),
        solved=np.array([[outcome.status is Status.SOLVED]]),
        known=None,
        instances=(instance,),
        watched=np.array([[watched]]),
    )


class SolverFate(NamedTuple):
    """What is known about one solver on one instance."""

    seconds: float
    """The runtime, or how long it was watched unsolved."""
    solved: bool

    def or_better(self, other: SolverFate | None) -> SolverFate:
        """Return the more informative of the two: the solved one, or the longer one."""
        if other is None or (self.solved, self.seconds) > (other.solved, other.seconds):
            return self
        return other


@dataclass
class ServedRun:
    """A run that was chosen, in progress or ended."""

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


@dataclass
class AskedInstance:
    """An instance that a decision was asked for."""

    name: str | None
    features: PlainFeatures
    cutoff: float
    began: float
    runs: list[ServedRun] = field(default_factory=list)
    fates: dict[str, SolverFate] = field(default_factory=dict)
    """By solver, from chosen runs and from extra runs made to measure or to learn."""
    besides: int = 0
    """The number of extra runs."""
    over: float | None = None
    """When it was completed; None if it is in progress."""
    answer: str | None = None
    problem: str | None = None
    raced: bool = False
    """Whether it was a race."""

    @property
    def answering(self) -> ServedRun | None:
        """The first run that solved it, or None."""
        return next(
            (run for run in sorted(self.runs, key=_end_of) if run.status in _ANSWERED),
            None,
        )

    @property
    def solved(self) -> bool:
        """Whether a chosen run solved it."""
        return any(run.status in _ANSWERED for run in self.runs)

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

    def learn(self, algorithm: str, fate: SolverFate) -> None:
        """Add what is known about a solver."""
        self.fates[algorithm] = fate.or_better(self.fates.get(algorithm))


class RecordedInstance(NamedTuple):
    """Recorded runs of an instance that was not selected in this project."""

    features: PlainFeatures
    cutoff: float
    fates: dict[str, SolverFate]


class ServedInstances:
    """Reads the events of a project one by one; with `most`, keeps only the latest instances."""

    def __init__(self, cutoff: float, *, schedules: bool, most: int | None = None) -> None:
        self.cutoff, self.schedules, self.most = cutoff, schedules, most
        self.instances: OrderedDict[int, AskedInstance] = OrderedDict()
        """By an increasing number, in the order in which they began."""
        self.recorded: list[RecordedInstance] = []
        self.last_event = 0
        self.last_at: float | None = None
        self._begun = 0
        self._by_decision: dict[int, AskedInstance] = {}
        self._by_name: dict[str, AskedInstance] = {}
        self._raced: OrderedDict[int, AskedInstance] = OrderedDict()
        """By their first decisions, which name a race."""

    @property
    def over(self) -> list[AskedInstance]:
        """The completed instances, in the order in which they began."""
        return [one for one in self.instances.values() if one.over is not None]

    def take_all(self, events: Iterable[Event]) -> None:
        """Read events, oldest first."""
        for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        """Read one more event."""
        body, note = event.body, event.body.get("note") or {}
        self.last_event, self.last_at = event.number, event.at
        match event.kind:
            case EventKind.SELECT:
                self._begin(body, note, event.at)
            case EventKind.OBSERVE if body["decision"] in self._by_decision:
                self._observe(body["decision"], event.outcome(), note, event.at)
            case EventKind.PROCEED if body["after"] in self._by_decision:
                self._proceed(self._by_decision.pop(body["after"]), body["decision"], event.at)
            case EventKind.FIT:
                self._fit(RecordedRuns.from_dict(body))
            case EventKind.REMARK if "feature_seconds" in note:  # the features used up the cutoff
                given_up = AskedInstance(body["instance"], None, self.cutoff, event.at, over=event.at)
                given_up.problem = note.get("problem")
                self._add(given_up)

    def _add(self, one: AskedInstance) -> None:
        self.instances[self._begun] = one
        self._begun += 1
        if one.name is not None:
            self._by_name[one.name] = one
        if self.most is not None and len(self.instances) > self.most:
            _, oldest = self.instances.popitem(last=False)
            if oldest.name is not None and self._by_name.get(oldest.name) is oldest:
                del self._by_name[oldest.name]

    def _begin(self, body: Mapping[str, Any], note: Mapping[str, Any], at: float) -> None:
        made = body["decision"]
        one = self._raced.get(note["race"]) if "race" in note else None
        if one is not None:  # another run joins a race
            one.raced, one.over = True, one.over if one.solved else None
        else:
            cutoff = note.get("cutoff", made["cutoff"])
            one = AskedInstance(made["instance"], body["features"], cutoff, at, problem=note.get("problem"))
            self._add(one)
            self._raced[made["id"]] = one
            if self.most is not None and len(self._raced) > self.most:
                self._raced.popitem(last=False)
        self._choose(one, made, at)

    def _choose(self, one: AskedInstance, made: Mapping[str, Any], at: float) -> None:
        run = ServedRun(made["id"], made["algorithm"], made["reason"], made["budget"], made["spent"], at)
        one.runs.append(run)
        self._by_decision[run.decision] = one

    def _observe(self, decision: int, outcome: Outcome, note: Mapping[str, Any], at: float) -> None:
        one = self._by_decision[decision]
        run = next(run for run in reversed(one.runs) if run.decision == decision)
        run.ended, run.status, run.problem = at, outcome.status, note.get("problem")
        took = run.budget if outcome.time is None else outcome.time
        run.seconds = float(note.get("seconds", took))
        solved = outcome.answered
        if outcome.loss is None:  # a rated run has no runtime
            # More time would not have helped a failed run.
            one.learn(run.algorithm, SolverFate(one.cutoff if outcome.time is None else outcome.time, solved))
        if solved:
            one.answer = note.get("answer")
        running = one.raced and any(other.status is None for other in one.runs)
        if solved or (not self.schedules and not running):
            one.over = at if one.over is None else one.over
        if solved or one.over is not None:
            del self._by_decision[decision]

    def _proceed(self, one: AskedInstance, made: Mapping[str, Any] | None, at: float) -> None:
        if made is None:
            one.over = at
        else:
            self._choose(one, made, at)

    def _fit(self, runs: RecordedRuns) -> None:
        """Add runs that were not chosen, of instances of this project or of others."""
        known = runs.solved | ~np.isnan(runs.runtimes)
        if runs.known is not None:
            known &= runs.known
        for row in range(len(runs.features)):
            fates = {runs.algorithms[a]: _recorded(runs, row, a) for a in np.flatnonzero(known[row]).tolist()}
            served = None if runs.instances is None else self._by_name.get(runs.instances[row])
            if served is not None:
                served.besides += len(fates)
                for name, fate in fates.items():
                    served.learn(name, fate)
            elif fates and (self.most is None or len(self.recorded) < self.most):
                self.recorded.append(RecordedInstance(_plain(runs, row), runs.cutoff, fates))


def _end_of(run: ServedRun) -> float:
    return math.inf if run.ended is None else run.ended


def _recorded(runs: RecordedRuns, row: int, algorithm: int) -> SolverFate:
    if runs.solved[row, algorithm]:
        return SolverFate(float(runs.runtimes[row, algorithm]), True)
    watched = np.nan if runs.watched is None else runs.watched[row, algorithm]
    return SolverFate(float(np.fmin(watched, runs.cutoff)), False)


def _plain(runs: RecordedRuns, row: int) -> PlainFeatures:
    values = [None if np.isnan(value) else float(value) for value in runs.features[row].tolist()]
    return values if runs.feature_names is None else dict(zip(runs.feature_names, values, strict=True))
