"""What a model predicts of a run (log-runtime, runtime or a bounded loss), and the loss to minimise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailcut.numerics import normal_kernels
from tailcut.numerics.normal import SMALLEST_SPREAD, solved_part, timeout_probability
from tailcut.numerics.ranges import Penalty, Share
from tailcut.types import PENALTY, Array, Estimate, Forecasts, Progress, Quantity

SHORTEST_RUNTIME = 1e-4
"""Seconds that a runtime of 0 counts as on the log scale, as in the published experiments."""
_FIVE_PERCENT = 1.6448536269514722
"""A standard normal draw is beyond this in one of twenty cases."""
_LARGEST_LOG = 700.0
"""exp() of more would overflow."""


class Target(ABC):
    """From the seconds that a run took to the number that the model learns."""

    quantity: ClassVar[Quantity]
    """What that number is, once it is predicted."""
    predicts_runtimes: ClassVar[bool] = False
    """Whether `forecasts` returns any."""
    is_loss: ClassVar[bool] = False
    """Whether it is a loss between 0 and 1, so that one given by the user can take its place."""

    @abstractmethod
    def value(self, seconds: float, cutoff: float) -> float:
        """Return the target of a run of `seconds` under a `cutoff`."""

    def forecasts(
        self,
        mean: Array,  # noqa: ARG002
        deviation: Array,  # noqa: ARG002
        progress: Progress,  # noqa: ARG002
        penalty: float,  # noqa: ARG002
    ) -> Forecasts | None:
        """Return what runs will take if their targets are N(mean, deviation^2); None: not known."""
        return None


@dataclass(frozen=True, slots=True)
class LogSeconds(Target):
    """The logarithm of the runtime, with 0 counted as `SHORTEST_RUNTIME`."""

    quantity: ClassVar[Quantity] = Quantity("predicted log-runtime", "log s")
    predicts_runtimes: ClassVar[bool] = True

    def value(self, seconds: float, cutoff: float) -> float:  # noqa: ARG002
        return math.log(seconds if seconds > SHORTEST_RUNTIME else SHORTEST_RUNTIME)

    def forecasts(self, mean: Array, deviation: Array, progress: Progress, penalty: float) -> Forecasts:
        """Return the forecasts for lognormal runtimes, shapes (K,).

        >>> target, whole = LogSeconds(), Progress(60.0, 0.0, None)
        >>> runs = target.forecasts(np.log([10.0]), np.array([1.0]), whole, penalty=10.0)
        >>> runs.median.round(3).tolist(), runs.low.round(3).tolist(), runs.high.round(3).tolist()
        ([10.0], [1.93], [51.803])
        >>> runs.timeout.round(4).tolist(), runs.expected_par.round(2).tolist()
        ([0.0366], [34.91])
        """
        deviation = np.maximum(deviation, SMALLEST_SPREAD)
        reach = _FIVE_PERCENT * deviation
        return Forecasts(
            _exp(mean),
            _exp(mean - reach),
            _exp(mean + reach),
            timeout_probability(mean, deviation, progress.left),
            expected_par_left(mean, deviation, progress, penalty),
            penalty,
        )


def _exp(logarithm: Array) -> Array:
    return np.exp(np.clip(logarithm, -_LARGEST_LOG, _LARGEST_LOG))


@dataclass(frozen=True, slots=True)
class Seconds(Target):
    """The runtime itself."""

    quantity: ClassVar[Quantity] = Quantity("predicted runtime", "s")

    def value(self, seconds: float, cutoff: float) -> float:  # noqa: ARG002
        return seconds


@dataclass(frozen=True, slots=True)
class BoundedLoss(Target):
    """A loss between 0 and 1: a timeout is 1, a solved run at most `solved_share`, by its log-runtime.

    PAR10 is mostly about timeouts, and a bounded target keeps a few huge log-runtimes from ruling the fit.

    >>> loss = BoundedLoss(solved_share=0.3)
    >>> [round(loss.value(seconds, cutoff=100.0), 3) for seconds in (0.0, 1.0, 100.0)]
    [0.0, 0.045, 0.3]
    """

    quantity: ClassVar[Quantity] = Quantity("predicted loss between 0 and 1", "")
    is_loss: ClassVar[bool] = True
    solved_share: Share = 0.3

    def value(self, seconds: float, cutoff: float) -> float:
        """Return the loss of a run solved after `seconds`; 1% of the cutoff counts as little, 0 as none."""
        return self.solved_share * math.log1p(99.0 * min(seconds / cutoff, 1.0)) / math.log(100.0)


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
    b_o = (log C - o)/s, b_p = (log C - p)/s. With wide bounds it is far outside [0, P(C)], which is how these
    selectors were defined. Where exp() would overflow, estimates count as equally extreme.
    """
    return normal_kernels.optimistic_par(low, high, s, cutoff, SMALLEST_SPREAD, penalty)
