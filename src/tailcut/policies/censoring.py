"""What is learned from a censored run: from a censoring point to a lesson for the model.

A rule turns "longer than t" into a pseudo-observation, a target and a weight, or into nothing. A
solved run needs no rule: its target is its runtime, its weight 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from tailcut.numerics.normal import draw_above, upper_tail_moments
from tailcut.numerics.ranges import Positive
from tailcut.policies.losses import Target

LEAST_DOUBT = 0.05
"""The smallest probability of a timeout, however good the algorithm is."""

Predict = Callable[[], tuple[float, float]]
"""Returns the model's mean and variance for the run; called only by rules that need them."""


class Unfinished(NamedTuple):
    """A run that was watched for `seconds`, at most `cutoff`, and was not solved."""

    seconds: float
    cutoff: float
    target: Target

    def value(self, factor: float = 1.0) -> float:
        """Return the target of a run solved at `factor` times the seconds watched."""
        return self.target.value(self.seconds * factor, self.cutoff)


class PseudoObservation(NamedTuple):
    """A pseudo-observation: learn `target`, weighing `weight` observations."""

    target: float
    weight: float


class CensoringRule(Protocol):
    """Decides what to learn from a run that was stopped unsolved."""

    def lesson(self, run: Unfinished, predict: Predict, rng: np.random.Generator) -> PseudoObservation | None:
        """Return what to learn, or None for nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Drop:
    """Learn nothing from censored runs (the paper's blind variants)."""

    def lesson(self, run: Unfinished, predict: Predict, rng: np.random.Generator) -> None:
        """Return None."""


@dataclass(frozen=True, slots=True)
class AtCutoff:
    """Treat the run as solved at `timeout_factor` times the time it was stopped.

    >>> from tailcut.policies.losses import Seconds
    >>> run = Unfinished(seconds=5.0, cutoff=5.0, target=Seconds())
    >>> AtCutoff(timeout_factor=10.0).lesson(run, lambda: (0.0, 1.0), np.random.default_rng(0))
    PseudoObservation(target=50.0, weight=1.0)
    """

    timeout_factor: Positive = 1.0

    def lesson(self, run: Unfinished, predict: Predict, rng: np.random.Generator) -> PseudoObservation:  # noqa: ARG002
        return PseudoObservation(run.value(self.timeout_factor), 1.0)


@dataclass(frozen=True, slots=True)
class BuckleyJames:
    """Draw the log-runtime from the model's own belief, given that it is longer (paper, Alg. 3).

    The belief of x'theta is N(mean, noise_variance variance); the draw is its upper tail beyond the censoring
    point. The paper takes the logarithm of the draw by mistake: it already is a log-runtime.
    """

    noise_variance: Positive = 1.0

    def lesson(self, run: Unfinished, predict: Predict, rng: np.random.Generator) -> PseudoObservation:
        mean, variance = predict()
        return PseudoObservation(
            draw_above(rng, mean, math.sqrt(self.noise_variance * variance), run.value()), 1.0
        )


@dataclass(frozen=True, slots=True)
class MomentMatching:
    """Match mean and variance of the exact posterior (assumed-density filtering), without a draw.

    The belief of the log-runtime is N(mean, S^2) with S^2 = noise^2 (1 + variance). Knowing that it exceeds
    the censoring point moves the mean by S r and shrinks the variance by 1 - r g (see
    `tailcut.numerics.normal.upper_tail_moments`), and so does this pseudo-observation to a ridge posterior.
    """

    noise: Positive = 1.0

    def lesson(self, run: Unfinished, predict: Predict, rng: np.random.Generator) -> PseudoObservation | None:  # noqa: ARG002
        mean, variance = predict()
        deviation = self.noise * math.sqrt(1.0 + variance)
        r, gap = upper_tail_moments(mean, deviation, run.value())
        shrink = r * gap
        if shrink <= 0.0:
            return None  # it was certain to take longer: nothing to learn
        return PseudoObservation(mean + deviation / gap, shrink / (1.0 + variance * (1.0 - shrink)))


@dataclass(frozen=True, slots=True)
class AtMaximumLoss:
    """For a bounded loss: a run that used up its cutoff has the maximum loss, 1.

    A run stopped before its cutoff might still have been solved; the longer it was watched, the less likely
    that is. By Bayes' rule: the predicted loss is taken as the probability m of a timeout, and the losses of
    solved runs as uniform between 0 and their maximum, so that a share F of them is solved by now. Then the
    run times out with probability m / (m + (1 - m) (1 - F)), and otherwise costs the midpoint between now
    and the cutoff.

    >>> from tailcut.policies.losses import BoundedLoss
    >>> for seconds in (6.0, 60.0):
    ...     run = Unfinished(seconds, cutoff=60.0, target=BoundedLoss())
    ...     print(round(AtMaximumLoss().lesson(run, lambda: (0.4, 1.0), np.random.default_rng(0)).target, 3))
    0.676
    1.0
    """

    def lesson(self, run: Unfinished, predict: Predict, rng: np.random.Generator) -> PseudoObservation:  # noqa: ARG002
        if run.seconds >= run.cutoff:
            return PseudoObservation(1.0, 1.0)
        now, most = run.value(), run.target.value(run.cutoff, run.cutoff)
        lost = min(max(predict()[0], LEAST_DOUBT), 1.0)
        lost /= lost + (1.0 - lost) * (1.0 - now / most)
        return PseudoObservation(lost + (1.0 - lost) * 0.5 * (now + most), 1.0)
