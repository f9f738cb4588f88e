"""Inside a policy: the progress on an instance, and beliefs, estimates and forecasts about its runs."""

from __future__ import annotations

from typing import NamedTuple

from tailcut.types.arrays import Array


class Progress(NamedTuple):
    """The state of one instance when a run on it is chosen."""

    cutoff: float
    """Seconds after which the instance counts as unsolved."""
    used: float
    """Seconds used on it so far, features included."""
    failed: Array | None
    """The longest unsuccessful run of each algorithm on it, shape (K,): 0 if it has not run, the cutoff if it
    failed. None for policies that pick once."""

    @property
    def left(self) -> float:
        """Seconds left until the cutoff.

        >>> Progress(cutoff=60.0, used=12.5, failed=None).left
        47.5
        """
        return self.cutoff - self.used


class Belief(NamedTuple):
    """What a model predicts for all K algorithms on one instance."""

    mean: Array
    """Predicted target (log-seconds or seconds), shape (K,)."""
    variance: Array
    """Variance of that prediction for unit noise, x'A^-1 x for a ridge model, shape (K,)."""
    censored: Array
    """The number of unsolved runs of each algorithm so far, shape (K,)."""


class Estimate(NamedTuple):
    """What exploration turns a belief into: an optimistic and a pessimistic value, and a spread.

    A sample, or a plain mean, is an estimate whose two values are the same array.
    """

    low: Array
    """Optimistic target, shape (K,)."""
    high: Array
    """Pessimistic target, shape (K,); the same object as `low` where there is only one value."""
    spread: Array
    """Standard deviation of the log-runtime around these, shape (K,)."""


class Forecasts(NamedTuple):
    """Predicted runs of K algorithms on one instance, each array of shape (K,)."""

    median: Array
    """Seconds."""
    low: Array
    """Seconds that one run in twenty falls below."""
    high: Array
    """Seconds that one run in twenty exceeds."""
    timeout: Array
    """Probability that a run does not finish in the time that is left."""
    expected_par: Array
    """Expected PARk in seconds."""
    penalty: float
    """Its k."""


class Quantity(NamedTuple):
    """What a number is, in words, and its unit: 's', 'log s', or '' where it has none."""

    label: str
    unit: str
