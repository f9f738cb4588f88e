"""What a model predicts of a run: its log-runtime, its runtime, or a bounded loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

SHORTEST_RUNTIME = 1e-4
"""Seconds that a runtime of 0 counts as on the log scale, as in the published experiments."""


class Target(Protocol):
    """From the seconds that a run took to the number that the model learns."""

    def value(self, seconds: float, cutoff: float) -> float:
        """Return the target of a run of `seconds` under a `cutoff`."""
        ...


@dataclass(frozen=True, slots=True)
class LogSeconds:
    """The logarithm of the runtime, with 0 counted as `SHORTEST_RUNTIME`."""

    def value(self, seconds: float, cutoff: float) -> float:  # noqa: ARG002
        """Return log(seconds)."""
        return math.log(max(seconds, SHORTEST_RUNTIME))


@dataclass(frozen=True, slots=True)
class Seconds:
    """The runtime itself."""

    def value(self, seconds: float, cutoff: float) -> float:  # noqa: ARG002
        """Return the seconds."""
        return seconds


@dataclass(frozen=True, slots=True)
class BoundedLoss:
    """A loss between 0 and 1: a timeout is 1, a solved run at most `solved_share`, by its log-runtime.

    PAR10 is mostly about timeouts, and a bounded target keeps a few huge log-runtimes from ruling the fit.

    >>> loss = BoundedLoss(solved_share=0.3)
    >>> [round(loss.value(seconds, cutoff=100.0), 3) for seconds in (0.0, 1.0, 100.0)]
    [0.0, 0.045, 0.3]
    """

    solved_share: float = 0.3

    def value(self, seconds: float, cutoff: float) -> float:
        """Return the loss of a run solved after `seconds`; 1% of the cutoff counts as little, 0 as none."""
        return self.solved_share * math.log1p(99.0 * min(seconds / cutoff, 1.0)) / math.log(100.0)
