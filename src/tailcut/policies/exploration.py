"""How uncertainty becomes a choice: from a belief to an estimate that may be optimistic or drawn.

Parts here are frozen values; the randomness comes in by the argument `rng`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tailcut.types import Array, Belief, Estimate


class Exploration(Protocol):
    """Turns what is believed of all K algorithms into what they are judged by."""

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:
        """Return optimistic and pessimistic values and the spread, each of shape (K,)."""
        ...


@dataclass(frozen=True, slots=True)
class Greedy:
    """Judge by the mean; `sigma` is the deviation of the noise."""

    sigma: float = 1.0

    @property
    def noise(self) -> float:
        """The deviation of a run's target around its mean."""
        return self.sigma

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        """Return the mean as both values."""
        return Estimate(belief.mean, belief.mean, np.full(len(belief.mean), self.sigma))


@dataclass(frozen=True, slots=True)
class Thompson:
    """Judge by one draw from the posterior N(x'theta, sigma x'A^-1 x) of each algorithm.

    A draw of the whole vector theta ~ N(theta, sigma A^-1) would give x'theta exactly this scalar
    distribution, so no vector is drawn.
    """

    sigma: float = 1.0

    @property
    def noise(self) -> float:
        """The deviation of a run's target around its mean: sigma A^-1 is the posterior for this variance."""
        return math.sqrt(self.sigma)

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        """Return the draw as both values and the posterior deviation as spread."""
        spread = np.sqrt(self.sigma * belief.variance)
        draw = belief.mean + spread * rng.standard_normal(len(spread))
        return Estimate(draw, draw, spread)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Judge by confidence bounds, mean -+ alpha times a width (LinUCB and its variants).

    The width is sqrt(x'A^-1 x), widened against the bias of learning timeouts as log C where
    `bias_corrected`, and multiplied by abs(r), r ~ N(0, rand_sigma^2), one draw per algorithm, where
    `rand_sigma` is given.
    """

    alpha: float = 1.0
    sigma: float = 1.0
    """Deviation of the noise, for losses that ask for it."""
    bias_corrected: bool = False
    rand_sigma: float | None = None

    @property
    def noise(self) -> float:
        """The deviation of a run's target around its mean."""
        return self.sigma

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:
        """Return both bounds; the spread is sigma."""
        width = self.alpha * np.sqrt(belief.variance)
        if self.bias_corrected:
            width *= bias_correction(belief.censored, cutoff)
        if self.rand_sigma is not None:
            width *= np.abs(rng.standard_normal(len(width))) * self.rand_sigma
        return Estimate(belief.mean - width, belief.mean + width, np.full(len(width), self.sigma))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Judge by nothing: one uniform number per algorithm."""

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        """Return random values."""
        draw = rng.random(len(belief.mean))
        return Estimate(draw, draw, np.ones(len(draw)))


def bias_correction(censored: Array, cutoff: float) -> Array:
    """Return 1 + 2 log(C) sqrt(n_c), the paper's widening after n_c = `censored` timeouts; shape (K,).

    It bounds how far a timeout learned as log C may lie from the truth. Below a cutoff of one second
    log C is negative, so its size is taken: a width cannot be negative.
    """
    return 1.0 + 2.0 * abs(math.log(cutoff)) * np.sqrt(censored)
