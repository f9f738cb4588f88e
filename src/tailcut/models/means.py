"""The mean target of each algorithm, without features."""

from __future__ import annotations

import numpy as np

from tailcut.models.model import Model
from tailcut.models.window import SlidingWindow, check_records
from tailcut.numerics.ranges import Window
from tailcut.representation.part import Views
from tailcut.state.stateful import expect, expect_finite
from tailcut.types import Array

_Latest = SlidingWindow[tuple[int, float, float]]
_SAFE = 1e-6
"""A run is not subtracted where it leaves less than this share of its own weight: that would be rounding."""


class RunningMeans(Model):
    """One weighted mean per algorithm; 0 before its first outcome.

    >>> means = RunningMeans(n_algorithms=2, n_features=0)
    >>> for seconds in (10.0, 20.0):
    ...     means.update(1, np.array([]), target=seconds, weight=1.0)
    >>> means.predict(np.array([]))[0].tolist()
    [0.0, 15.0]

    With a `window`, only the latest so many runs count, all algorithms together.
    """

    STATE = ("weight", "mean", "recent", "gone")

    def __init__(self, *, n_algorithms: int, n_features: int, window: Window = 0) -> None:  # noqa: ARG002 - every model is made alike
        self.weight = np.zeros(n_algorithms)
        self.mean = np.zeros(n_algorithms)
        self.recent: _Latest | None = SlidingWindow(window) if window else None
        """Algorithm, target and weight of the latest runs, if only those are to count."""
        self.gone = 0
        """How many runs were let go since all means were last computed again."""

    def predict(self, x: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Return the means, and 1 / (1 + weight) as their variance for unit noise; shapes (K,)."""
        return self.mean.copy(), 1.0 / (1.0 + self.weight)

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:  # noqa: ARG002
        """Return mean and variance of one algorithm."""
        return float(self.mean[algorithm]), float(1.0 / (1.0 + self.weight[algorithm]))

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:  # noqa: ARG002
        """Move the mean towards `target`; `weight` 0 teaches nothing."""
        if weight > 0.0:
            self.weight[algorithm] += weight
            self.mean[algorithm] += weight / self.weight[algorithm] * (target - self.mean[algorithm])
        if self.recent is not None:
            oldest = self.recent.push((algorithm, target, weight))
            if oldest is not None:
                self._let_go(self.recent, *oldest)

    def _let_go(self, recent: _Latest, a: int, target: float, weight: float) -> None:
        """Move the mean of `a` back; now and then compute all again, so that rounding does not pile up."""
        left = self.weight[a] - weight
        self.gone += 1
        if left < _SAFE * weight or self.gone >= recent.size:
            self._renew(recent)
        elif weight > 0.0:
            self.weight[a] = left
            self.mean[a] -= weight / left * (target - self.mean[a])

    def _renew(self, recent: _Latest) -> None:
        """Compute all weights and means again from the runs in the window."""
        sums = np.zeros((2, len(self.mean)))
        for algorithm, target, weight in recent:
            sums[:, algorithm] += weight, weight * target
        self.weight, self.gone = sums[0], 0
        self.mean = np.divide(sums[1], sums[0], out=np.zeros(len(self.mean)), where=sums[0] > 0.0)

    def add(self) -> None:
        """Append an algorithm without outcomes."""
        self.weight, self.mean = np.append(self.weight, 0.0), np.append(self.mean, 0.0)

    def remove(self, algorithm: int) -> None:
        """Drop one algorithm."""
        self.weight, self.mean = np.delete(self.weight, algorithm), np.delete(self.mean, algorithm)
        if self.recent is not None:
            self.recent.remove(algorithm)

    def restored(self) -> None:
        """Check that the sums can be those of runs."""
        expect_finite(weight=self.weight, mean=self.mean)
        expect((self.weight >= 0.0).all(), "weight: is less than 0")
        if self.recent is not None:
            check_records(self.recent, len(self.mean), (int, float, float))

    def widen(self, n_features: int, views: Views) -> None:
        """Change nothing: features are ignored."""
