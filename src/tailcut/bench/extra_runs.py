"""Extra runs: the first instances measured with all algorithms, and lessons in between.

Their CPU time is counted separately and is not part of the answers' loss. They are learned by `fit`, one
instance at a time, and nothing is learned that was not run.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from tailcut.bench.conditions import Conditions, LessonChoice
from tailcut.bench.replay import Replayable, ServedInstance
from tailcut.errors import InputError
from tailcut.numerics.randomness import stream
from tailcut.policies.lessons import Answered, Lesson, uniform_lesson
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.selector import Selector
from tailcut.types import Array

CANDIDATES = 100
"""The number of latest answered instances among which lessons are chosen."""

ChooseLesson = Callable[[Sequence[Answered]], Lesson | None]


def check_choice(choice: LessonChoice, selector: object = Selector) -> None:
    """Raise if a selector does not support this choice of lessons."""
    if choice is LessonChoice.WORTH and not hasattr(selector, "next_lesson"):
        raise InputError("selectors cannot choose lessons by their worth yet: give --learn-choice uniform")


class ExtraRuns:
    """Makes the extra runs of one replay, and counts their CPU time."""

    def __init__(self, runs: Replayable, selector: Selector, conditions: Conditions, *, seed: int) -> None:
        self.seconds = 0.0
        """CPU seconds of the extra runs so far."""
        self.answers = 0.0
        """CPU seconds of the answers so far."""
        self._runs, self._selector, self._conditions = runs, selector, conditions
        self._numbers = {name: k for k, name in enumerate(runs.algorithms)}
        self._choose = self._chooser(seed) if conditions.learn_share else None
        self._left_to_measure = conditions.measure_first
        self._recent: deque[_Kept] = deque(maxlen=CANDIDATES)

    def _chooser(self, seed: int) -> ChooseLesson:
        check_choice(self._conditions.learn_choice, self._selector)
        if self._conditions.learn_choice is LessonChoice.WORTH:
            choose: ChooseLesson = getattr(self._selector, "next_lesson")  # noqa: B009
            return choose
        chance, runs = stream(seed, "lessons"), self._runs
        return lambda candidates: uniform_lesson(candidates, runs.algorithms, runs.cutoff, chance)

    def after(self, served: ServedInstance) -> None:
        """Make the runs that are due after an instance was answered."""
        self.answers += served.cpu
        kept = _Kept(served, self._runs.algorithms)
        if self._left_to_measure:
            self._left_to_measure -= 1
            self._measure(kept)
        self._recent.append(kept)
        if self._choose is not None:
            self._learn(self._choose)

    def _measure(self, kept: _Kept) -> None:
        """Run all algorithms that the answer did not run, or that a schedule stopped early."""
        limit = self._conditions.measure_cutoff * self._runs.cutoff
        tried = kept.tried
        if self._selector.schedules:
            tried = {name: seconds for name, seconds in tried.items() if seconds >= limit}
        rest = [name for name in self._runs.algorithms if name not in tried]
        if rest:
            self._run(kept, rest, limit)

    def _learn(self, choose: ChooseLesson) -> None:
        """Make lessons for as long as there is CPU time for them."""
        while self.seconds < self._conditions.learn_share * self.answers:
            lesson = choose([kept.answered for kept in self._recent])
            if lesson is None:
                return
            kept = next(one for one in self._recent if one.served.name == lesson.instance)
            if not kept.tried.get(lesson.algorithm, 0.0) < lesson.budget:
                raise InputError(f"{lesson}: it has run there for that long, or solved the instance")
            self._run(kept, [lesson.algorithm], min(lesson.budget, self._runs.cutoff))

    def _run(self, kept: _Kept, algorithms: Sequence[str], limit: float) -> None:
        """Run algorithms on an instance, each from scratch and for at most `limit` seconds; learn from it."""
        runs, row = self._runs, kept.served.row
        runtimes = np.full((1, len(runs.algorithms)), np.nan)
        solved = np.zeros(runtimes.shape, dtype=np.bool_)
        for name in algorithms:
            k = self._numbers[name]
            recorded = float(runs.runtimes[row, k])
            solved[0, k] = runs.solved[row, k] and recorded <= limit
            runtimes[0, k] = recorded if solved[0, k] else limit
            self.seconds += float(np.fmin(recorded, limit))  # an unsolved run may have ended early
            kept.tried[name] = math.inf if solved[0, k] else max(limit, kept.tried.get(name, 0.0))
        self._selector.fit(
            RecordedRuns(
                algorithms=runs.algorithms,
                cutoff=runs.cutoff,
                feature_names=None,
                features=kept.features(runs.features.shape[1]),
                runtimes=runtimes,
                solved=solved,
                known=None,
                instances=(kept.served.name,),
                watched=np.full(runtimes.shape, limit),
            )
        )


class _Kept:
    """An answered instance, and how long each algorithm has run on it."""

    def __init__(self, served: ServedInstance, algorithms: Sequence[str]) -> None:
        self.served = served
        self.tried: dict[str, float] = {}
        """Seconds, inf where the instance was solved."""
        for number, seconds in served.slices:
            name = algorithms[number]
            self.tried[name] = max(seconds, self.tried.get(name, 0.0))
        if served.solved:
            self.tried[algorithms[served.slices[-1].algorithm]] = math.inf

    @property
    def answered(self) -> Answered:
        """The view of it for choosing lessons."""
        return Answered(self.served.name, self.tried)

    def features(self, width: int) -> Array:
        """Return its features as a table of one row; those the selector did not wait for are missing."""
        given = self.served.features
        return np.full((1, width), np.nan) if given is None else given[None, :]
