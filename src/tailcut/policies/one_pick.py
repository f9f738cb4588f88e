"""A policy: the parts put together, for algorithms that are only numbers.

    features -> representation -> model -> exploration -> loss -> lowest score
                                    ^                                  |
                                    +---- censoring rule <- outcome <--+

Names, pending decisions and files are the business of `tailcut.selector`, which takes any `Chooser`: the
`Policy` here picks one algorithm per instance, a schedule (`tailcut.schedules`) may go on to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tailcut.explain.forecast import Forecast
from tailcut.models import Model
from tailcut.numerics import randomness
from tailcut.numerics.vectors import NO_FEATURES
from tailcut.policies.censoring import CensoringRule, Lesson, Unfinished
from tailcut.policies.exploration import Exploration
from tailcut.policies.feature_budget import Thrift
from tailcut.policies.first_runs import FirstRuns
from tailcut.policies.losses import Loss
from tailcut.policies.runs import Run
from tailcut.policies.targets import Target
from tailcut.representation import Pipeline
from tailcut.types import Array, Belief, Outcome, Progress, Status


@dataclass(frozen=True)
class Parts:
    """What a policy is made of."""

    representation: Pipeline
    model: Model
    censoring: CensoringRule
    exploration: Exploration
    loss: Loss
    target: Target
    """What the model predicts of a run."""
    first_runs: FirstRuns
    """Which runs are due before scores decide."""
    epsilon: float
    """Probability of a uniformly random choice instead."""
    forecast: Forecast | None = None
    """A model on the side that predicts runtimes, for explanations only."""
    thrift: Thrift | None = None
    """What features cost and bring, where the model can also predict without them."""


class Choice(NamedTuple):
    """What a policy decided: the algorithm's number, and what is needed to explain and to learn."""

    algorithm: int
    reason: str
    scores: Array
    """One per algorithm, the lower the better, shape (K,)."""
    x: Array
    """The represented instance, shape (d,); handed back when its outcome is known."""
    budget: float
    """Seconds to run; more than 0, at most what is left of the cutoff."""


class Chooser(Protocol):
    """What a selector needs of a policy for K algorithms, numbered 0 to K-1."""

    def choose(self, features: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice:
        """Return the first run on an instance with these raw `features`, nan where missing, shape (d,).

        `offered` holds the numbers to choose from, in increasing order (None: all).
        """
        ...

    def proceed(self, x: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice | None:
        """Return the next run on the unsolved instance represented by `x`, or None to give it up.

        There is time left, and `offered` lacks the algorithms that failed on this instance.
        """
        ...

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn how a run of `algorithm` went that was given `budget` seconds.

        `progress` is that before the run. A run censored at t is known to need longer than t, no more.
        """
        ...

    def represent(self, features: Array) -> Array:
        """Take in instances that need no decision, shape (n, d); return them represented, shape (n, w)."""
        ...

    def started(self, algorithm: int) -> None:
        """Take note of a run that was not chosen here: its algorithm is not untried any more."""
        ...

    def add(self) -> None:
        """Make room for one more algorithm, the last in number."""
        ...

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""
        ...

    def state(self) -> dict[str, Any]:
        """Return all that was learned, and where the random streams stand."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Continue exactly where `state` was taken."""
        ...


@runtime_checkable
class Sparing(Chooser, Protocol):
    """A policy that takes instances without features (`NO_FEATURES`), the first ones too."""

    def take_over(self, other: Any) -> None:
        """Go on for a policy of the same kind that was made before any features were seen."""
        ...


def go_on(
    policy: Chooser, run: Run, algorithms: Sequence[str]
) -> tuple[Choice | None, NDArray[np.intp] | None]:
    """Ask a policy how to go on with an open instance; tell what it was offered."""
    numbers = run.still_offered(algorithms)
    if numbers == []:
        return None, None
    offered = None if numbers is None else np.array(numbers)
    return policy.proceed(run.x, offered, run.progress(algorithms)), offered


class Policy:
    """Picks one of K algorithms per instance, for all the time there is, and learns from the outcomes."""

    def __init__(self, parts: Parts, *, n_algorithms: int, seed: int) -> None:
        self.parts = parts
        self.runs = np.zeros(n_algorithms)
        """How often each algorithm was chosen, counted when chosen: with many runs under way at once,
        an algorithm that has been started counts as tried."""
        self.untried = self._count_untried()
        self.censored = np.zeros(n_algorithms)
        """How many outcomes of each algorithm were censored or failed."""
        self.explore_stream = randomness.stream(seed, "exploration")
        self.censor_stream = randomness.stream(seed, "censoring")

    def _count_untried(self) -> int:
        """Return how many algorithms still await their first run."""
        return int((self.runs == 0.0).sum()) if self.parts.first_runs.pace > 0.0 else 0

    def choose(self, features: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice:
        """Return the algorithm to run, among the numbers `offered` (None: all)."""
        parts = self.parts
        cutoff, used, _ = progress
        x = parts.representation(features) if parts.thrift is None or len(features) else NO_FEATURES
        mean, variance = parts.model.predict(x)
        if parts.thrift is not None and parts.thrift.charged and len(x):
            without = _argmin(parts.model.predict(NO_FEATURES)[0], offered)
            parts.thrift.weigh(float(mean[without] - mean[_argmin(mean, offered)]))
        belief = Belief(mean, variance, self.censored)
        estimate = parts.exploration.estimate(belief, cutoff, self.explore_stream)
        scores = parts.loss.scores(estimate, cutoff)
        algorithm, reason = self._pick(scores, offered)
        if self.untried and self.runs[algorithm] == 0.0:
            self.untried -= 1
        self.runs[algorithm] += 1.0
        return Choice(algorithm, reason, scores, x, cutoff - used)

    def proceed(self, _x: Array, _offered: NDArray[np.intp] | None, _progress: Progress) -> None:
        """Return None: one pick is all there is."""

    def _pick(self, scores: Array, offered: NDArray[np.intp] | None) -> tuple[int, str]:
        """Return who runs and why: first runs where they are due; ties go to the first."""
        if self.untried or self.parts.first_runs.again:
            pool = np.arange(len(scores)) if offered is None else offered
            runs = self.runs[pool]
            due = self.parts.first_runs.due(runs)
            if due or self.untried:
                place = self.parts.first_runs.next(runs, self.explore_stream)
                if due:
                    return int(pool[place]), "exploration" if runs[place] else "first run"
                # The untried are all alike to the model. If each had a draw of its own, the best of many
                # draws would win; so one stands for all.
                judged = runs > 0.0
                judged[place] = True
                offered = pool[judged]
        if self.parts.epsilon > 0.0 and self.explore_stream.random() < self.parts.epsilon:
            pool = np.arange(len(scores)) if offered is None else offered
            return int(pool[int(self.explore_stream.integers(len(pool)))]), "exploration"
        return _argmin(scores, offered), "lowest score"

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, _budget: float) -> None:
        """Learn the outcome of a run of `algorithm` on the instance represented by `x`."""
        cutoff = progress.cutoff
        if self.parts.forecast is not None:
            self.parts.forecast.learn(algorithm, self.told(x), outcome, cutoff)
        if outcome.status is Status.SOLVED:
            assert outcome.time is not None
            self._teach(algorithm, x, self.parts.target.value(outcome.time, cutoff), 1.0)
            if self.parts.thrift is not None:
                self.parts.thrift.solved((progress.used + outcome.time) / cutoff)
            return
        self.censored[algorithm] += 1.0
        # A failed run would never have answered: it is known to need more than the cutoff.
        watched = cutoff if outcome.time is None else outcome.time
        lesson = self._lesson(algorithm, x, Unfinished(watched, cutoff, self.parts.target))
        if lesson is not None:
            self._teach(algorithm, x, lesson.target, lesson.weight)

    def _teach(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        model, thrift = self.parts.model, self.parts.thrift
        if thrift is not None and thrift.charged and len(x):
            thrift.check(algorithm, target, model.predict(x)[0], model.predict(NO_FEATURES)[0])
        model.update(algorithm, x, target, weight)

    def told(self, x: Array) -> Array:
        """Return a represented instance for parts that know no absent features: all values are missing."""
        if self.parts.thrift is None or len(x):
            return x
        return self.parts.representation.peek(np.full(self.parts.representation.n_features, np.nan))

    def _lesson(self, algorithm: int, x: Array, run: Unfinished) -> Lesson | None:
        parts = self.parts
        return parts.censoring.lesson(run, lambda: parts.model.look(algorithm, x), self.censor_stream)

    def represent(self, features: Array) -> Array:
        """Take in instances that need no decision, shape (n, d); return them represented, shape (n, w)."""
        return self.parts.representation.take_in(features)

    def started(self, algorithm: int) -> None:
        """Count a run that was not chosen here."""
        self.runs[algorithm] += 1.0
        self.untried = self._count_untried()

    def add(self) -> None:
        """Make room for one more algorithm, the last in number."""
        self.parts.model.add()
        if self.parts.forecast is not None:
            self.parts.forecast.add()
        self.runs, self.censored = np.append(self.runs, 0.0), np.append(self.censored, 0.0)
        self.untried = self._count_untried()

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""
        self.parts.model.remove(algorithm)
        if self.parts.forecast is not None:
            self.parts.forecast.remove(algorithm)
        self.runs, self.censored = np.delete(self.runs, algorithm), np.delete(self.censored, algorithm)
        self.untried = self._count_untried()

    def take_over(self, other: Self) -> None:
        """Go on for a policy that was made before any features were seen."""
        self.runs, self.censored, self.untried = other.runs, other.censored, other.untried
        self.explore_stream, self.censor_stream = other.explore_stream, other.censor_stream
        model: Any = self.parts.model
        model.take_over(other.parts.model)

    def state(self) -> dict[str, Any]:
        """Return all that was learned, and where the random streams stand."""
        return {
            "representation": self.parts.representation.state(),
            "model": self.parts.model.state(),
            "forecast": None if self.parts.forecast is None else self.parts.forecast.state(),
            "runs": self.runs,
            "censored": self.censored,
            "explore_stream": randomness.dump(self.explore_stream),
            "censor_stream": randomness.dump(self.censor_stream),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue exactly where `state` was taken."""
        self.parts.representation.restore(state["representation"])
        self.parts.model.restore(state["model"])
        if self.parts.forecast is not None and state.get("forecast") is not None:
            self.parts.forecast.restore(state["forecast"])
        self.runs, self.censored = state["runs"], state["censored"]
        self.untried = self._count_untried()
        self.explore_stream = randomness.restore(state["explore_stream"])
        self.censor_stream = randomness.restore(state["censor_stream"])


def _argmin(values: Array, offered: NDArray[np.intp] | None) -> int:
    return int(values.argmin()) if offered is None else int(offered[values[offered].argmin()])
