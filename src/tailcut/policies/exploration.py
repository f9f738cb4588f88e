"""Exploration: from a belief to an estimate that may be optimistic or drawn.

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
from tailcut.types import Belief, Estimate, Quantity


class Exploration(ABC):
    """Turns the belief about all K algorithms into the estimates that decide."""

    quantity: ClassVar[Quantity | None] = None
    """What the estimates are, if they are not the model's predictions."""

    @property
    @abstractmethod
    def noise_deviation(self) -> float:
        """The standard deviation of a run's target around its mean, for forecasts."""

    @abstractmethod
    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:
        """Return optimistic and pessimistic values and the spread, each of shape (K,)."""


@dataclass(frozen=True, slots=True)
class Greedy(Exploration):
    """Judge by the mean; `noise` is the standard deviation of a run's target."""

    noise: Positive = 1.0

    @property
    def noise_deviation(self) -> float:
        """The standard deviation of a run's target around its mean."""
        return self.noise

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        """Return the mean as both values."""
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
        """The standard deviation of a run's target around its mean."""
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

    @property
    def noise_deviation(self) -> float:
        """The standard deviation of a run's target around its mean."""
        return self.noise

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:
        """Return both bounds; the spread is the noise."""
        mean, variance, censored = belief
        bias = bias_correction(cutoff) if self.bias_corrected else 0.0
        deviation = self.rand_sigma
        draw = None if deviation is None else rng.standard_normal(len(mean))
        return Estimate(
            *normal_kernels.bounds(
                mean, variance, self.alpha, censored, bias, draw, deviation or 0.0, self.noise
            )
        )


@dataclass(frozen=True, slots=True)
class Uniform(Exploration):
    """Judge by one uniform random number per algorithm."""

    quantity: ClassVar[Quantity | None] = Quantity("a random number", "")

    @property
    def noise_deviation(self) -> float:
        """Return 1: the model is ignored."""
        return 1.0

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        """Return random values."""
        draw = rng.random(len(belief.mean))
        return Estimate(draw, draw, np.ones(len(draw)))


def bias_correction(cutoff: float) -> float:
    """Return 2 log(C): after n_c timeouts, the paper widens bounds by the factor 1 + 2 log(C) sqrt(n_c).

    It bounds the error of a timeout learned as log C. Below a cutoff of one second log C is negative, so its
    absolute value is used: a width cannot be negative.

    >>> bias_correction(0.5) == bias_correction(2.0) > 0.0
    True
    """
    return 2.0 * abs(math.log(cutoff))
