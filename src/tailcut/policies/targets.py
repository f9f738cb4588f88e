"""What a model predicts of a run: its log-runtime, its runtime, or a bounded loss."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailcut.numerics.normal import SMALLEST_SPREAD, timeout_probability
from tailcut.numerics.ranges import Share
from tailcut.policies.losses import expected_par_left
from tailcut.types import Array, Forecasts, Progress, Quantity

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
        """Return log(seconds)."""
        return math.log(seconds if seconds > SHORTEST_RUNTIME else SHORTEST_RUNTIME)

    def forecasts(self, mean: Array, deviation: Array, progress: Progress, penalty: float) -> Forecasts:
        """Return the forecasts for lognormal runtimes, shapes (K,).

        >>> target, whole = LogSeconds(), Progress(60.0, 0.0, None)
        >>> found = target.forecasts(np.log([10.0]), np.array([1.0]), whole, penalty=10.0)
        >>> found.median.round(3).tolist(), found.low.round(3).tolist(), found.high.round(3).tolist()
        ([10.0], [1.93], [51.803])
        >>> found.timeout.round(4).tolist(), found.expected_par.round(2).tolist()
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
        """Return the seconds."""
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
