"""A random forest per algorithm, grown again on all of its outcomes: the baselines of Degroote et al.

They keep every outcome, so memory and time grow with the stream; `bounded` says so. scikit-learn comes
with the extra ``batch``.

Source: Degroote, Causmaecker, Bischl, Kotthoff, "A regression-based methodology for online algorithm
selection", SoCS 2018.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import MissingExtraError
from tailcut.models.model import Model
from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import TreeCount
from tailcut.representation.part import Views
from tailcut.state.stateful import expect, expect_finite
from tailcut.types import Array


class Forests(Model):
    """The history of each algorithm and a forest grown on it; 0 before the first outcome.

    A forest is grown when a prediction needs it, so learning several outcomes in a row costs one.
    """

    STATE: ClassVar[tuple[str, ...]] = ("histories",)
    GROWING: ClassVar[tuple[str, ...]] = ("histories",)
    bounded: ClassVar[bool] = False
    needs_features: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        trees: TreeCount = 100,
        seed: int = 0,
    ) -> None:
        self.n_features = n_features
        self.trees = trees
        self.seed = seed
        self.inputs: list[list[Array]] = [[] for _ in range(n_algorithms)]
        self.targets: list[list[float]] = [[] for _ in range(n_algorithms)]
        self.grown: list[Any] = [None] * n_algorithms

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return predictions and jackknife variances of all algorithms, shapes (K,)."""
        pairs = np.array([self.look(a, x) for a in range(len(self.targets))])
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return prediction and jackknife variance of one algorithm."""
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
        """Remember an outcome; `weight` 0 is none."""
        if weight > 0.0:
            self.inputs[algorithm].append(x)
            self.targets[algorithm].append(target)
            self.grown[algorithm] = None

    def add(self) -> None:
        """Append an algorithm without outcomes."""
        self.inputs.append([])
        self.targets.append([])
        self.grown.append(None)

    def remove(self, algorithm: int) -> None:
        """Drop one algorithm with its history."""
        del self.inputs[algorithm], self.targets[algorithm], self.grown[algorithm]

    def widen(self, n_features: int, views: Views) -> None:  # noqa: ARG002
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
