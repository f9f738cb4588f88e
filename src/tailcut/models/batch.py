"""Batch regressors per algorithm, refitted on all of its outcomes: the baselines of Degroote et al.

They keep every outcome and refit whenever one was added, so memory and time grow with the stream.
That is what makes them baselines; `bounded` says so. scikit-learn comes with the extra ``batch``.

Source: Degroote, Causmaecker, Bischl, Kotthoff, "A regression-based methodology for online algorithm
selection", SoCS 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from tailcut.errors import MissingExtraError
from tailcut.randomness import stream
from tailcut.types import Array


class Regressor(Protocol):
    """What is used of a fitted scikit-learn regressor."""

    def predict(self, features: Array) -> Array:
        """Return one prediction per row."""
        ...


class BatchRegressors:
    """The history of each algorithm and a regressor fitted on it. Subclasses say which regressor.

    An algorithm without outcomes is predicted 0 with variance 0. Fits happen when a prediction needs
    them, so learning several outcomes in a row costs one fit.
    """

    bounded: ClassVar[bool] = False

    def __init__(self, *, n_algorithms: int, n_features: int) -> None:
        self.n_features = n_features
        self.inputs: list[list[Array]] = [[] for _ in range(n_algorithms)]
        self.targets: list[list[float]] = [[] for _ in range(n_algorithms)]
        self.fitted: list[Regressor | None] = [None] * n_algorithms

    def fit(self, inputs: Array, targets: Array) -> Regressor:  # noqa: ARG002
        """Return a regressor fitted on `inputs` (n, d) and `targets` (n,)."""
        raise TypeError(f"{type(self).__name__} must define fit")

    def spread(self, regressor: Regressor, x: Array, n: int) -> float:  # noqa: ARG002
        """Return the variance of the regressor's prediction at `x`, fitted on `n` outcomes."""
        return 0.0

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return predictions and variances of all algorithms, shapes (K,)."""
        pairs = np.array([self.look(a, x) for a in range(len(self.targets))])
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return prediction and variance of one algorithm, fitting it first if it has new outcomes."""
        targets = self.targets[algorithm]
        if not targets:
            return 0.0, 0.0
        regressor = self.fitted[algorithm]
        if regressor is None:
            regressor = self.fit(np.array(self.inputs[algorithm]), np.array(targets))
            self.fitted[algorithm] = regressor
        return float(regressor.predict(x[None])[0]), self.spread(regressor, x, len(targets))

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Remember an outcome; `weight` 0 is none."""
        if weight > 0.0:
            self.inputs[algorithm].append(x)
            self.targets[algorithm].append(target)
            self.fitted[algorithm] = None

    def add(self) -> None:
        """Append an algorithm without outcomes."""
        self.inputs.append([])
        self.targets.append([])
        self.fitted.append(None)

    def remove(self, algorithm: int) -> None:
        """Drop one algorithm with its history."""
        del self.inputs[algorithm], self.targets[algorithm], self.fitted[algorithm]

    def state(self) -> dict[str, Any]:
        """Return the histories; the fits follow from them."""
        return {
            "counts": [len(targets) for targets in self.targets],
            "inputs": np.array(_joined(self.inputs)).reshape(-1, self.n_features),
            "targets": np.array(_joined(self.targets), dtype=np.float64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the histories and fit anew when asked."""
        edges = np.cumsum([0, *state["counts"]])
        spans = [slice(start, end) for start, end in pairwise(edges)]
        self.inputs = [list(state["inputs"][span]) for span in spans]
        self.targets = [state["targets"][span].tolist() for span in spans]
        self.fitted = [None] * len(spans)


def _joined(lists: Sequence[Sequence[Any]]) -> list[Any]:
    return [item for items in lists for item in items]


class LinearRegressions(BatchRegressors):
    """Ordinary least squares with an intercept, one per algorithm."""

    def fit(self, inputs: Array, targets: Array) -> Regressor:
        """Return the least-squares fit (of least norm where it is not unique)."""
        linear_model = _sklearn("linear_model")
        fitted: Regressor = linear_model.LinearRegression().fit(inputs, targets)
        return fitted


class Forests(BatchRegressors):
    """A random forest per algorithm; its variance by the jackknife after the bootstrap."""

    def __init__(self, *, n_algorithms: int, n_features: int, trees: int = 100, seed: int = 0) -> None:
        super().__init__(n_algorithms=n_algorithms, n_features=n_features)
        self.trees = trees
        self.seed = seed

    def fit(self, inputs: Array, targets: Array) -> Regressor:
        """Return a forest whose randomness follows from seed and size, so that a reload grows it again."""
        ensemble = _sklearn("ensemble")
        state = int(stream(self.seed, f"forest of {len(targets)}").integers(2**31))
        forest = ensemble.RandomForestRegressor(n_estimators=self.trees, random_state=state)
        fitted: Regressor = forest.fit(inputs, targets)
        return fitted

    def spread(self, regressor: Any, x: Array, n: int) -> float:
        """Return the jackknife variance of the forest's mean at `x`."""
        votes = np.array([tree.predict(x[None])[0] for tree in regressor.estimators_])
        drawn = np.zeros((len(votes), n), dtype=bool)
        for tree, rows in enumerate(regressor.estimators_samples_):
            drawn[tree, rows] = True
        return jackknife_after_bootstrap(votes, drawn)


def jackknife_after_bootstrap(votes: Array, drawn: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """Return the variance of the mean of bagged `votes` (B,), corrected for few votes.

    `drawn` (B, n) tells which of the n outcomes each vote's bootstrap sample holds. The jackknife
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


def _sklearn(module: str) -> Any:
    """Return a module of scikit-learn, or say how to get it."""
    import importlib

    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise MissingExtraError("this selector needs scikit-learn: pip install 'tailcut[batch]'") from error
