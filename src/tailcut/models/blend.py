"""The model of the default selector: trees, and what holds for an algorithm on the whole, then a ridge.

Three views of the same bounded loss, each of which is right where the others are not:

    arms    what an algorithm costs on the whole; the best there is after a handful of runs
    trees   what it costs on instances like this one; they find thresholds and interactions, and learn from
            runs of all algorithms how hard such instances are
    ridge   what is left of the loss when a blend of the two is taken off, as a linear function of the
            features: it finds trends that trees see as stairs

Every run is predicted before it is learned from, and the ridge learns the errors of those predictions: so it
corrects what the trees get wrong on new instances, not on those that they were grown on.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from tailcut import randomness
from tailcut.models.arms import Arms
from tailcut.models.growing import Growth, Shrinkage, grow
from tailcut.models.odds import moved
from tailcut.models.reservoir import Reservoir
from tailcut.models.ridge import RidgeBank
from tailcut.models.trees import Indices, Trees
from tailcut.representation import Views
from tailcut.types import Array

CANDIDATES = 0.2
"""Splits that a node considers, as a share of the features."""
REGROW = 1.15
"""Trees are grown anew when there are so many times the runs: amortised, a constant cost per run."""


class Blend:
    """Predicts the bounded loss of K algorithms; the variance is that of their losses on the whole.

    >>> model = Blend(n_algorithms=2, n_features=1, views=Views(slice(None), slice(None)), seed=0)
    >>> for size in (1.0, 2.0, 3.0, 4.0) * 5:
    ...     model.update(0, np.array([size]), target=1.0 if size > 2.5 else 0.0, weight=1.0)
    >>> easy, hard = (model.predict(np.array([size]))[0] for size in (1.5, 3.5))
    >>> bool(easy[0] < 0.4 < 0.6 < hard[0]), bool(easy[1] < hard[1])  # hard for one, hard for the other
    (True, True)
    """

    bounded: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        views: Views,
        seed: int,
        trees: int = 20,
        tree_share: float = 0.6,
        hardness_weight: float = 2.0,
        min_leaf: int = 2,
        ridge: float = 100.0,
        prior_weight: float = 1.0,
        reservoir: int = 2000,
    ) -> None:
        self.views = views
        self.tree_share = tree_share
        entries = range(n_features)
        width = len(entries[views.trees])
        self.growth = Growth(
            trees=trees,
            candidates=math.ceil(CANDIDATES * width),
            min_leaf=min_leaf,
            shrinkage=Shrinkage(hardness=hardness_weight),
        )
        self.arms = Arms(n_algorithms, prior_weight=prior_weight)
        self.ridge = RidgeBank(n_algorithms=n_algorithms, n_features=len(entries[views.linear]), ridge=ridge)
        self.reservoir = Reservoir(size=reservoir, n_features=width, seed=seed)
        self.trees = Trees.roots(trees, self.arms.mean)
        self.grown_at = 0
        """How many runs had been seen when the trees were grown."""
        self.stream = randomness.stream(seed, "trees")
        self._latest: tuple[Array, Indices] | None = None
        """The latest instance and the leaves it reached: it is often learned right after it was predicted."""

    def _reached(self, x: Array) -> Indices:
        if self._latest is None or self._latest[0] is not x:
            self._latest = x, self.trees.reached(x[self.views.trees])
        return self._latest[1]

    def _base(self, rows: Indices) -> Array:
        """Return the blend of trees and arms, before the ridge, shape (K,)."""
        by_trees = self.trees.loss[rows].mean(axis=0)
        return np.asarray(self.tree_share * by_trees + (1.0 - self.tree_share) * self.arms.mean)

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return the expected losses at `x` and the variances of those on the whole, each of shape (K,)."""
        correction = self.ridge.theta @ x[self.views.linear]
        return self._base(self._reached(x)) + correction, self.arms.variance

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return both for one algorithm."""
        mean, variance = self.predict(x)
        return float(mean[algorithm]), float(variance[algorithm])

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:  # noqa: ARG002
        """Learn a run; it counts as one, since for a bounded loss every lesson has the weight 1."""
        rows = self._reached(x)
        error = target - float(self._base(rows)[algorithm])
        self.ridge.update(algorithm, x[self.views.linear], error, 1.0)
        # What the trees say of the instance is taken off, else who runs on hard ones would look bad.
        hardness = float(self.trees.hardness[rows].mean())
        level = self.arms.mean[algorithm : algorithm + 1]
        harder = float((moved(level, hardness) - moved(level, 0.0))[0])
        self.arms.update(algorithm, target - harder)
        self.reservoir.put(x[self.views.trees], algorithm, target)
        if self.reservoir.seen >= REGROW * self.grown_at:
            self._grow()

    def _grow(self) -> None:
        runs = self.reservoir.runs()
        self.grown_at = self.reservoir.seen
        self._latest = None
        if len(runs.loss):
            self.trees = grow(runs, self.arms.mean, self.growth, self.stream)
        else:
            self.trees = Trees.roots(self.growth.trees, self.arms.mean)

    def add(self) -> None:
        """Append an algorithm that is as good as the others, as far as is known."""
        self.arms.add()
        self.ridge.add()
        self.trees.add(float(self.arms.mean[-1]))

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm and all its runs."""
        self.arms.remove(algorithm)
        self.ridge.remove(algorithm)
        self.reservoir.forget(algorithm)
        self._grow()

    def state(self) -> dict[str, Any]:
        """Return the states of all parts."""
        return {
            "arms": self.arms.state(),
            "ridge": self.ridge.state(),
            "reservoir": self.reservoir.state(),
            "trees": self.trees.state(),
            "grown_at": self.grown_at,
            "stream": randomness.dump(self.stream),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the states of all parts."""
        self.arms.restore(state["arms"])
        self.ridge.restore(state["ridge"])
        self.reservoir.restore(state["reservoir"])
        self.trees = Trees(**state["trees"])
        self.grown_at = state["grown_at"]
        self.stream = randomness.restore(state["stream"])
        self._latest = None
