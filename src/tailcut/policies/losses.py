"""Losses, which are minimised: from an estimate to one number per algorithm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tailcut.numerics import normal_kernels
from tailcut.numerics.normal import SMALLEST_SPREAD, solved_part, timeout_probability
from tailcut.numerics.ranges import Penalty
from tailcut.types import PENALTY, Array, Estimate, Progress, Quantity


class Loss(ABC):
    """Turns an estimate into scores; the lowest wins."""

    @abstractmethod
    def scores(self, estimate: Estimate, cutoff: float) -> Array:
        """Return one finite number per algorithm, shape (K,)."""

    def quantity(self, target: Quantity) -> Quantity:
        """Return what the scores are, for a model that predicts `target`."""
        return target


@dataclass(frozen=True, slots=True)
class Predicted(Loss):
    """The optimistic value itself: log-seconds or seconds, as the model predicts."""

    def scores(self, estimate: Estimate, cutoff: float) -> Array:  # noqa: ARG002
        """Return the optimistic values."""
        return estimate.low


@dataclass(frozen=True, slots=True)
class ExpectedPar(Loss):
    """The expected PARk loss of a lognormal runtime: m if solved, `penalty` times C if not.

    >>> loss = ExpectedPar(penalty=10.0)
    >>> sure = Estimate(np.log([1.0, 50.0]), np.log([1.0, 50.0]), np.array([1e-6, 1e-6]))
    >>> loss.scores(sure, cutoff=10.0).round(6).tolist()  # solved after 1 s; timed out at 10 s
    [1.0, 100.0]
    """

    penalty: Penalty = PENALTY

    def quantity(self, target: Quantity) -> Quantity:  # noqa: ARG002
        """Return that they are expected PARk, whatever the model predicts."""
        return Quantity(f"expected PAR{self.penalty:g}", "s")

    def scores(self, estimate: Estimate, cutoff: float) -> Array:
        """Return expected seconds: exact for one value, the paper's mix of both bounds for two."""
        low, high, spread = estimate
        if low is high:
            return expected_par(low, spread, cutoff, self.penalty)
        return optimistic_par(low, high, spread, cutoff, self.penalty)


def expected_par(mu: Array, s: Array, cutoff: float, penalty: float = PENALTY) -> Array:
    """Return E[loss] = Phi(a) E_C + (1 - Phi(a)) P(C), in [0, P(C)]; paper, eq. (expected_loss_3).

    log m ~ N(mu, s^2), a = (log C - mu)/s, P(C) = penalty C.
    """
    return normal_kernels.expected_par(mu, s, cutoff, SMALLEST_SPREAD, penalty)


def expected_par_left(mu: Array, s: Array, progress: Progress, penalty: float = PENALTY) -> Array:
    """Return E[loss] of a run that gets all the time left, in [0, P(C)]; time used before counts.

    >>> short = np.log([5.0]), np.array([1e-6])  # 5 s for sure, after 20 s of 60 s
    >>> expected_par_left(*short, Progress(60.0, 20.0, None)).round(6).tolist()
    [25.0]
    """
    s = np.maximum(s, SMALLEST_SPREAD)
    timeout = timeout_probability(mu, s, progress.left)
    unsolved = penalty * progress.cutoff
    loss = solved_part(mu, s, progress.left) + (1.0 - timeout) * progress.used + timeout * unsolved
    return np.minimum(loss, unsolved)


def optimistic_par(low: Array, high: Array, s: Array, cutoff: float, penalty: float = PENALTY) -> Array:
    """Return the paper's lower estimate of E[loss] from both bounds o = low, p = high; shape (K,).

    exp(o + s^2/2) Phi(b_p - s)/Phi(b_o) + (1 - Phi(b_p)) (P(C) - exp(p + s^2/2) Phi(b_o - s)/Phi(b_p)) with
    b_o = (log C - o)/s, b_p = (log C - p)/s. The formula is the paper's; with wide bounds it is far outside
    [0, P(C)], which is how these selectors were defined. Ratios are taken in log space, and where exp() would
    overflow, estimates count as equally extreme.
    """
    return normal_kernels.optimistic_par(low, high, s, cutoff, SMALLEST_SPREAD, penalty)
