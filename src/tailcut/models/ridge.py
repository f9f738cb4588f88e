"""A bank of K ridge regressions, one per algorithm, in one array.

Per algorithm: A = ridge I + sum w x x', of which only the inverse is kept, and theta = A^-1 sum w y x.
Both take each outcome as a rank-one update (Sherman and Morrison): a step costs O(d^2) for the one
algorithm that ran, whatever the horizon.

An inverse is symmetric, so its lower half is all that is kept: a prediction is one pass over the memory, and
half of it takes half the time. The arithmetic is compiled (`tailcut.numerics.ridge_kernels`).

Why this does not drift: an error E in A^-1 is carried by the next update to M E M' with
M = A_new^-1 A_old, so it shrinks at least as fast as A^-1 itself; tests/models/test_ridge_drift.py holds the
bank against a batch solve after a million updates.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tailcut.models.model import Model
from tailcut.models.window import SAFE, Kept, RidgeWindow
from tailcut.numerics import ridge_kernels
from tailcut.numerics.ranges import Positive, Window
from tailcut.representation.part import Views
from tailcut.state.stateful import expect_finite
from tailcut.types import Array


class RidgeBank(Model):
    """K ridge posteriors N(theta, A^-1), for unit noise.

    >>> bank = RidgeBank(n_algorithms=2, n_features=1, ridge=1.0)
    >>> bank.update(0, np.array([1.0]), target=4.0, weight=1.0)
    >>> mean, variance = bank.predict(np.array([1.0]))
    >>> mean.round(12).tolist(), variance.round(12).tolist()
    ([2.0, 0.0], [0.5, 1.0])

    With a `window`, only the latest so many runs count, all algorithms together (`tailcut.models.window`).
    """

    STATE = ("halves", "theta", "window")
    needs_features: ClassVar[bool] = True

    def __init__(
        self, *, n_algorithms: int, n_features: int, ridge: Positive = 1.0, window: Window = 0
    ) -> None:
        self.ridge = ridge
        self.n_features = n_features
        self.halves = self._prior(n_algorithms)
        """The lower half of each A^-1, row after row, shape (K, d (d + 1) / 2)."""
        self.theta = np.zeros((n_algorithms, n_features))
        """The weights of each algorithm, shape (K, d)."""
        self.window = RidgeWindow(window, n_algorithms) if window else None
        """The latest runs, all algorithms together, if only those are to count."""

    def _prior(self, n_algorithms: int) -> Array:
        d = self.n_features
        halves = np.zeros((n_algorithms, d * (d + 1) // 2))
        halves[:, np.arange(1, d + 1).cumsum() - 1] = 1.0 / self.ridge
        return halves

    @property
    def inverse(self) -> Array:
        """A^-1 of each algorithm, shape (K, d, d): a copy."""
        full = np.empty((len(self.halves), self.n_features, self.n_features))
        row, column = np.tril_indices(self.n_features)
        full[:, row, column] = full[:, column, row] = self.halves
        return full

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return x'theta and x'A^-1 x for all algorithms, each of shape (K,)."""
        return ridge_kernels.predict(self.halves, self.theta, x)

    def mean(self, x: Array) -> Array:
        """Return x'theta for all algorithms, shape (K,)."""
        return ridge_kernels.mean(self.theta, x)

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return x'theta and x'A^-1 x for one algorithm."""
        _, mean, variance = self.solve(algorithm, x)
        return mean, variance

    def solve(self, algorithm: int, x: Array) -> tuple[Array, float, float]:
        """Return u = A^-1 x, shape (d,), x'theta and x'u, at least 0, of one algorithm."""
        return ridge_kernels.solve(self.halves, self.theta, algorithm, x)

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn (x, target), weighing `weight` observations.

        A^-1 falls by g u u', theta rises by g u (target - x'theta), with u = A^-1 x and
        g = weight / (1 + weight x'u).
        """
        ridge_kernels.update(self.halves, self.theta, algorithm, x, target, weight)
        if self.window is not None:
            oldest = self.window.push((algorithm, x, target, weight))
            if oldest is not None:
                self._let_go(self.window, oldest)

    def absorb(self, algorithm: int, u: Array, variance: float, residual: float, weight: float) -> None:
        """Update when the solution is known: u = A^-1 x, variance = x'u, residual = target - x'theta.

        A window knows nothing of it: a bank with one learns by `update`.
        """
        gain = weight / (1.0 + weight * variance)
        ridge_kernels.absorb(self.halves, self.theta, algorithm, u, gain, gain * residual)

    def _let_go(self, window: RidgeWindow, run: Kept) -> None:
        """Forget a run that has left the window: the update, with its weight negative."""
        algorithm, x, target, weight = run
        u, mean, variance = self.solve(algorithm, x)
        left = 1.0 - weight * variance
        if window.count[algorithm] == 0 or left < SAFE:
            self._renew(window, algorithm)
        else:
            self.absorb(algorithm, u, variance, target - mean, -weight)
        due = window.due(self.n_features)
        if due is not None:
            self._renew(window, due)

    def _renew(self, window: RidgeWindow, algorithm: int) -> None:
        """Compute a posterior again from the runs in the window, free of all rounding before."""
        if window.count[algorithm] == 0:
            self.halves[algorithm], self.theta[algorithm] = self._prior(1)[0], 0.0
        else:
            inverse, self.theta[algorithm] = window.posterior(algorithm, self.ridge, self.n_features)
            self.halves[algorithm] = inverse[np.tril_indices(self.n_features)]

    def add(self) -> None:
        """Append a posterior that equals the prior."""
        self.halves = np.concatenate([self.halves, self._prior(1)])
        self.theta = np.concatenate([self.theta, np.zeros((1, self.n_features))])
        if self.window is not None:
            self.window.add()

    def remove(self, algorithm: int) -> None:
        """Drop one posterior."""
        self.halves = np.delete(self.halves, algorithm, axis=0)
        self.theta = np.delete(self.theta, algorithm, axis=0)
        if self.window is not None:
            self.window.remove(algorithm)

    def restored(self) -> None:
        """Check that these can be a bank's."""
        expect_finite(halves=self.halves, theta=self.theta)

    def widen(self, n_features: int, views: Views | None = None) -> None:  # noqa: ARG002
        """Put features in front of which nothing is known: past runs had 0 there, so all else stays."""
        extra, known, theta = n_features - self.n_features, self.inverse, self.theta
        self.n_features = n_features
        self.halves = self._prior(len(known))  # of the new ones the prior stays
        row, column = np.tril_indices(n_features)
        old = column >= extra
        self.halves[:, old] = known[:, row[old] - extra, column[old] - extra]
        self.theta = np.hstack([np.zeros((len(theta), extra)), theta])
        if self.window is not None:
            self.window.widen(extra)
