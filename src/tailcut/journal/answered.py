"""The latest answered instances of a project, and the runs worth making on them only to learn.

This state follows from the events alone, so replaying them restores it. Which runs were handed out is kept in
memory only. After a while, or when the process ends, they may be handed out again.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tailcut.journal.events import Event, EventKind
from tailcut.policies.lessons import Answered
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.selector import Selector
from tailcut.state.stateful import Stateful
from tailcut.types import Outcome, Status

KEPT = 100
"""The number of latest answered instances that are kept."""
UNDER_WAY = 200
"""The number of latest unanswered instances that are kept."""
NUMBERS = 200_000
"""The maximum number of features in each of them: with very many features, fewer instances are kept."""
_LONGER = 2.0
_MARGIN = 60.0
"""A run is handed out to one worker for twice its budget plus a minute."""

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


class LessonOffer(NamedTuple):
    """A run that is worth making only to learn from it."""

    instance: str
    """An answered instance."""
    algorithm: str
    budget: float
    """Seconds after which it is stopped."""
    cutoff: float
    """Of the project."""
    features: PlainFeatures
    """Of the instance, as they were given to `select`."""

    def runs(self, outcome: Outcome) -> RecordedRuns:
        """Return the run with its outcome, in the form that `fit` learns.

        >>> offer = LessonOffer("i1", "kissat", 30.0, 300.0, {"clauses": 850.0})
        >>> offer.runs(Outcome.censored(30.0)).to_dict()["watched"]
        [[30.0]]
        """
        return one_run(self.instance, self.algorithm, self.features, self.cutoff, outcome)


class _Served:
    """An instance, and the longest run of each algorithm on it; inf if it solved it."""

    def __init__(
        self, instance: str, features: PlainFeatures, algorithm: str, tried: dict[str, float]
    ) -> None:
        self.instance, self.features, self.algorithm, self.tried = instance, features, algorithm, tried

    def add(self, algorithm: str, seconds: float) -> None:
        self.tried[algorithm] = max(seconds, self.tried.get(algorithm, 0.0))

    def saved(self) -> list[Any]:
        tried = {name: None if math.isinf(seconds) else seconds for name, seconds in self.tried.items()}
        return [self.instance, self.features, self.algorithm, tried]

    @staticmethod
    def read(saved: list[Any]) -> _Served:
        instance, features, algorithm, tried = saved
        times = {name: math.inf if seconds is None else seconds for name, seconds in tried.items()}
        return _Served(instance, features, algorithm, times)


class AnsweredInstances(Stateful):
    """Reads the events of a project and keeps a bounded number of instances."""

    STATE = ("saved_under_way", "saved_over")
    GROWING = STATE

    def __init__(self, cutoff: float, *, schedules: bool) -> None:
        self.cutoff, self.schedules = cutoff, schedules
        self.under_way: OrderedDict[int, _Served] = OrderedDict()
        """By the latest decision."""
        self.over: OrderedDict[str, _Served] = OrderedDict()
        """By name."""

    def take(self, event: Event) -> None:
        """Take in one more event."""
        body = event.body
        match event.kind:
            case EventKind.SELECT if body.get("instance") is not None:
                name, made = body["instance"], body["decision"]
                self.over.pop(name, None)  # it may be a different instance now
                self.under_way[made["id"]] = _Served(name, body["features"], made["algorithm"], {})
                _bound(self.under_way, UNDER_WAY, body["features"])
            case EventKind.OBSERVE if body["decision"] in self.under_way:
                self._observed(body["decision"], event.outcome())
            case EventKind.PROCEED if body["after"] in self.under_way:
                self._continued(body["after"], body["decision"])
            case EventKind.FIT if body.get("instances"):
                self._fitted(body)
            case EventKind.REMOVE_ALGORITHM:
                for one in (*self.under_way.values(), *self.over.values()):
                    one.tried.pop(body["algorithm"], None)

    def _observed(self, decision: int, outcome: Outcome) -> None:
        one, solved = self.under_way[decision], outcome.answered
        # More time would not have helped a failed run: there is nothing more to learn.
        seconds = self.cutoff if outcome.time is None else outcome.time
        one.add(one.algorithm, math.inf if solved else seconds)
        if solved or not self.schedules:
            self._finish(decision)

    def _continued(self, after: int, following: Mapping[str, Any] | None) -> None:
        if following is None:
            self._finish(after)
        else:
            one = self.under_way.pop(after)
            one.algorithm = following["algorithm"]
            self.under_way[following["id"]] = one

    def _finish(self, decision: int) -> None:
        one = self.under_way.pop(decision)
        self.over.pop(one.instance, None)
        self.over[one.instance] = one
        _bound(self.over, KEPT, one.features)

    def _fitted(self, body: Mapping[str, Any]) -> None:
        served = {one.instance: one for one in self.under_way.values()} | self.over
        if served.keys().isdisjoint(body["instances"]):
            return
        runs = RecordedRuns.from_dict(body)
        known = runs.solved | ~np.isnan(runs.runtimes)
        if runs.known is not None:
            known &= runs.known
        for row, name in enumerate(runs.instances or ()):
            for column in np.flatnonzero(known[row]).tolist() if name in served else ():
                watched = math.nan if runs.watched is None else float(runs.watched[row, column])
                seconds = runs.cutoff if math.isnan(watched) else watched
                solved = bool(runs.solved[row, column])
                served[name].add(runs.algorithms[column], math.inf if solved else seconds)

    @property
    def saved_under_way(self) -> list[list[Any]]:
        """Decision and instance of all unanswered instances."""
        return [[decision, *one.saved()] for decision, one in self.under_way.items()]

    @saved_under_way.setter
    def saved_under_way(self, saved: list[list[Any]]) -> None:
        self.under_way = OrderedDict((decision, _Served.read(one)) for decision, *one in saved)

    @property
    def saved_over(self) -> list[list[Any]]:
        """The instances that are answered."""
        return [one.saved() for one in self.over.values()]

    @saved_over.setter
    def saved_over(self, saved: list[list[Any]]) -> None:
        self.over = OrderedDict((one.instance, one) for one in map(_Served.read, saved))


def _bound(kept: OrderedDict[Any, _Served], most: int, features: PlainFeatures) -> None:
    """Drop the oldest if there are more than `most`, or too many features in total."""
    most = max(1, min(most, NUMBERS // max(len(features or ()), 1)))
    while len(kept) > most:
        kept.popitem(last=False)


class _Lent(NamedTuple):
    until: float
    tried: float
    """How long the algorithm had run there; a change means that the outcome has arrived."""


class LentLessons:
    """Hands out lessons, each to one worker at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lent: dict[tuple[str, str], _Lent] = {}

    def offer(
        self, selector: Selector, answered: AnsweredInstances, where: Callable[[str], bool] | None = None
    ) -> LessonOffer | None:
        """Return what `Selector.next_lesson` chooses among the instances with `where`; None: nothing."""
        now = self._clock()
        self._lent = {
            pair: lent
            for pair, lent in self._lent.items()
            if lent.until > now and _tried(answered, *pair) == lent.tried
        }
        candidates = [
            Answered(name, self._with_lent(one))
            for name, one in answered.over.items()
            if where is None or where(name)
        ]
        lesson = selector.next_lesson(candidates) if candidates else None
        if lesson is None:
            return None
        pair = lesson.instance, lesson.algorithm
        self._lent[pair] = _Lent(now + _LONGER * lesson.budget + _MARGIN, _tried(answered, *pair))
        return LessonOffer(*lesson, selector.cutoff, answered.over[lesson.instance].features)

    def give_back(self, offer: LessonOffer) -> None:
        """Make an abandoned lesson available again."""
        self._lent.pop((offer.instance, offer.algorithm), None)

    def _with_lent(self, one: _Served) -> dict[str, float]:
        """Return what has run on an instance; current runs count as known."""
        lent = {algorithm: math.inf for name, algorithm in self._lent if name == one.instance}
        return one.tried | lent


def _tried(answered: AnsweredInstances, instance: str, algorithm: str) -> float:
    one = answered.over.get(instance)
    return math.nan if one is None else one.tried.get(algorithm, 0.0)
