"""One pick: a policy that chooses one algorithm per instance, built from parts.

features -> representation -> model -> exploration -> loss -> lowest score
^                                  |
+---- censoring rule <- outcome <--+
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailcut.models import Model
from tailcut.models.model import SlidingWindow, check_records
from tailcut.numerics import randomness
from tailcut.numerics.ranges import Flag, Penalty, Probability
from tailcut.policies.censoring import CensoringRule, PseudoObservation, Unfinished
from tailcut.policies.exploration import Exploration, ForcedExploration
from tailcut.policies.feature_budget import FeatureBudget
from tailcut.policies.losses import Loss, Target
from tailcut.policies.policy import Choice, Offered, Policy, RecordedOutcomes
from tailcut.representation import Pipeline
from tailcut.state import expect, expect_finite
from tailcut.types import NO_FEATURES, PENALTY, Array, Belief, Forecasts, Outcome, Progress, Quantity, Status

FAIL_OVER = "fail-over"
"""The reason of a choice after a failed run."""


@dataclass(frozen=True)
class Parts:
    """The parts of a policy."""

    representation: Pipeline
    model: Model
    censoring: CensoringRule
    exploration: Exploration
    loss: Loss
    target: Target
    first_runs: ForcedExploration
    """Which runs are due before scores decide."""
    feature_budget: FeatureBudget | None = None
    """The cost and gain of features, if the model can also predict without them."""
    window: int = 0
    """How many of the latest choices and outcomes count; 0: all."""


class OnePick(Policy):
    """Picks one of K algorithms per instance, for all the time that is left, and learns from the outcomes."""

    representation: Pipeline
    STATE: ClassVar[tuple[str, ...]] = (
        *("representation", "model", "runs", "censored", "excess"),
        *("explore_stream", "censor_stream"),
    )

    def __init__(
        self,
        parts: Parts,
        *,
        n_algorithms: int,
        seed: int,
        epsilon: Probability = 0.0,
        penalty: Penalty = PENALTY,
        fail_over: Flag = 0,
    ) -> None:
        self.parts = parts
        self.representation, self.model = parts.representation, parts.model
        self.epsilon = epsilon
        """Probability of a uniformly random choice instead of the lowest score."""
        self.penalty = penalty
        self.fail_over = bool(fail_over)
        """Whether a failed run is followed by a run of the next best algorithm."""
        self.quantity: Quantity = parts.exploration.quantity or parts.loss.quantity(parts.target.quantity)
        self.runs = np.zeros(n_algorithms)
        """How often each algorithm was chosen, counted when chosen: with many concurrent runs, a started
        algorithm counts as tried."""
        self.censored = np.zeros(n_algorithms)
        """How many outcomes of each algorithm were censored or failed."""
        self.excess = np.zeros(n_algorithms)
        """How much more than half a timeout the known outcomes of each algorithm cost, in half timeouts."""
        self.choices: SlidingWindow[tuple[int]] = SlidingWindow(parts.window)
        """With a window, the algorithms chosen last."""
        self.outcomes: SlidingWindow[tuple[int, bool, float]] = SlidingWindow(parts.window)
        """And algorithm of each of the latest outcomes, whether it was unsolved, and its `excess`."""
        self.explore_stream = randomness.stream(seed, "exploration")
        self.censor_stream = randomness.stream(seed, "censoring")
        self._count_untried()

    def _count_untried(self) -> None:
        pending = self.parts.first_runs.pace > 0.0
        self.untried = int((self.runs == 0.0).sum()) if pending else 0

    def restored(self) -> None:
        expect_finite(runs=self.runs, censored=self.censored, excess=self.excess)
        expect(min(self.runs.min(), self.censored.min()) >= 0.0, "runs: a count is less than 0")
        self._count_untried()

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:
        budget = self.parts.feature_budget
        x = self.representation(features) if budget is None or len(features) else NO_FEATURES
        mean, variance = self.model.predict(x)
        if budget is not None and len(x) and budget.charged:
            without = _argmin(self.model.predict(NO_FEATURES)[0], offered)
            budget.gain.add(float(mean[without] - mean[_argmin(mean, offered)]))
        return self._decide(x, Belief(mean, variance, self.censored), offered, progress)

    def _decide(self, x: Array, belief: Belief, offered: Offered, progress: Progress) -> Choice:
        """Return the algorithm to run on the instance represented by `x`, and count it as chosen."""
        parts, cutoff = self.parts, progress.cutoff
        estimate = parts.exploration.estimate(belief, cutoff, self.explore_stream)
        scores = parts.loss.scores(estimate, cutoff)
        algorithm, reason = self._pick(scores, offered)
        if self.untried and self.runs[algorithm] == 0.0:
            self.untried -= 1
        self.runs[algorithm] += 1.0
        return Choice(algorithm, reason, scores, x, cutoff - progress.used)

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return None; with `fail_over`, the next best algorithm if all runs failed.

        A run that was stopped had its time, and the instance is done.
        """
        if not self.fail_over or progress.failed is None:
            return None
        tried = progress.failed > 0.0
        if (progress.failed[tried] < progress.cutoff).any():
            return None
        choice = self._decide(x, Belief(*self.model.predict(x), self.censored), offered, progress)
        return choice._replace(reason=FAIL_OVER)

    def _pick(self, scores: Array, offered: Offered) -> tuple[int, str]:
        """Return which algorithm runs and why: first runs if they are due; ties go to the first."""
        if self.untried or self.parts.first_runs.again:
            runs, excess = self.runs, self.excess
            if offered is not None:
                runs, excess = runs[offered], excess[offered]
            due = self.parts.first_runs.due(runs, excess)
            if due or self.untried:
                place = self.parts.first_runs.next(runs, self.explore_stream)
                if due:
                    algorithm = place if offered is None else int(offered[place])
                    return algorithm, "exploration" if runs[place] else "first run"
                # The untried are all the same to the model. If each had its own draw, the best of many
                # draws would win, so one represents all.
                judged = runs > 0.0
                judged[place] = True
                offered = judged.nonzero()[0] if offered is None else offered[judged]
        if self.epsilon > 0.0 and self.explore_stream.random() < self.epsilon:
            pool = np.arange(len(scores)) if offered is None else offered
            return int(pool[int(self.explore_stream.integers(len(pool)))]), "exploration"
        return _argmin(scores, offered), "lowest score"

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:  # noqa: ARG002
        features, cutoff = self.parts.feature_budget, progress.cutoff
        self._count(algorithm, outcome, cutoff)
        lesson = self._lesson(algorithm, x, outcome, cutoff)
        if lesson is not None:
            if features is not None and len(x) and features.charged:
                without = self.model.predict(NO_FEATURES)[0]
                features.check(algorithm, lesson.target, self.model.predict(x)[0], without)
            self.model.update(algorithm, x, lesson.target, lesson.weight)
        if features is not None and outcome.status is Status.SOLVED:
            assert outcome.time is not None
            features.solved((progress.used + outcome.time) / cutoff)

    def learn_recorded(self, x: Array, runs: RecordedOutcomes, progress: Progress) -> None:
        if not self.model.in_bulk:
            super().learn_recorded(x, runs, progress)
            return
        target = np.full(runs.known.shape, np.nan)
        for row, algorithm in np.argwhere(runs.known).tolist():
            outcome = runs.outcome(row, algorithm)
            self._count(algorithm, outcome, progress.cutoff)
            lesson = self._lesson(algorithm, x[row], outcome, progress.cutoff)
            if lesson is not None and lesson.weight > 0.0:
                target[row, algorithm] = lesson.target
        self.runs += runs.known.sum(axis=0)
        self._count_untried()
        self.model.update_many(x, target)

    def _count(self, algorithm: int, outcome: Outcome, cutoff: float) -> None:
        self.excess[algorithm] += self._excess(outcome, cutoff)
        if not outcome.answered:
            self.censored[algorithm] += 1.0

    def _excess(self, outcome: Outcome, cutoff: float) -> float:
        """Return 1 for a timeout, and -1 for a run that cost nothing."""
        if outcome.loss is not None:
            return 2.0 * outcome.loss - 1.0
        if outcome.status is not Status.SOLVED:
            return 1.0
        assert outcome.time is not None
        return 2.0 * outcome.time / (self.penalty * cutoff) - 1.0

    def _lesson(self, algorithm: int, x: Array, outcome: Outcome, cutoff: float) -> PseudoObservation | None:
        if outcome.loss is not None:  # the unit of a bounded target
            return PseudoObservation(outcome.loss, 1.0)
        seconds = cutoff if outcome.time is None else outcome.time  # a failed run is censored at the cutoff
        if outcome.status is Status.SOLVED:
            return PseudoObservation(self.parts.target.value(seconds, cutoff), 1.0)
        run = Unfinished(seconds, cutoff, self.parts.target)
        return self.parts.censoring.lesson(
            run, lambda: self.model.predict_one(algorithm, x), self.censor_stream
        )

    def started(self, algorithm: int) -> None:
        self.runs[algorithm] += 1.0
        self._count_untried()

    def add(self) -> None:
        self.model.add()
        self.runs, self.censored, self.excess = (
            np.append(counts, 0.0) for counts in (self.runs, self.censored, self.excess)
        )
        self._count_untried()

    def remove(self, algorithm: int) -> None:
        self.model.remove(algorithm)
        self.runs, self.censored, self.excess = (
            np.delete(counts, algorithm) for counts in (self.runs, self.censored, self.excess)
        )
        self._count_untried()

    def add_features(self, n_features: int) -> None:
        super().add_features(n_features)
        self.model.add_features(self.representation.width, self.representation.views())

    def transform(self, features: Array) -> Array:
        absent = self.parts.feature_budget is not None and not len(features)
        return NO_FEATURES if absent else super().transform(features)

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice:
        scores = self.judge(x, progress, range(len(self.runs)))
        return Choice(_argmin(scores, offered), "lowest score", scores, x, progress.left)

    def judge(self, x: Array, progress: Progress, algorithms: Sequence[int]) -> Array:
        chosen = list(algorithms)
        pairs = np.array([self.model.predict_one(k, x) for k in chosen])
        belief = Belief(pairs[:, 0].copy(), pairs[:, 1].copy(), self.censored[chosen])
        estimate = self.parts.exploration.estimate(belief, progress.cutoff, randomness.Still())
        return self.parts.loss.scores(estimate, progress.cutoff)

    def forecasts(self, x: Array, progress: Progress) -> Forecasts | None:
        if not self.model.learns or not self.parts.target.predicts_runtimes:
            return None
        mean, variance = self.model.predict(x)
        deviation = self.parts.exploration.noise_deviation * np.sqrt(1.0 + variance)
        return self.parts.target.forecasts(mean, deviation, progress, self.penalty)

    def times_chosen(self, algorithm: int) -> int:
        return int(self.runs[algorithm])


class WindowedPick(OnePick):
    """Counts the latest `window` choices and outcomes only, for streams on which algorithms change.

    Its model has the same window, and lets go of old runs itself (docs/howto/drift.md).

    An algorithm that was not chosen for so long is untried again: nothing is known of it any more.
    """

    STATE = (*OnePick.STATE, "choices", "outcomes")

    def restored(self) -> None:
        super().restored()
        check_records(self.choices, len(self.runs), (int,))
        check_records(self.outcomes, len(self.runs), (int, bool, float))

    def _decide(self, x: Array, belief: Belief, offered: Offered, progress: Progress) -> Choice:
        choice = super()._decide(x, belief, offered, progress)
        self._let_go(choice.algorithm)
        return choice

    def started(self, algorithm: int) -> None:
        super().started(algorithm)
        self._let_go(algorithm)

    def _let_go(self, algorithm: int) -> None:
        oldest = self.choices.push((algorithm,))
        if oldest is not None:
            self.runs[oldest[0]] -= 1.0
            self._count_untried()

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        super().learn(algorithm, x, outcome, progress, budget)
        oldest = self.outcomes.push((algorithm, not outcome.answered, self._excess(outcome, progress.cutoff)))
        if oldest is not None:
            self.censored[oldest[0]] -= float(oldest[1])
            self.excess[oldest[0]] -= oldest[2]

    def learn_recorded(self, x: Array, runs: RecordedOutcomes, progress: Progress) -> None:
        """Learn recorded runs one after the other, so that the older of them are let go, too."""
        Policy.learn_recorded(self, x, runs, progress)

    def _lesson(self, algorithm: int, x: Array, outcome: Outcome, cutoff: float) -> PseudoObservation:
        # Where the run teaches nothing, it still takes its place.
        return super()._lesson(algorithm, x, outcome, cutoff) or PseudoObservation(0.0, 0.0)

    def remove(self, algorithm: int) -> None:
        super().remove(algorithm)
        self.choices.remove(algorithm)
        self.outcomes.remove(algorithm)


def _argmin(values: Array, offered: Offered) -> int:
    return int(values.argmin()) if offered is None else int(offered[values[offered].argmin()])
