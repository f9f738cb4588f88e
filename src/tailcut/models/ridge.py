"""A bank of K ridge regressions, one per algorithm, in one array.

Per algorithm: A = ridge I + sum w x x', of which only the inverse is kept, and theta = A^-1 sum w y x.
Both take each outcome as a rank-one update (Sherman and Morrison): a step costs O(d^2) for the one
algorithm that ran, whatever the horizon.

An inverse is symmetric, so only its lower half is kept: half the memory to pass for a prediction. The
arithmetic is compiled (`tailcut.numerics.ridge_kernels`).

Why this does not drift: an error E in A^-1 is carried by the next update to M E M' with
M = A_new^-1 A_old, so it shrinks at least as fast as A^-1 itself; tests/models/test_ridge_drift.py holds the
bank against a batch solve after a million updates.

With a window, a run leaves by the rank-one formula that took it in, with its weight negative. That undoes the
update, but not its rounding, which grows. So now and then an algorithm's posterior is computed again from the
runs in the window, seldom enough that the average cost per run stays O(d^2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tailcut.models.model import Model, SlidingWindow
from tailcut.numerics import ridge_kernels
from tailcut.numerics.ranges import Positive, Window
from tailcut.representation import Views
from tailcut.state import expect, expect_finite, expect_indices
from tailcut.types import Array

SAFE = 1e-6
"""A run whose leaving would divide by less than this is not subtracted: its algorithm is computed again."""

Kept = tuple[int, Array, float, float]
"""Algorithm, x of shape (d,), target, weight."""


class RidgeBank(Model):
    """K ridge posteriors N(theta, A^-1), for unit noise.

    >>> bank = RidgeBank(n_algorithms=2, n_features=1, ridge=1.0)
    >>> bank.update(0, np.array([1.0]), target=4.0, weight=1.0)
    >>> mean, variance = bank.predict(np.array([1.0]))
    >>> mean.round(12).tolist(), variance.round(12).tolist()
    ([2.0, 0.0], [0.5, 1.0])

    With a `window`, only the latest so many runs count, all algorithms together.
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

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
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

    def _let_go(self, window: RidgeWindow, run: Kept) -> None:
        """Forget a run that has left the window: the update, with its weight negative."""
        algorithm, x, target, weight = run
        u, mean, variance = self.solve(algorithm, x)
        left = 1.0 - weight * variance
        if window.count[algorithm] == 0 or left < SAFE:
            self._renew(window, algorithm)
        else:
            gain = -weight / left
            ridge_kernels.absorb(self.halves, self.theta, algorithm, u, gain, gain * (target - mean))
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
        self.halves = np.concatenate([self.halves, self._prior(1)])
        self.theta = np.concatenate([self.theta, np.zeros((1, self.n_features))])
        if self.window is not None:
            self.window.add()

    def remove(self, algorithm: int) -> None:
        self.halves = np.delete(self.halves, algorithm, axis=0)
        self.theta = np.delete(self.theta, algorithm, axis=0)
        if self.window is not None:
            self.window.remove(algorithm)

    def restored(self) -> None:
        expect_finite(halves=self.halves, theta=self.theta)

    def add_features(self, n_features: int, views: Views | None = None) -> None:  # noqa: ARG002
        """Put features in front of which nothing is known: past runs had 0 there, so all else stays."""
        extra, known, theta = n_features - self.n_features, self.inverse, self.theta
        self.n_features = n_features
        self.halves = self._prior(len(known))  # of the new ones the prior stays
        row, column = np.tril_indices(n_features)
        old = column >= extra
        self.halves[:, old] = known[:, row[old] - extra, column[old] - extra]
        self.theta = np.hstack([np.zeros((len(theta), extra)), theta])
        if self.window is not None:
            self.window.add_features(extra)


class RidgeWindow(SlidingWindow[Kept]):
    """The latest `size` runs of a bank of K algorithms, and which algorithm is renewed next."""

    STATE = ("columns", "gone", "next_renewed")
    SAVED_AS: ClassVar[Mapping[str, str]] = {"next_renewed": "turn"}
    GROWING = ("columns",)

    def __init__(self, size: int, n_algorithms: int) -> None:
        super().__init__(size)
        self.count = [0] * n_algorithms
        """How many of the runs are of each algorithm."""
        self.gone = 0
        """How many runs were let go since the last regular renewal."""
        self.next_renewed = 0

    def push(self, run: Kept) -> Kept | None:
        self.count[run[0]] += 1
        oldest = super().push(run)
        if oldest is not None:
            self.count[oldest[0]] -= 1
        return oldest

    def due(self, n_features: int) -> int | None:
        """Count a removed run; return the algorithm to renew now, if any.

        Renewing costs O(n d^2 + d^3) for the n runs of one algorithm. After every max(size / K, d) runs let
        go, that is O(d^2) per run on average.
        """
        self.gone += 1
        n_algorithms = len(self.count)
        if self.gone < max(self.size // n_algorithms, n_features):
            return None
        self.gone, self.next_renewed = 0, (self.next_renewed + 1) % n_algorithms
        return self.next_renewed

    def posterior(self, algorithm: int, ridge: float, n_features: int) -> tuple[Array, Array]:
        """Return A^-1, shape (d, d), and theta, shape (d,), of the runs in the window."""
        own = [run for run in self if run[0] == algorithm]
        x = np.array([run[1] for run in own]).reshape(len(own), n_features)
        weighted = x * np.array([run[3] for run in own])[:, None]
        gram = weighted.T @ x
        gram[np.diag_indices(n_features)] += ridge
        inverse = np.linalg.inv(gram)
        inverse = 0.5 * (inverse + inverse.T)
        return inverse, inverse @ (weighted.T @ np.array([run[2] for run in own]))

    def add(self) -> None:
        self.count.append(0)

    def remove(self, algorithm: int) -> None:
        super().remove(algorithm)
        del self.count[algorithm]
        self.next_renewed = 0

    def add_features(self, extra: int) -> None:
        """Let the runs have `extra` more features, in front of those known, all 0."""
        nothing = np.zeros(extra)
        self.replace((a, np.concatenate([nothing, x]), target, w) for a, x, target, w in self)

    @property
    def columns(self) -> dict[str, Any]:
        kinds = {"algorithm": np.int64, "x": np.float64, "target": np.float64, "weight": np.float64}
        return {
            name: np.array([run[place] for run in self], dtype=kind)
            for place, (name, kind) in enumerate(kinds.items())
        }

    @columns.setter
    def columns(self, columns: dict[str, Any]) -> None:
        expect_finite(x=columns["x"], target=columns["target"], weight=columns["weight"])
        expect_indices(len(self.count), algorithm=columns["algorithm"])
        expect(len(columns["algorithm"]) <= self.size, f"algorithm: expected {self.size} runs at most")
        lists = (columns["algorithm"].tolist(), columns["x"], columns["target"].tolist())
        self.replace(zip(*lists, columns["weight"].tolist(), strict=True))

    def restored(self) -> None:
        expect_indices(len(self.count), turn=self.next_renewed)
        self.count = [0] * len(self.count)
        for run in self:
            self.count[run[0]] += 1
