"""A forest of scikit-learn per algorithm, refitted every so many outcomes: an obvious baseline."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tailcut.models.refitted import Forests
from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import Count, TreeCount
from tailcut.peers.libraries import library
from tailcut.types import Array


class RefittedTrees(Forests):
    """Extra trees per algorithm, fitted again after every `refit` outcomes; 0 before the first.

    All outcomes are kept, so that memory and time grow with the stream.
    """

    STATE = ("histories", "fitted_on", "outcomes")
    GROWING = ("histories", "fitted_on")
    in_bulk: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        seed: int = 0,
        trees: TreeCount = 20,
        refit: Count = 10,
        min_samples_leaf: Count = 1,
    ) -> None:
        super().__init__(n_algorithms=n_algorithms, n_features=n_features, trees=trees, seed=seed)
        self.refit, self.min_samples_leaf = refit, min_samples_leaf
        self.outcomes = 0
        """Outcomes so far, of all algorithms."""
        self.fitted_on = [0] * n_algorithms
        """On how many of its outcomes each forest was fitted; from these it is fitted again when loaded."""

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return the predictions of all forests, and no variance."""
        return np.array([self.predict_one(a, x)[0] for a in range(len(self.targets))]), np.zeros(
            len(self.targets)
        )

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return the prediction of one forest; an algorithm without one expects no loss."""
        if not self.fitted_on[algorithm]:
            return 0.0, 0.0
        if self.grown[algorithm] is None:
            self._fit(algorithm)
        row = x[None].astype(
            np.float32
        )  # what the trees work with; the forest's own predict() only adds to it
        votes = [tree.tree_.predict(row).item() for tree in self.grown[algorithm].estimators_]
        return sum(votes) / len(votes), 0.0

    def _fit(self, algorithm: int) -> None:
        """Fit a forest; its random numbers follow from seed and size, so that a reload fits the same."""
        count = self.fitted_on[algorithm]
        state = int(stream(self.seed, f"trees of {count}").integers(2**31))
        inputs, targets = self.inputs[algorithm][:count], self.targets[algorithm][:count]
        self.grown[algorithm] = self._new_forest(state).fit(np.array(inputs), np.array(targets))

    def _new_forest(self, state: int) -> Any:
        return library("sklearn.ensemble").ExtraTreesRegressor(
            n_estimators=self.trees, min_samples_leaf=self.min_samples_leaf, random_state=state
        )

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Remember an outcome, and let the forests be fitted again if it is time."""
        if weight <= 0.0:
            return
        self.inputs[algorithm].append(x)
        self.targets[algorithm].append(target)
        self.outcomes += 1
        if self.outcomes % self.refit == 0 or not self.fitted_on[algorithm]:
            self._refit()

    def update_many(self, x: Array, target: Array) -> None:
        """Remember recorded runs, then fit all forests once."""
        for row, algorithm in np.argwhere(~np.isnan(target)).tolist():
            self.inputs[algorithm].append(x[row])
            self.targets[algorithm].append(float(target[row, algorithm]))
            self.outcomes += 1
        self._refit()

    def _refit(self) -> None:
        """Forget the forests that lack outcomes; they are fitted when a prediction needs them."""
        for algorithm, targets in enumerate(self.targets):
            if self.fitted_on[algorithm] != len(targets):
                self.fitted_on[algorithm] = len(targets)
                self.grown[algorithm] = None

    def add(self) -> None:
        """Append an algorithm without outcomes."""
        super().add()
        self.fitted_on.append(0)

    def remove(self, algorithm: int) -> None:
        """Drop one algorithm with its history."""
        super().remove(algorithm)
        del self.fitted_on[algorithm]
