"""A bank of K ridge regressions, one per algorithm, in one array.

Per algorithm: A = ridge I + sum w x x', of which only the inverse is kept, and theta = A^-1 sum w y x.
Both take each outcome as a rank-one update (Sherman and Morrison): a step costs O(d^2) for the one
algorithm that ran, whatever the horizon.

An update of the inverse would read and write d^2 numbers for d new ones, so the new vectors are first
collected as rows of H, with A^-1 = base - H'H, and folded into the base several at a time by one matrix
product. The base, H and theta of all algorithms lie in one array, so that one matrix-vector product,
one pass over the memory, predicts everything.

Why this does not drift: an error E in A^-1 is carried by the next update to M E M' with
M = A_new^-1 A_old, so it shrinks at least as fast as A^-1 itself; tests/models/test_ridge_drift.py holds the
bank against a batch solve after a million updates.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tailcut.models.model import Model
from tailcut.models.window import SAFE, Kept, RidgeWindow
from tailcut.numerics.ranges import Positive, Window
from tailcut.representation.part import Views
from tailcut.state.stateful import expect, expect_finite, expect_indices
from tailcut.types import Array

COLLECT = 8
"""How many updates of an algorithm are collected before they are folded into its inverse."""
_ONES = np.ones(COLLECT)


class RidgeBank(Model):
    """K ridge posteriors N(theta, A^-1), for unit noise.

    >>> bank = RidgeBank(n_algorithms=2, n_features=1, ridge=1.0)
    >>> bank.update(0, np.array([1.0]), target=4.0, weight=1.0)
    >>> mean, variance = bank.predict(np.array([1.0]))
    >>> mean.round(12).tolist(), variance.round(12).tolist()
    ([2.0, 0.0], [0.5, 1.0])

    With a `window`, only the latest so many runs count, all algorithms together (`tailcut.models.window`).
    """

    STATE = ("table", "collected", "window")
    needs_features: ClassVar[bool] = True

    def __init__(
        self, *, n_algorithms: int, n_features: int, ridge: Positive = 1.0, window: Window = 0
    ) -> None:
        self.ridge = ridge
        self.n_features = n_features
        self.table = self._prior(n_algorithms)
        """Per algorithm d rows of the base, `COLLECT` rows of H and theta; (K, d + COLLECT + 1, d)."""
        self.collected = [0] * n_algorithms
        """How many rows of H are in use, per algorithm; the others are 0."""
        self.window = RidgeWindow(window, n_algorithms) if window else None
        """The latest runs, all algorithms together, if only those are to count."""

    def _prior(self, n_algorithms: int) -> Array:
        table = np.zeros((n_algorithms, self.n_features + COLLECT + 1, self.n_features))
        diagonal = np.arange(self.n_features)
        table[:, diagonal, diagonal] = 1.0 / self.ridge
        return table

    @property
    def theta(self) -> Array:
        """The weights of each algorithm, shape (K, d)."""
        return np.asarray(self.table[:, -1])

    @property
    def inverse(self) -> Array:
        """A^-1 of each algorithm, shape (K, d, d): a copy, with the collected updates folded in."""
        rows = self.table[:, self.n_features : -1]
        return np.asarray(self.table[:, : self.n_features] - rows.transpose(0, 2, 1) @ rows)

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return x'theta and x'A^-1 x for all algorithms, each of shape (K,)."""
        n_algorithms, height, n_features = self.table.shape
        products = self.table.reshape(n_algorithms * height, n_features).dot(x).reshape(n_algorithms, height)
        variance: Array = products[:, :n_features].dot(x)
        along_rows = products[:, n_features:-1]
        variance -= (along_rows * along_rows).dot(_ONES)
        return products[:, -1], np.maximum(variance, 0.0, out=variance)

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return x'theta and x'A^-1 x for one algorithm."""
        u, mean = self.solve(algorithm, x)
        return mean, max(float(u.dot(x)), 0.0)

    def solve(self, algorithm: int, x: Array) -> tuple[Array, float]:
        """Return A^-1 x, shape (d,), and x'theta of one algorithm."""
        n_features, table = self.n_features, self.table[algorithm]
        products = table.dot(x)
        u = products[:n_features]
        u -= products[n_features:-1].dot(table[n_features:-1])
        return u, float(products[-1])

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn (x, target), weighing `weight` observations.

        A^-1 falls by g u u', theta rises by g u (target - x'theta), with u = A^-1 x and
        g = weight / (1 + weight x'u).
        """
        u, mean = self.solve(algorithm, x)
        self.absorb(algorithm, u, max(float(u.dot(x)), 0.0), target - mean, weight)
        if self.window is not None:
            oldest = self.window.push((algorithm, x, target, weight))
            if oldest is not None:
                self._let_go(self.window, oldest)

    def absorb(self, algorithm: int, u: Array, variance: float, residual: float, weight: float) -> None:
        """Update for who has solved already: u = A^-1 x, variance = x'u, residual = target - x'theta.

        A window knows nothing of it: a bank with one learns by `update`.
        """
        gain = weight / (1.0 + weight * variance)
        table, collected = self.table[algorithm], self.collected[algorithm]
        table[-1] += u * (gain * residual)
        np.multiply(u, math.sqrt(gain), out=table[self.n_features + collected])
        self.collected[algorithm] = collected + 1
        if collected + 1 == COLLECT:
            self._fold(algorithm)

    def _let_go(self, window: RidgeWindow, run: Kept) -> None:
        """Forget a run that has left the window: the update, with its weight negative."""
        algorithm, x, target, weight = run
        u, mean = self.solve(algorithm, x)
        left = 1.0 - weight * float(u.dot(x))
        if window.count[algorithm] == 0 or left < SAFE:
            self._renew(window, algorithm)
        else:
            table, gain = self.table[algorithm], weight / left
            table[-1] -= u * (gain * (target - mean))
            along = u * math.sqrt(gain)
            table[: self.n_features] += np.outer(along, along)
        due = window.due(self.n_features)
        if due is not None:
            self._renew(window, due)

    def _renew(self, window: RidgeWindow, algorithm: int) -> None:
        """Compute a posterior again from the runs in the window, free of all rounding before."""
        table = self.table[algorithm]
        if window.count[algorithm] == 0:
            table[:] = self._prior(1)[0]
        else:
            table[self.n_features : -1] = 0.0
            table[: self.n_features], table[-1] = window.posterior(algorithm, self.ridge, self.n_features)
        self.collected[algorithm] = 0

    def _fold(self, algorithm: int) -> None:
        """Subtract H'H from the base. The product of a matrix with its own transpose is symmetric."""
        rows = self.table[algorithm, self.n_features : -1]
        self.table[algorithm, : self.n_features] -= rows.T @ rows
        rows[:] = 0.0
        self.collected[algorithm] = 0

    def add(self) -> None:
        """Append a posterior that equals the prior."""
        self.table = np.concatenate([self.table, self._prior(1)])
        self.collected.append(0)
        if self.window is not None:
            self.window.add()

    def remove(self, algorithm: int) -> None:
        """Drop one posterior."""
        self.table = np.delete(self.table, algorithm, axis=0)
        del self.collected[algorithm]
        if self.window is not None:
            self.window.remove(algorithm)

    def restored(self) -> None:
        """Check that the table can be a bank's."""
        expect_finite(table=self.table)
        expect(all(isinstance(one, int) for one in self.collected), "collected: expected whole numbers")
        expect_indices(COLLECT, collected=self.collected)

    def widen(self, n_features: int, views: Views | None = None) -> None:  # noqa: ARG002
        """Put features in front of which nothing is known: past runs had 0 there, so all else stays."""
        extra = n_features - self.n_features
        self.n_features = n_features
        wider = self._prior(len(self.table))
        wider[:, extra:, extra:] = self.table  # base, H and theta alike; the prior of the new ones stays
        self.table = wider
        if self.window is not None:
            self.window.widen(extra)
