"""The eight LinUCB variants: blind or bias-corrected, plain or randomised, log-runtime or expected PAR10."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tailcut.replication.bandit import RidgeBandit, log_runtime
from tailcut.replication.protocol import ExperimentData
from tailcut.replication.switches import PUBLISHED, Switches
from tailcut.types import Array


class LinUCB(RidgeBandit):
    """Bounds x'theta -+ alpha w; lambda = 1, alpha = 1, sigma = 10 as published."""

    untried = -1.1e6
    guards_zero_vectors = False
    sigma = 10.0

    def __init__(
        self,
        table: ExperimentData,
        rng: np.random.RandomState,
        *,
        corrected: bool,
        randomised: bool,
        revisited: bool,
        switches: Switches = PUBLISHED,
    ) -> None:
        super().__init__(table, rng, ridge=1.0, switches=switches)
        self.corrected = corrected
        self.randomised = randomised
        self.revisited = revisited

    def scores(self, known: NDArray[np.intp], mean: Array, variance: Array) -> Array:
        """Return lower bounds of the log-runtime, or expected losses made of both bounds."""
        width = np.sqrt(variance)
        if self.corrected:
            extra = width if self.switches.width_adds_one else 0.0
            width = width * np.sqrt(self.timeouts[known]) * self.log_cutoff * 2.0 + extra
        if self.randomised:
            draws = self.rng.standard_normal(len(known))
            width = width * (np.abs(draws) * self.switches.rand_scale)
        if self.revisited:
            return expected_loss(mean - width, mean + width, self.sigma, self.log_cutoff, self.penalty)
        return mean - width

    def target(self, algorithm: int, x: Array, performance: float, censored: bool) -> float | None:  # noqa: ARG002
        """Return the log-runtime; for a censored run log C (bias-corrected) or nothing (blind)."""
        if not censored:
            return log_runtime(performance)
        return self.log_cutoff if self.corrected else None


def expected_loss(low: Array, high: Array, s: float, log_cutoff: float, penalty: float) -> Array:
    """Return the loss that `*_rev` minimises, from optimistic and pessimistic log-runtimes.

    Algorithm 2 of the paper's appendix, its terms computed as they stand: they may overflow or become
    nan, and the published choices follow from that too.

    >>> at = np.array([1.0])
    >>> round(float(expected_loss(at, at, 1.0, 2.0, 100.0)[0]), 4)  # 0.841 E_C + 0.159 * 100
    18.1064
    """
    with np.errstate(all="ignore"):
        low_mean = np.exp(low + s**2 / 2) * (
            ndtr((log_cutoff - high - s**2) / s) / ndtr((log_cutoff - low) / s)
        )
        high_mean = np.exp(high + s**2 / 2) * (
            ndtr((log_cutoff - low - s**2) / s) / ndtr((log_cutoff - high) / s)
        )
        return np.asarray(low_mean + (1 - ndtr((log_cutoff - high) / s)) * (penalty - high_mean))
