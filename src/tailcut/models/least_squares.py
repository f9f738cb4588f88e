"""Ordinary least squares per algorithm, refitted after every outcome without keeping the history.

All that a fit with intercept needs of the rows (1, x, y) is the triangular factor R of their QR
decomposition. A new row changes R by O(d^2) work, and R holds the factor of the centred
features, so the weights are the least-squares solution of a d x d system, whatever the horizon. Where it
is not unique (fewer outcomes than features, constant or repeated features) they are those of least norm,
as scikit-learn's LinearRegression and numpy's lstsq give them.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from tailcut.models.model import Model
from tailcut.numerics.factor_kernels import add_row
from tailcut.representation.part import Views
from tailcut.state.stateful import expect_finite
from tailcut.types import Array

_RANK = 1e-12
"""Directions smaller than this against the largest count as rounding of a dependence, not as data."""


class LeastSquares(Model):
    """One least-squares regression with intercept per algorithm; 0 before the first outcome.

    >>> model = LeastSquares(n_algorithms=1, n_features=1)
    >>> for x, y in [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]:
    ...     model.update(0, np.array([x]), target=y, weight=1.0)
    >>> round(model.look(0, np.array([10.0]))[0], 9)
    21.0
    """

    STATE = ("factors",)

    def __init__(self, *, n_algorithms: int, n_features: int) -> None:
        self.n_features = n_features
        self.factors = np.zeros((n_algorithms, n_features + 2, n_features + 2))
        """R of the rows (1, x, y), upper triangular, shape (K, d + 2, d + 2)."""
        self._stale: set[int] = set()
        self.restored()

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return the predictions of all algorithms, shape (K,), and no variance."""
        self._refit()
        return self._weights.dot(x) + self._intercepts, np.zeros(len(self._intercepts))

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return the prediction of one algorithm, and no variance."""
        self._refit()
        return float(self._weights[algorithm].dot(x) + self._intercepts[algorithm]), 0.0

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Take in one more row, weighing `weight` rows; the fit follows when it is asked for."""
        row = np.empty(len(x) + 2)
        row[0], row[1:-1], row[-1] = 1.0, x, target
        row *= math.sqrt(weight)
        add_row(self.factors[algorithm], row)
        self._stale.add(algorithm)

    def _refit(self) -> None:
        """Fit the algorithms that have new rows."""
        while self._stale:
            algorithm = self._stale.pop()
            self._weights[algorithm], self._intercepts[algorithm] = _solve(self.factors[algorithm])

    def add(self) -> None:
        """Append an algorithm without outcomes."""
        size = self.n_features + 2
        self.factors = np.concatenate([self.factors, np.zeros((1, size, size))])
        self.restored()

    def remove(self, algorithm: int) -> None:
        """Drop one algorithm."""
        self.factors = np.delete(self.factors, algorithm, axis=0)
        self.restored()

    def widen(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        """Take the new features of past rows as 0: their columns of the factor are 0."""
        old, extra = self.n_features, n_features - self.n_features
        self.n_features = n_features
        kept = [0, *range(extra + 1, extra + old + 2)]  # the intercept, the known features, the target
        wider = np.zeros((len(self.factors), n_features + 2, n_features + 2))
        wider[np.ix_(range(len(wider)), kept, kept)] = self.factors
        self.factors = wider
        self.restored()

    def restored(self) -> None:
        """Fit again when asked: all that a fit needs is in the factors."""
        expect_finite(factors=self.factors)
        self._weights = np.zeros((len(self.factors), self.n_features))
        self._intercepts = np.zeros(len(self.factors))
        self._stale = set(range(len(self.factors)))


def _solve(factor: Array) -> tuple[Array, float]:
    """Return weights (d,) and intercept from the factor of the rows (1, x, y).

    Without its first row and column, R is the factor of the centred rows. LAPACK is called as scipy's lstsq
    calls it, without asking each time what it needs.
    """
    from scipy.linalg.lapack import dgelsy

    d = len(factor) - 2
    weights = np.zeros(d)
    if factor[0, 0] == 0.0:
        return weights, 0.0
    if d:
        free = np.zeros((d, 1), dtype=np.int32)  # every column may be moved
        found = dgelsy(factor[1:-1, 1:-1], factor[1:-1, -1:], free, _RANK, _room(d), False, False)
        weights = found[1][:, 0]
    return weights, float((factor[0, -1] - factor[0, 1:-1] @ weights) / factor[0, 0])


@cache
def _room(d: int) -> int:
    """Return how much room LAPACK wants for a system of d columns."""
    from scipy.linalg.lapack import dgelsy_lwork

    return int(dgelsy_lwork(d, d, 1, _RANK)[0])
