"""The learning schedule: hazards per algorithm, planned anew after every run."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tailcut.explain.forecast import Forecasts
from tailcut.numerics.vectors import NO_FEATURES
from tailcut.policies.feature_budget import Thrift
from tailcut.policies.one_pick import Choice
from tailcut.representation import Pipeline
from tailcut.schedules.curves import CUTS, Curves
from tailcut.schedules.forecasts import forecasts, likelihood
from tailcut.schedules.hardness import Hardness
from tailcut.schedules.hazards import Hazards
from tailcut.schedules.planner import Plan, Planner
from tailcut.types import Array, Outcome, Progress, Status

FIRST_WHOLE = 16
"""The first instance that starts with a run of all the time, whatever the plan."""
TRACE = 0.05
"""An interval of which less was passed teaches nothing."""
WEIGHED = 4
"""Of so many instances with features that cost something, one is planned without them, too, to compare."""


class HazardSchedule:
    """Learns when algorithms solve instances, and runs them in slices that lower the expected PARk.

    Times are cut at fractions of the cutoff of the first instance; later ones may have another cutoff.

    What happens late in a run is only seen in long runs, so a schedule that thinks little of it would never
    learn better. Instances number 16, 32, 64, ... therefore start with one run of all the time: few
    enough to cost next to nothing, and never the last.
    """

    bounded: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        representation: Pipeline,
        shared_variance: float = 0.3,
        own_variance: float = 0.1,
        penalty: float = 10.0,
        thrift: Thrift | None = None,
    ) -> None:
        self.representation = representation
        self.thrift = Thrift(penalty=penalty) if thrift is None else thrift
        self.penalty = penalty
        self.hardness = Hardness()
        self.hazards = Hazards(
            n_algorithms=n_algorithms,
            n_features=n_features,
            shared_variance=shared_variance,
            own_variance=own_variance,
        )
        self.scale = 0.0
        """The cutoff that the cuts are fractions of; 0 until the first instance."""
        self.instances = 0
        """How many instances were begun."""

    def choose(self, features: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice:
        """Return the first run on an instance."""
        self.instances += 1
        whole = self.instances >= FIRST_WHOLE and self.instances.bit_count() == 1
        x = self.representation(features) if len(features) else NO_FEATURES
        first = self._next(x, offered, progress, whole=whole)
        assert first is not None, "on a new instance everyone may run"
        if self.thrift.charged and len(x) and self.instances % WEIGHED == 0:
            self._weigh(x, float(first.scores.min()), offered, progress)
        return first

    def _weigh(self, x: Array, best: float, offered: NDArray[np.intp] | None, progress: Progress) -> None:
        """Compare the best plan by features with what would be done without them.

        That is a first run and, when it fails, another for the rest. Plans may be longer, which is worth
        something with and without features: what it is worth without is taken off.
        """
        blind = self._plan(NO_FEATURES, offered, progress, whole=False)
        assert blind is not None
        by_features, without = (
            self._planner(self.curves(instance), offered, progress).followed(
                self.hardness.frequencies(), progress.left, blind.algorithm, blind.budget
            )
            for instance in (x, NO_FEATURES)
        )
        longer = float(without.min() - blind.losses.min())
        lost = float(by_features[without.argmin()]) - longer - best
        self.thrift.weigh(lost / (self.penalty * progress.cutoff))

    def proceed(self, x: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice | None:
        """Return the next run, or None when nobody could run longer than it has in vain."""
        return self._next(x, offered, progress, whole=False)

    def _next(
        self, x: Array, offered: NDArray[np.intp] | None, progress: Progress, *, whole: bool
    ) -> Choice | None:
        self.scale = self.scale or progress.cutoff
        plan = self._plan(x, offered, progress, whole=whole)
        if plan is None:
            return None
        reason = "exploration" if whole else "lowest score"
        return Choice(plan.algorithm, reason, plan.losses, x, plan.budget)

    def _plan(
        self, x: Array, offered: NDArray[np.intp] | None, progress: Progress, *, whole: bool
    ) -> Plan | None:
        assert progress.failed is not None
        curves = self.curves(x)
        planner = self._planner(curves, offered, progress)
        classes = self.hardness.given(likelihood(curves, progress.failed))
        return planner.plan(classes, progress.failed, progress.left, whole=whole)

    def _planner(self, curves: Curves, offered: NDArray[np.intp] | None, progress: Progress) -> Planner:
        barred = np.zeros(len(curves.survival), dtype=bool)
        if offered is not None:
            barred[:] = True
            barred[offered] = False
        return Planner(curves, (self.penalty - 1.0) * progress.cutoff, barred)

    def peek(self, features: Array) -> Array:
        """Return raw features represented, learning nothing."""
        return self.representation.peek(features)

    def judge(self, x: Array, progress: Progress) -> Array:
        """Return the expected loss of the best plan that starts with each algorithm, shape (K,)."""
        assert progress.failed is not None
        plan = self._plan(x, None, progress, whole=False)
        return np.zeros(len(progress.failed)) if plan is None else plan.losses

    def forecasts(self, x: Array, progress: Progress) -> Forecasts:
        """Return what a run of all that is left would take, for each algorithm."""
        assert progress.failed is not None
        curves = self.curves(x)
        classes = self.hardness.given(likelihood(curves, progress.failed))
        return forecasts(curves, classes, progress, self.penalty)

    def curves(self, x: Array) -> Curves:
        """Return the survival curves of all algorithms on an instance."""
        return Curves(self.hazards.log_odds(x), self.hardness.shift, cuts=CUTS * self.scale)

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn the intervals that a run passed beyond what was known before it."""
        assert progress.failed is not None
        self.scale = self.scale or progress.cutoff
        solved = outcome.status is Status.SOLVED
        end = progress.cutoff if outcome.time is None else outcome.time
        start, answers, weights = passed(float(progress.failed[algorithm]), end, solved, CUTS * self.scale)
        self._tell_thrift(algorithm, x, outcome, progress, budget)
        if not len(answers):
            return
        curves = self.curves(x)
        before = likelihood(curves, progress.failed)
        told = before * self._answered(algorithm, x, start, answers, weights)
        classes = self.hardness.given(told)
        seen = bool(progress.failed.any())
        self.hardness.learn(self.hardness.given(before) if seen else None, classes)
        self.hazards.learn(algorithm, x, answers, weights, start, self.hardness.shift, classes)

    def _tell_thrift(
        self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float
    ) -> None:
        """Tell what time would have cost and, of first runs, whether features told how it would go."""
        assert progress.failed is not None
        first, solved = not progress.failed.any(), outcome.status is Status.SOLVED
        if solved and outcome.time is not None:
            self.thrift.solved((progress.used + outcome.time) / progress.cutoff)
        if first and len(x) and self.thrift.charged:
            predicted, without = (self._unsolved(instance, budget) for instance in (x, NO_FEATURES))
            self.thrift.check(algorithm, 0.0 if solved else 1.0, predicted, without)

    def _unsolved(self, x: Array, seconds: float) -> Array:
        """Return the chance that a first run of so many seconds is in vain, shape (K,)."""
        survival, _ = self.curves(x).at_all(np.array([seconds]))
        return np.asarray(survival[0] @ self.hardness.frequencies())

    def _answered(self, algorithm: int, x: Array, start: int, answers: Array, weights: Array) -> Array:
        """Return the likelihood of the answers of a run in each class, shape (M,)."""
        odds = self.hazards.log_odds(x)[algorithm, start : start + len(answers), None] + self.hardness.shift
        logs = -np.logaddexp(0.0, np.where(answers[:, None] > 0.0, -odds, odds))
        return np.asarray(np.exp(weights @ logs))

    def represent(self, features: Array) -> Array:
        """Take in instances that need no decision, shape (n, d); return them represented, shape (n, w)."""
        return self.representation.take_in(features)

    def started(self, _algorithm: int) -> None:
        """Count nothing: nobody has to have a first run."""

    def take_over(self, other: HazardSchedule) -> None:
        """Go on for a schedule that was made before any features were seen."""
        self.hazards.take_over(other.hazards)
        self.hardness = other.hardness
        self.scale, self.instances = other.scale, other.instances

    def add(self) -> None:
        """Make room for one more algorithm."""
        self.hazards.add()

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm."""
        self.hazards.remove(algorithm)

    def state(self) -> dict[str, Any]:
        """Return all that was learned."""
        return {
            "representation": self.representation.state(),
            "hardness": self.hardness.state(),
            "hazards": self.hazards.state(),
            "scale": self.scale,
            "instances": self.instances,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self.representation.restore(state["representation"])
        self.hardness.restore(state["hardness"])
        self.hazards.restore(state["hazards"])
        self.scale, self.instances = state["scale"], state["instances"]


def passed(known: float, end: float, solved: bool, cuts: Array) -> tuple[int, Array, Array]:
    """Return what a run from scratch to `end` says of the intervals between `cuts`.

    Up to `known` seconds it was known to fail. Returned are the number of the first interval that
    teaches something, then per interval whether it was solved there, and how much of it was passed.

    >>> cuts = np.array([1.0, 3.0, 10.0])
    >>> passed(0.0, 5.0, True, cuts)  # through the first two, solved in the third
    (0, array([0., 0., 1.]), array([1., 1., 1.]))
    >>> passed(1.0, 2.0, False, cuts)  # half of the second
    (1, array([0.]), array([0.5]))
    """
    lows = np.concatenate(([0.0], cuts[:-1]))
    last = min(int(np.searchsorted(cuts, end)), len(cuts) - 1)
    weights = np.clip((np.minimum(cuts, end) - np.maximum(lows, known)) / (cuts - lows), 0.0, 1.0)
    answers = np.zeros(len(cuts))
    if solved:
        weights[last] = answers[last] = 1.0
    told = np.flatnonzero(weights[: last + 1] >= TRACE)
    if not len(told):
        return 0, np.zeros(0), np.zeros(0)
    inside = slice(int(told[0]), int(told[-1]) + 1)
    return inside.start, answers[inside], weights[inside]
