"""The published baseline after Degroote et al.: linear regression per algorithm, epsilon-greedy.

Each algorithm's regression is fitted again after each of its runs: runtime min(m, C) on its own
instances, missing features at the mean of its own data, then unit norm, then ordinary least squares
with an intercept. Least squares of fewer instances than features has singular values that are zero but
for rounding; the published cut (the machine epsilon, scikit-learn 0.24 through scipy's default) keeps
some of them, so the predictions of the first steps depend on the LAPACK in use. These cells match in
distribution only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from tailcut.replication.protocol import ExperimentData
from tailcut.types import Array

EPSILON = 0.05
"""Share of the steps at which an algorithm is drawn at random."""
UNTRIED = -1e5
"""Prediction for an algorithm without a fit."""


class Fit(NamedTuple):
    """A fitted regression with its preprocessing."""

    means: Array
    """Put in for missing features, shape (d,)."""
    weights: Array
    """Coefficients of the unit vectors, shape (d,)."""
    intercept: float


def unit_rows(features: Array, means: Array) -> Array:
    """Return `features` (n, d) with gaps filled by `means` (d,), each row at unit norm, zero rows zero.

    >>> unit_rows(np.array([[3.0, np.nan], [0.0, 0.0]]), np.array([9.0, 4.0])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    full = np.where(np.isnan(features), means, features)
    norms = np.sqrt(np.einsum("nd,nd->n", full, full))[:, None]
    norms[norms == 0.0] = 1.0
    return np.asarray(full / norms)


def fit(features: Array, runtimes: Array) -> Fit:
    """Return the least-squares fit of `runtimes` (n,) on `features` (n, d)."""
    means = np.nanmean(features, axis=0)
    rows = unit_rows(features, means)
    row_mean, runtime_mean = rows.mean(axis=0), runtimes.mean()
    weights = lstsq(rows - row_mean, runtimes - runtime_mean, check_finite=False)[0]
    return Fit(means, weights, float(runtime_mean - row_mean @ weights))


class DegrooteLinear:
    """Epsilon-greedy over one linear regression per algorithm, refitted after each of its runs."""

    def __init__(self, table: ExperimentData, rng: np.random.RandomState) -> None:
        n, d = table.features.shape
        k = table.performances.shape[1]
        self.cutoff = table.cutoff
        self.rng = rng
        self.features = np.empty((k, n, d))
        self.runtimes = np.empty((k, n))
        self.counts = np.zeros(k, dtype=np.intp)
        self.fits: list[Fit | None] = [None] * k

    def predict(self, features: Array) -> Array:
        """Return the predicted runtime of every algorithm, shape (K,)."""
        return np.array([UNTRIED if f is None else predicted(f, features) for f in self.fits])

    def select(self, features: Array) -> int:
        """Return the algorithm predicted fastest, or with probability epsilon any."""
        best = int(np.argmin(self.predict(features)))
        if self.rng.uniform() < EPSILON:
            return int(self.rng.randint(low=0, high=len(self.fits)))
        return best

    def learn(self, algorithm: int, features: Array, performance: float) -> None:
        """Store the outcome and refit, once there is an instance without missing features."""
        count = self.counts[algorithm]
        self.features[algorithm, count] = features
        self.runtimes[algorithm, count] = min(performance, self.cutoff)
        self.counts[algorithm] = count + 1
        if self.fits[algorithm] is not None or not np.isnan(features).any():
            seen = slice(0, count + 1)
            self.fits[algorithm] = fit(self.features[algorithm, seen], self.runtimes[algorithm, seen])


def predicted(fitted: Fit, features: Array) -> float:
    """Return the runtime that `fitted` predicts for `features` (d,)."""
    return float(unit_rows(features[None], fitted.means)[0] @ fitted.weights) + fitted.intercept
