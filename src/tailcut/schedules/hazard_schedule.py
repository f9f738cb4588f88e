"""The learning schedule: hazards per algorithm, planned again after every run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from tailcut.numerics.ranges import Count, Penalty, Positive
from tailcut.numerics.vectors import NO_FEATURES
from tailcut.policies.feature_budget import FeatureBudget
from tailcut.policies.policy import Choice, Offered, Policy, RecordedOutcomes
from tailcut.representation import Pipeline
from tailcut.schedules.curves import CUTS, Curves, forecasts, likelihood
from tailcut.schedules.hardness import Hardness
from tailcut.schedules.hazards import Hazards
from tailcut.schedules.neighbours import Neighbours, expected_losses
from tailcut.schedules.planner import Plan, Planner
from tailcut.types import PENALTY, Array, Forecasts, Outcome, Progress, Quantity, Status

FIRST_WHOLE = 16
"""The first instance that starts with a run of all the time, whatever the plan."""
HAZARD_SAMPLE = 3000
"""Of recorded runs, the hazards learn so many at most: they have few unknowns, and a step takes time."""
TRUST_SAMPLE = 200
"""So many recorded instances say how far to trust the neighbours, each without itself."""
SOLVED_SHARE = 0.3
"""What a run solved at the cutoff costs where a timeout costs 1, when trees are grown."""
TRACE = 0.05
"""An interval of which less was passed teaches nothing."""
WEIGHED = 4
"""Of so many instances with features that cost something, one is planned without them, too, to compare."""


class View(NamedTuple):
    """What is expected of an instance."""

    odds: Array
    """Log-odds of a solution within an interval, given none before, shape (K, J, M)."""
    classes: Array
    """How likely each class is before any run, shape (M,)."""
    curves: Curves

    def given(self, likelihood: Array) -> Array:
        """Return the probabilities of the classes, given the likelihood of what was seen in each."""
        joint = self.classes * likelihood
        total = joint.sum()
        return np.asarray(joint / total) if total > 0.0 else self.classes

    def answered(self, algorithm: int, start: int, answers: Array, weights: Array) -> Array:
        """Return the likelihood of the answers of a run in each class, shape (M,)."""
        odds = self.odds[algorithm, start : start + len(answers)]
        logs = -np.logaddexp(0.0, np.where(answers[:, None] > 0.0, -odds, odds))
        return np.asarray(np.exp(weights @ logs))


class HazardSchedule(Policy):
    """Learns when algorithms solve instances, and runs them in slices that lower the expected PARk.

    Times are cut at fractions of the selector's cutoff; an instance may have another one.

    What happens late in a run is only seen in long runs, so a schedule that thinks little of it would never
    learn better. Instances number 16, 32, 64, ... therefore start with one run of all the time: few
    enough to cost next to nothing, and never the last.
    """

    STATE = ("representation", "hardness", "hazards", "neighbours", "instances")
    predicts_runtimes: ClassVar[bool] = True
    quantity = Quantity("expected loss of the best plan", "s")

    def __init__(
        self,
        *,
        n_algorithms: int,
        cutoff: float,
        seed: int,
        representation: Pipeline,
        memory: Count = 20_000,
        shared_variance: Positive = 0.3,
        own_variance: Positive = 0.1,
        penalty: Penalty = PENALTY,
        feature_budget: FeatureBudget | None = None,
    ) -> None:
        self.representation = representation
        self.feature_budget = FeatureBudget(penalty=penalty) if feature_budget is None else feature_budget
        self.penalty = penalty
        self.cuts = CUTS * cutoff
        """Where time is cut, in seconds, shape (J,)."""
        self.hardness = Hardness()
        self.hazards = Hazards(
            n_algorithms=n_algorithms,
            n_features=representation.linear_width,
            shared_variance=shared_variance,
            own_variance=own_variance,
        )
        self.neighbours = Neighbours(
            size=memory,
            n_algorithms=n_algorithms,
            n_features=representation.width - representation.linear_width,
            seed=seed,
        )
        self.instances = 0
        """How many instances were begun."""

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:
        """Return the first run on an instance."""
        self.instances += 1
        whole = self.instances >= FIRST_WHOLE and self.instances.bit_count() == 1
        x = self.representation(features) if len(features) else NO_FEATURES
        first = self._next(x, offered, progress, whole=whole)
        assert first is not None, "on a new instance everyone may run"
        if self.feature_budget.charged and len(x) and self.instances % WEIGHED == 0:
            self._weigh(x, float(first.scores.min()), offered, progress)
        return first

    def _weigh(self, x: Array, best: float, offered: Offered, progress: Progress) -> None:
        """Compare the best plan by features with what would be done without them.

        That is a first run and, when it fails, another for the rest. Plans may be longer, which is worth
        something with and without features: what it is worth without is taken off.
        """
        blind = self._plan(NO_FEATURES, offered, progress, whole=False)
        assert blind is not None
        by_features, without = (
            self._planner(view.curves, offered, progress).followed(
                view.classes, progress.left, blind.algorithm, blind.budget
            )
            for view in (self.view(x), self.view(NO_FEATURES))
        )
        longer = float(without.min() - blind.losses.min())
        lost = float(by_features[without.argmin()]) - longer - best
        self.feature_budget.weigh(lost / (self.penalty * progress.cutoff))

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the next run, or None when nobody could run longer than it already has, unsuccessfully."""
        return self._next(x, offered, progress, whole=False)

    def _next(self, x: Array, offered: Offered, progress: Progress, *, whole: bool) -> Choice | None:
        plan = self._plan(x, offered, progress, whole=whole)
        if plan is None:
            return None
        reason = "exploration" if whole else "lowest score"
        return Choice(plan.algorithm, reason, plan.losses, x, plan.budget)

    def _plan(self, x: Array, offered: Offered, progress: Progress, *, whole: bool) -> Plan | None:
        assert progress.failed is not None
        view = self.view(x)
        planner = self._planner(view.curves, offered, progress)
        classes = view.given(likelihood(view.curves, progress.failed))
        return planner.plan(classes, progress.failed, progress.left, whole=whole)

    def _planner(self, curves: Curves, offered: Offered, progress: Progress) -> Planner:
        barred = np.zeros(len(curves.survival), dtype=bool)
        if offered is not None:
            barred[:] = True
            barred[offered] = False
        return Planner(curves, (self.penalty - 1.0) * progress.cutoff, barred)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """How many raw features an instance has."""
        return self.representation.n_features

    @property
    def width(self) -> int:  # type: ignore[override]
        """How many entries a represented instance has."""
        return self.representation.width

    def peek(self, features: Array) -> Array:
        """Return raw features represented, learning nothing."""
        return self.representation.peek(features) if len(features) else NO_FEATURES

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the first run of the best plan."""
        return self._next(x, offered, progress, whole=False)

    def draw(self, x: Array, progress: Progress, stream: np.random.Generator) -> Array:
        """Return what whole runs may cost, in seconds, drawn from what the skills may be; shape (K,)."""
        view, skill = self.view(x), np.sqrt(self.hazards.skill_variance)
        luck = skill * stream.standard_normal(len(skill))
        survival, integral = Curves(view.odds + luck[:, None, None], cuts=self.cuts).at_all(
            np.array([progress.left])
        )
        unsolved = (self.penalty - 1.0) * progress.cutoff
        return np.asarray((integral[0] + unsolved * survival[0]) @ view.classes)

    def judge(self, x: Array, progress: Progress, algorithms: Sequence[int]) -> Array:
        """Return the expected loss of the best plan that starts with each of these algorithms."""
        plan = self._plan(x, None, progress, whole=False)
        return np.zeros(len(algorithms)) if plan is None else plan.losses[list(algorithms)]

    def forecasts(self, x: Array, progress: Progress) -> Forecasts:
        """Return what a run of all that is left would take, for each algorithm."""
        assert progress.failed is not None
        view = self.view(x)
        classes = view.given(likelihood(view.curves, progress.failed))
        return forecasts(view.curves, classes, progress, self.penalty)

    def view(self, x: Array) -> View:
        """Return what is expected of all algorithms on an instance.

        The classes are those of hardness, then one for each of its neighbours.
        """
        base = self.hazards.log_odds(x[: self.hazards.n_features])
        odds, classes = base[:, :, None] + self.hardness.shift, self.hardness.frequencies()
        trust = self.neighbours.trust if len(x) else 0.0
        if trust > 0.0:
            near = self.neighbours.near(x[self.hazards.n_features :])
            if len(near.rows):
                odds = np.concatenate([odds, self.neighbours.odds(near, base, CUTS)], axis=2)
                classes = np.concatenate([(1.0 - trust) * classes, trust * near.weight])
        return View(odds, classes, Curves(odds, cuts=self.cuts))

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn the intervals that a run passed beyond what was known before it."""
        assert progress.failed is not None
        solved = outcome.status is Status.SOLVED
        end = progress.cutoff if outcome.time is None else outcome.time
        start, answers, weights = passed(float(progress.failed[algorithm]), end, solved, self.cuts)
        self._weigh_features(algorithm, x, outcome, progress, budget)
        if not len(answers):
            return
        view = self.view(x)
        self._learn_run(algorithm, x, view, (start, answers, weights), progress.failed)
        self._remember(algorithm, x, end, solved, view.given(likelihood(view.curves, progress.failed)))
        if self.neighbours.due:
            self._grow()

    def _learn_run(
        self, algorithm: int, x: Array, view: View, passage: tuple[int, Array, Array], failed: Array
    ) -> None:
        """Learn the intervals that a run passed, in the classes of hardness and in the hazards."""
        start, answers, weights = passage
        hard = len(self.hardness.shift)
        before = likelihood(view.curves, failed)
        after = before * view.answered(algorithm, start, answers, weights)
        self._weigh_neighbours(view, before, after)
        classes = self.hardness.given(after[:hard])
        earlier = self.hardness.given(before[:hard]) if failed.any() else None
        self.hardness.learn(earlier, classes)
        linear = x[: self.hazards.n_features]
        self.hazards.learn(algorithm, linear, answers, weights, start, self.hardness.shift, classes)

    def _remember(self, algorithm: int, x: Array, end: float, solved: bool, classes: Array) -> None:
        """Keep a run with the neighbours."""
        if len(x):
            hard = self.hardness.shift
            known = classes[: len(hard)]
            hardness = float(known @ hard) / max(float(known.sum()), 1e-300)
            features, share = x[self.hazards.n_features :], max(end / self.cuts[-1], 1e-9)
            self.neighbours.put(features, algorithm, min(share, 1.0), solved, hardness)

    def _grow(self) -> None:
        self.neighbours.grow(expected_losses(self.neighbours.runs(), SOLVED_SHARE))

    def learn_recorded(self, x: Array, runs: RecordedOutcomes, progress: Progress) -> None:  # noqa: ARG002
        """Learn recorded runs: all of them as neighbours, the hazards from a sample."""
        learned = 0
        for row in range(len(x)):
            view, seen = self.view(x[row]), self.hardness.frequencies()
            features = x[row, self.hazards.n_features :]
            for algorithm, end, solved in _ended(runs, row):
                known = self.neighbours.failed_for(features, algorithm) * self.cuts[-1]
                passage = passed(known, end, solved, self.cuts)
                if len(passage[1]):
                    likely = view.answered(algorithm, *passage)[: len(seen)]
                    seen = seen * likely / max(float(seen @ likely), 1e-300)
                    if learned < HAZARD_SAMPLE:
                        self._learn_run(algorithm, x[row], view, passage, np.zeros(len(runs.known[row])))
                        learned += 1
                self._remember(algorithm, x[row], end, solved, seen)
        if self.neighbours.due:
            self._grow()
        for row in range(min(len(x), TRUST_SAMPLE) if len(x) > 1 else 0):
            view = self.view(x[row])
            likely = np.ones(len(view.classes))
            for algorithm, end, solved in _ended(runs, row):
                likely = likely * view.answered(algorithm, *passed(0.0, end, solved, self.cuts))
            self._weigh_neighbours(view, np.ones(len(likely)), likely)

    def _weigh_neighbours(self, view: View, before: Array, after: Array) -> None:
        """Let an outcome say how far to trust the neighbours; likelihoods without and with it, shape (M,)."""
        hard = len(self.hardness.shift)
        if len(before) > hard:
            joint, known = view.classes * after, view.classes * before
            near, without = (
                float(joint[part].sum()) / max(float(known[part].sum()), 1e-300)
                for part in (slice(hard, None), slice(0, hard))
            )
            self.neighbours.weigh(near, without)

    def _weigh_features(
        self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float
    ) -> None:
        """Report what time would have cost and, of first runs, whether features predicted how it would go."""
        assert progress.failed is not None
        first, solved = not progress.failed.any(), outcome.status is Status.SOLVED
        if solved and outcome.time is not None:
            self.feature_budget.solved((progress.used + outcome.time) / progress.cutoff)
        if first and len(x) and self.feature_budget.charged:
            predicted, without = (self._unsolved(instance, budget) for instance in (x, NO_FEATURES))
            self.feature_budget.check(algorithm, 0.0 if solved else 1.0, predicted, without)

    def _unsolved(self, x: Array, seconds: float) -> Array:
        """Return the chance that a first run of so many seconds fails, shape (K,)."""
        view = self.view(x)
        survival, _ = view.curves.at_all(np.array([seconds]))
        return np.asarray(survival[0] @ view.classes)

    def represent(self, features: Array) -> Array:
        """Take in instances that need no decision, shape (n, d); return them represented, shape (n, w)."""
        return self.representation.take_in(features)

    def widen(self, n_features: int) -> None:
        """Take instances with this many features from now on; all that was learned stays."""
        self.representation.widen(n_features)
        self.hazards.widen(self.representation.linear_width)
        self.neighbours.widen(self.representation.width - self.representation.linear_width)

    def add(self) -> None:
        """Make room for one more algorithm."""
        self.hazards.add()
        self.neighbours.add()
        self._grow()

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm."""
        self.hazards.remove(algorithm)
        self.neighbours.remove(algorithm)
        self._grow()


def _ended(runs: RecordedOutcomes, row: int) -> Iterator[tuple[int, float, bool]]:
    """Yield algorithm, seconds and whether it was solved, for the known runs of an instance."""
    for algorithm in np.flatnonzero(runs.known[row]).tolist():
        yield algorithm, float(runs.seconds[row, algorithm]), bool(runs.solved[row, algorithm])


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
    seen = np.flatnonzero(weights[: last + 1] >= TRACE)
    if not len(seen):
        return 0, np.zeros(0), np.zeros(0)
    inside = slice(int(seen[0]), int(seen[-1]) + 1)
    return inside.start, answers[inside], weights[inside]
