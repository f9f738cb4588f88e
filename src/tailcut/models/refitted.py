"""A regression per algorithm, refitted on all its outcomes at every step: the baselines of Degroote et al.

All that a linear fit with intercept needs of the rows (1, x, y) is the triangular factor R of their QR
decomposition. A new row changes R by O(d^2) work, and R holds the factor of the centred
features, so the weights are the least-squares solution of a d x d system, whatever the horizon. Where it
is not unique (fewer outcomes than features, constant or repeated features) they are those of least norm,
as scikit-learn's LinearRegression and numpy's lstsq give them.

Forests keep every outcome, so memory and time grow with the stream; `bounded` says so. scikit-learn comes
with the extra ``batch``.

Source: Degroote, Causmaecker, Bischl, Kotthoff, "A regression-based methodology for online algorithm
selection", SoCS 2018.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import MissingExtraError
from tailcut.models.model import Model
from tailcut.numerics.factor_kernels import add_row
from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import TreeCount
from tailcut.representation import Views
from tailcut.state import expect, expect_finite
from tailcut.types import Array

_RANK = 1e-12
"""Directions smaller than this against the largest count as rounding of a dependence, not as data."""


class LeastSquares(Model):
    """One least-squares regression with intercept per algorithm; 0 before the first outcome.

    >>> model = LeastSquares(n_algorithms=1, n_features=1)
    >>> for x, y in [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]:
    ...     model.update(0, np.array([x]), target=y, weight=1.0)
    >>> round(model.predict_one(0, np.array([10.0]))[0], 9)
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
        self._refit()
        return self._weights.dot(x) + self._intercepts, np.zeros(len(self._intercepts))

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
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
        while self._stale:
            algorithm = self._stale.pop()
            self._weights[algorithm], self._intercepts[algorithm] = _solve(self.factors[algorithm])

    def add(self) -> None:
        size = self.n_features + 2
        self.factors = np.concatenate([self.factors, np.zeros((1, size, size))])
        self.restored()

    def remove(self, algorithm: int) -> None:
        self.factors = np.delete(self.factors, algorithm, axis=0)
        self.restored()

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
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
    """Return weights (d,) and intercept from the factor of the rows (1, x, y), as scipy's lstsq finds them.

    Without its first row and column, R is the factor of the centred rows.
    """
    from scipy.linalg.lapack import dgelsy

    d = len(factor) - 2
    weights = np.zeros(d)
    if factor[0, 0] == 0.0:
        return weights, 0.0
    if d:
        free = np.zeros((d, 1), dtype=np.int32)  # every column may be moved
        solution = dgelsy(factor[1:-1, 1:-1], factor[1:-1, -1:], free, _RANK, _room(d), False, False)
        weights = solution[1][:, 0]
    return weights, float((factor[0, -1] - factor[0, 1:-1] @ weights) / factor[0, 0])


@cache
def _room(d: int) -> int:
    from scipy.linalg.lapack import dgelsy_lwork

    return int(dgelsy_lwork(d, d, 1, _RANK)[0])


class Forests(Model):
    """The history of each algorithm and a forest grown on it; 0 before the first outcome.

    A forest is grown when a prediction needs it, so learning several outcomes in a row costs one.
    """

    STATE: ClassVar[tuple[str, ...]] = ("histories",)
    GROWING: ClassVar[tuple[str, ...]] = ("histories",)
    bounded: ClassVar[bool] = False
    needs_features: ClassVar[bool] = True

    def __init__(self, *, n_algorithms: int, n_features: int, trees: TreeCount = 100, seed: int = 0) -> None:
        self.n_features = n_features
        self.trees = trees
        self.seed = seed
        self.inputs: list[list[Array]] = [[] for _ in range(n_algorithms)]
        self.targets: list[list[float]] = [[] for _ in range(n_algorithms)]
        self.grown: list[Any] = [None] * n_algorithms

    def predict(self, x: Array) -> tuple[Array, Array]:
        pairs = np.array([self.predict_one(a, x) for a in range(len(self.targets))])
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        targets = self.targets[algorithm]
        if not targets:
            return 0.0, 0.0
        if self.grown[algorithm] is None:
            self.grown[algorithm] = self._grow(np.array(self.inputs[algorithm]), np.array(targets))
        forest = self.grown[algorithm]
        votes = np.array([tree.predict(x[None])[0] for tree in forest.estimators_])
        drawn = np.zeros((len(votes), len(targets)), dtype=bool)
        for tree, rows in enumerate(forest.estimators_samples_):
            drawn[tree, rows] = True
        return float(votes.mean()), jackknife_after_bootstrap(votes, drawn)

    def _grow(self, inputs: Array, targets: Array) -> Any:
        """Return a forest whose randomness follows from seed and size, so that a reload grows it again."""
        try:
            from sklearn.ensemble import RandomForestRegressor
        except ImportError as error:
            raise MissingExtraError(
                "this selector needs scikit-learn: pip install 'tailcut[batch]'"
            ) from error
        state = int(stream(self.seed, f"forest of {len(targets)}").integers(2**31))
        return RandomForestRegressor(n_estimators=self.trees, random_state=state).fit(inputs, targets)

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        if weight > 0.0:
            self.inputs[algorithm].append(x)
            self.targets[algorithm].append(target)
            self.grown[algorithm] = None

    def add(self) -> None:
        self.inputs.append([])
        self.targets.append([])
        self.grown.append(None)

    def remove(self, algorithm: int) -> None:
        del self.inputs[algorithm], self.targets[algorithm], self.grown[algorithm]

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        """Take the new features of past runs as 0; the forests are grown again when asked."""
        nothing = np.zeros(n_features - self.n_features)
        self.n_features = n_features
        self.inputs = [[np.concatenate([nothing, x]) for x in history] for history in self.inputs]
        self.grown = [None] * len(self.grown)

    @property
    def histories(self) -> dict[str, Any]:
        """All outcomes, algorithm by algorithm, as three arrays; the forests follow from them."""
        inputs = [x for history in self.inputs for x in history]
        targets = [target for history in self.targets for target in history]
        return {
            "counts": [len(history) for history in self.targets],
            "inputs": np.array(inputs, dtype=np.float64).reshape(-1, self.n_features),
            "targets": np.array(targets, dtype=np.float64),
        }

    @histories.setter
    def histories(self, saved: dict[str, Any]) -> None:
        counts, inputs, targets = saved["counts"], saved["inputs"], saved["targets"]
        expect(len(counts) == len(self.targets), "counts: expected one per algorithm")
        expect(
            sum(counts) == len(inputs) == len(targets) and min(counts) >= 0, "counts: other than the outcomes"
        )
        expect(inputs.shape[1:] == (self.n_features,), f"inputs: expected {self.n_features} features")
        expect_finite(inputs=inputs, targets=targets)
        spans = [slice(start, end) for start, end in pairwise(np.cumsum([0, *saved["counts"]]))]
        self.inputs = [list(saved["inputs"][span]) for span in spans]
        self.targets = [saved["targets"][span].tolist() for span in spans]
        self.grown = [None] * len(spans)


def jackknife_after_bootstrap(votes: Array, drawn: NDArray[np.bool_]) -> float:
    """Return the variance of the mean of bagged `votes` (B,), corrected for few votes.

    `drawn` (B, n) says which of the n outcomes each vote's bootstrap sample holds. The jackknife
    leaves out outcome i by averaging only the votes whose sample lacks it: V = (n-1)/n sum_i (mean
    without i - mean)^2, less (e - 1) n / B times the variance of the votes, the noise that finite B
    adds (Wager, Hastie, Efron, "Confidence intervals for random forests", JMLR 2014).

    >>> jackknife_after_bootstrap(np.array([1.0, 1.0]), np.array([[True, False], [False, True]]))
    0.0
    """
    n_votes, n = drawn.shape
    without = ~drawn
    count = without.sum(axis=0)
    usable = count > 0  # an outcome that is in every sample cannot be left out
    deviations = (votes @ without)[usable] / count[usable] - votes.mean()
    variance = float((n - 1) / n * (deviations @ deviations))
    noise = float((math.e - 1.0) * n / n_votes * votes.var())
    return max(variance - noise, 0.0)
