"""Exploration: from a belief to an estimate that may be optimistic or drawn, and runs that are forced.

Parts here are frozen values; the argument `rng` provides the randomness.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailcut.numerics import normal_kernels
from tailcut.numerics.ranges import NonNegative, Positive
from tailcut.types import Array, Belief, Estimate, Quantity


class Exploration(ABC):
    """Turns the belief about all K algorithms into the estimates that decide."""

    quantity: ClassVar[Quantity | None] = None
    """What the estimates are, if they are not the model's predictions."""
    noise: float = 1.0
    """The standard deviation of a run's target around its mean."""

    @property
    def noise_deviation(self) -> float:
        """What forecasts take as the noise."""
        return self.noise

    @abstractmethod
    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:
        """Return optimistic and pessimistic values and the spread, each of shape (K,)."""


@dataclass(frozen=True, slots=True)
class Greedy(Exploration):
    """Judge by the mean; `noise` is the standard deviation of a run's target."""

    noise: Positive = 1.0

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        return Estimate(belief.mean, belief.mean, np.full(len(belief.mean), self.noise))


@dataclass(frozen=True, slots=True)
class Thompson(Exploration):
    """Judge by one draw from the posterior N(x'theta, noise_variance x'A^-1 x) of each algorithm.

    A draw of the whole vector theta ~ N(theta, noise_variance A^-1) would give x'theta exactly this scalar
    distribution, so no vector is drawn. The paper calls the variance sigma.
    """

    noise_variance: Positive = 1.0

    @property
    def noise_deviation(self) -> float:
        return math.sqrt(self.noise_variance)

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        """Return the draw as both values and the posterior deviation as spread."""
        standard = rng.standard_normal(len(belief.mean))
        drawn, spread = normal_kernels.draw(belief.mean, belief.variance, self.noise_variance, standard)
        return Estimate(drawn, drawn, spread)


@dataclass(frozen=True, slots=True)
class Bounds(Exploration):
    """Judge by confidence bounds, mean -+ alpha times a width (LinUCB and its variants).

    The width is sqrt(x'A^-1 x), widened against the bias of learning timeouts as log C where
    `bias_corrected`, and multiplied by abs(r), r ~ N(0, rand_sigma^2), one draw per algorithm, where
    `rand_sigma` is given.
    """

    alpha: NonNegative = 1.0
    noise: Positive = 1.0
    """Standard deviation of a run's target, for losses that need it; the paper calls it sigma."""
    bias_corrected: bool = False
    rand_sigma: NonNegative | None = None

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:
        """Return both bounds; the spread is the noise."""
        mean, variance, censored = belief
        bias = bias_correction(cutoff) if self.bias_corrected else 0.0
        draw = None if self.rand_sigma is None else rng.standard_normal(len(mean))
        widened = censored, bias, draw, self.rand_sigma or 0.0
        return Estimate(*normal_kernels.bounds(mean, variance, self.alpha, *widened, self.noise))


@dataclass(frozen=True, slots=True)
class Uniform(Exploration):
    """Judge by one uniform random number per algorithm."""

    quantity: ClassVar[Quantity | None] = Quantity("a random number", "")

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        draw = rng.random(len(belief.mean))
        return Estimate(draw, draw, np.ones(len(draw)))


def bias_correction(cutoff: float) -> float:
    """Return 2 log(C): after n_c timeouts, the paper widens bounds by the factor 1 + 2 log(C) sqrt(n_c).

    Below one second log C is negative, so its absolute value is used: a width cannot be negative.

    >>> bias_correction(0.5) == bias_correction(2.0) > 0.0
    True
    """
    return 2.0 * abs(math.log(cutoff))


@dataclass(frozen=True, slots=True)
class ForcedExploration:
    """After L timeouts, `pace` sqrt(1 + 2 L) algorithms are tried; by step t each `again` log2(t) / K times.

    What another algorithm could gain is at most what was lost so far. So first runs follow the losses: where
    half of all runs time out, sqrt(t) algorithms are tried by step t, and where the first ones solve nearly
    everything, hardly any other. An infinite pace tries all of them first; a pace of 0 leaves it to the
    scores. The logarithm ensures at almost no cost that no algorithm is given up for good because it failed
    on its one instance.

    >>> gradual = ForcedExploration(pace=1.0, again=1.0)
    >>> [gradual.due(np.array([runs, 0.0])) for runs in (0.0, 1.0)]
    [True, True]
    >>> [gradual.due(np.array([runs, 1.0, 0.0])) for runs in (1.0, 2.0, 3.0)]
    [False, False, True]
    >>> runs = np.array([3.0, 1.0, 0.0])
    >>> [gradual.due(runs, outcome * runs) for outcome in (-1.0, 1.0)]  # all cost nothing, all timed out
    [False, True]
    >>> [gradual.due(np.array([runs, 1.0])) for runs in (1.0, 2.0, 3.0)]
    [False, False, True]
    """

    pace: Positive = math.inf
    again: NonNegative = 0.0
    in_order: bool = True
    """Whether the first of those that have run least is next, instead of a random one."""

    def due(self, runs: Array, excess: Array | None = None) -> bool:
        """Return whether an algorithm that has run least is due, after so many `runs` of each, shape (K,).

        A run whose outcome is not known counts as half a timeout. `excess` (K,) is what the known ones add to
        twice that: 1 for a timeout, -1 for a run that cost nothing.
        """
        counts: list[float] = runs.tolist()  # of a few numbers, faster than numpy
        least, step = min(counts), sum(counts) + 1.0
        if least == 0.0:
            lost = step if excess is None else max(step + sum(excess.tolist()), 1.0)
            return len(counts) - counts.count(0.0) < self.pace * math.sqrt(lost)
        return len(counts) * least < self.again * math.log2(step)

    def next(self, runs: Array, rng: np.random.Generator) -> int:
        counts: list[float] = runs.tolist()
        least = min(counts)
        if self.in_order:
            return counts.index(least)
        places = [place for place, count in enumerate(counts) if count == least]
        return places[int(rng.integers(len(places)))]
