"""The four Thompson variants: censored runs at log C or by Buckley-James, log-runtime or expected PAR10.

The published runs drew whole weight vectors through a singular value decomposition, whose signs and
bases depend on the BLAS in use. Here the one number that matters, eta = x'theta~ ~ N(x'theta, sigma v),
is drawn directly: the same distribution, other draws. So these cells match in distribution only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri_exp

from tailcut.replication.bandit import RidgeBandit, log_runtime
from tailcut.replication.protocol import ExperimentData
from tailcut.replication.switches import PUBLISHED, Switches
from tailcut.types import Array

TRIES = 20
"""Draws that Buckley-James makes at most; the last one does not count even if it succeeds."""


class ThompsonBandit(RidgeBandit):
    """Scores from one posterior sample per algorithm; sigma = 1, lambda = 0.5 as published."""

    untried = -1e6
    guards_zero_vectors = True

    def __init__(
        self,
        table: ExperimentData,
        rng: np.random.RandomState,
        *,
        buckley_james: bool,
        revisited: bool,
        sigma: float = 1.0,
        ridge: float = 0.5,
        switches: Switches = PUBLISHED,
    ) -> None:
        super().__init__(table, rng, ridge=ridge, switches=switches)
        self.buckley_james = buckley_james
        self.revisited = revisited
        self.sigma = sigma

    def scores(self, known: NDArray[np.intp], mean: Array, variance: Array) -> Array:
        """Return sampled log-runtimes, or expected losses at them."""
        eta = mean + np.sqrt(self.sigma * variance) * self.rng.standard_normal(len(known))
        if not self.revisited:
            return eta
        published = self.switches.tail_uses_variance
        # sigma^2 v is what the table was made with, sigma v what the paper defines: the same at sigma = 1
        spread = (self.sigma**2 if published else self.sigma) * variance
        return self.expected_loss(eta, spread)

    def expected_loss(self, eta: Array, variance: Array) -> Array:
        """Return the loss that `*_rev` minimises at log-runtimes eta (K,), with these variances (K,)."""
        deviation = np.sqrt(variance)
        shift = variance / 2 if self.switches.half_shift else variance
        tail_scale = variance if self.switches.tail_uses_variance else deviation
        with np.errstate(all="ignore"):
            ratio = ndtr((self.log_cutoff - eta - shift) / deviation) / ndtr(
                (self.log_cutoff - eta) / deviation
            )
            solved_mean = np.exp(eta + variance / 2) * ratio
            in_time = ndtr((self.log_cutoff - eta) / tail_scale)
            return np.asarray(solved_mean + (1 - in_time) * (self.penalty - solved_mean))

    def target(self, algorithm: int, x: Array, performance: float, censored: bool) -> float | None:
        """Return the log-runtime; for a censored run log C, or a draw above it."""
        if not censored:
            return log_runtime(performance)
        if not self.buckley_james:
            return self.log_cutoff
        mean, variance = self.belief(np.array([algorithm]), x)
        deviation = math.sqrt(self.sigma * float(variance[0]))
        if self.switches.bj_gives_up:
            return self.retried(float(mean[0]), deviation)
        log_tail = float(log_ndtr((float(mean[0]) - self.log_cutoff) / deviation))
        log_uniform = math.log(1.0 - self.rng.random_sample())
        return float(mean[0]) - deviation * float(ndtri_exp(log_tail + log_uniform))

    def retried(self, mean: float, deviation: float) -> float:
        """Return the first of 19 draws that exceeds log C, else log C."""
        for _ in range(TRIES - 1):
            draw = mean + deviation * self.rng.standard_normal()
            if draw > self.log_cutoff:
                return float(draw)
        return self.log_cutoff
