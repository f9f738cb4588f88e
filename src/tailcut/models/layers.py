"""The model of the default selector: three layers, each of which predicts what the one before gets wrong.

    arms    what an algorithm costs on the whole; all there is to know after a handful of runs
    trees   start from that, and say what it costs on instances like this one; they find thresholds and
            interactions
    ridge   what the trees get wrong, as a linear function of the features: trends that trees see as stairs

Every run is predicted before it is learned from, and the ridge learns the errors of those predictions: so it
corrects what the trees get wrong on new instances, not on those that they were grown on.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tailcut.models.arms import Arms
from tailcut.models.growing import Growth, at_once, grow
from tailcut.models.model import Model
from tailcut.models.reservoir import Reservoir, RunTable
from tailcut.models.ridge import RidgeBank
from tailcut.models.trees import Trees
from tailcut.numerics import randomness
from tailcut.numerics.ranges import Count, Positive, TreeCount, Window
from tailcut.representation import Views
from tailcut.state.stateful import expect, expect_indices
from tailcut.types import Array

CANDIDATES, LEAST_CANDIDATES = 0.2, 3
"""Splits that a node considers, as a share of the features, and at least so many."""
REGROW = 0.15
"""Trees are grown again when there are more runs by this share: amortised, a constant cost per run."""
RESAMPLE = 1.0
"""The same when the reservoir is full, and no longer grows but changes: half of it is new then."""
RECENT = 1024
"""Instances whose predictions are remembered at most."""


class Layers(Model):
    """Predicts the bounded loss of K algorithms; the variance is that of their losses on the whole.

    >>> model = Layers(n_algorithms=2, n_features=1, views=Views(slice(None), slice(None)), seed=0)
    >>> for size in (1.0, 2.0, 3.0, 4.0) * 5:
    ...     model.update(0, np.array([size]), target=1.0 if size > 2.5 else 0.0, weight=1.0)
    >>> easy, hard = (model.predict(np.array([size]))[0] for size in (1.5, 3.5))
    >>> bool(easy[0] < 0.4 < 0.6 < hard[0]), bool(easy[1] == hard[1])  # of the other nothing is known
    (True, True)
    """

    STATE = ("arms", "ridge", "reservoir", "trees", "grown_at", "grown", "stream")

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        views: Views,
        seed: int,
        trees: TreeCount = 20,
        min_leaf: Count = 2,
        ridge: Positive = 100.0,
        prior_weight: Positive = 1.0,
        reservoir: Count = 2000,
        window: Window = 0,
    ) -> None:
        self.views = views
        self.window = window
        """How many of the latest runs count, 0 for all; trees are then grown on these, not on a sample."""
        entries = range(n_features)
        width = len(entries[views.trees])
        self.growth = Growth(
            trees=trees,
            candidates=_candidates(n_features, views),
            min_leaf=min_leaf,
        )
        self.arms = Arms(n_algorithms, prior_weight=prior_weight)
        self.ridge = RidgeBank(
            n_algorithms=n_algorithms, n_features=len(entries[views.linear]), ridge=ridge, window=window
        )
        self.reservoir = Reservoir(size=window or reservoir, n_features=width, seed=seed, latest=bool(window))
        self.trees = Trees.leaves(trees, self.arms.mean)
        """In the order of their age, the oldest first."""
        self.grown_at = 0
        """How many runs had been seen when trees were last grown."""
        self.grown = trees
        """How many trees were grown then."""
        self.stream = randomness.stream(seed, "trees")
        self._recent: dict[bytes, Array] = {}
        """What the trees said of the latest instances, by their content: most are soon learned, too."""

    def _by_trees(self, x: Array) -> Array:
        """Return what the trees say, before the ridge, shape (K,)."""
        key = x.tobytes()
        known = self._recent.get(key)
        if known is None:
            if len(self._recent) == RECENT:
                del self._recent[next(iter(self._recent))]
            rows = self.trees.reached(x[self.views.trees])
            known = self._recent[key] = np.add.reduce(self.trees.loss.take(rows, axis=0)) / len(rows)
        return known

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return the expected losses at `x` and the variances of those on the whole, each of shape (K,).

        Without features (`NO_FEATURES`) both are those on the whole.
        """
        if not len(x):
            return self.arms.mean, self.arms.variance
        return self._by_trees(x) + self.ridge.theta @ x[self.views.linear], self.arms.variance

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return both for one algorithm."""
        mean, variance = self.predict(x)
        return float(mean[algorithm]), float(variance[algorithm])

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn a run; in the trees it counts as one, whatever its weight, or as none.

        Without features it teaches what its algorithm costs on the whole, and nothing else.
        """
        if weight <= 0.0:
            self._keep_place(algorithm, 0.0, 0.0)
            return
        if not len(x):
            self.arms.update(algorithm, target, weight)
            self._keep_place(algorithm, target, weight)
            return
        error = target - float(self._by_trees(x)[algorithm])
        self._recent.pop(x.tobytes(), None)
        self.ridge.update(algorithm, x[self.views.linear], error, weight)
        self.arms.update(algorithm, target, weight)
        self.reservoir.put(x[self.views.trees], algorithm, target, weight)
        self._recount()
        if self.reservoir.seen >= self._due():
            self._grow()

    def _keep_place(self, algorithm: int, target: float, weight: float) -> None:
        """Let a run that trees cannot be grown on be one of the latest all the same."""
        if self.window:
            nowhere = np.full(self.reservoir.places.x.shape[1], np.nan)
            self.reservoir.put(nowhere, algorithm, target, weight)
            self._recount()

    def _recount(self) -> None:
        """Let the arms count the latest runs alone, if only those are to count."""
        if self.window:
            runs = self.reservoir.runs()
            self.arms.recount(runs.algorithm, runs.loss, runs.weight)

    def _due(self) -> float:
        """Return how many runs must have been seen for the next trees to be grown again."""
        size = self.reservoir.size
        if self.window:
            share = REGROW * min(self.grown_at, size)
        else:
            share = self.grown_at * (REGROW if self.grown_at < size else RESAMPLE)
        return self.grown_at + share * self.grown / self.growth.trees

    def _grow(self, *, all_of_them: bool = False) -> None:
        """Grow the oldest trees again: all while that is quick, later few at a time and more often."""
        runs = self._with_features()
        n_runs, n_trees = len(runs.loss), self.growth.trees
        self.grown_at = self.reservoir.seen
        self.grown = n_trees if all_of_them else at_once(n_runs, self.growth)
        self._recent.clear()
        if n_runs:
            new = grow(runs, self.arms.mean, self.growth, self.stream, self.grown)
        else:
            new = Trees.leaves(self.grown, self.arms.mean)
        self.trees = self.trees.renewed(new)

    def _with_features(self) -> RunTable:
        """Return the runs that trees can be grown on; a represented instance has no missing values."""
        runs = self.reservoir.runs()
        if not self.window or not runs.x.shape[1]:
            return runs.only(runs.weight > 0.0)
        return runs.only(~np.isnan(runs.x[:, 0]))

    def widen(self, n_features: int, views: Views) -> None:
        """Take instances with features from now on; so far only the arms have learned."""
        self.views = views
        entries = range(n_features)
        self.ridge.widen(len(entries[views.linear]))
        self.reservoir.widen(len(entries[views.trees]))
        self.growth = replace(self.growth, candidates=_candidates(n_features, views))
        self._grow(all_of_them=True)

    def add(self) -> None:
        """Append an algorithm that is as good as the others, as far as is known."""
        self.arms.add()
        self.ridge.add()
        self._grow(all_of_them=True)

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm and all its runs."""
        self.arms.remove(algorithm)
        self.ridge.remove(algorithm)
        self.reservoir.forget(algorithm)
        self._grow(all_of_them=True)

    def restored(self) -> None:
        """Forget predictions of other trees."""
        expect(self.trees.loss.shape[1] == len(self.arms.runs), "trees: other algorithms than the arms")
        expect_indices(max(self.reservoir.places.x.shape[1], 1), feature=self.trees.feature)
        expect_indices(len(self.arms.runs), algorithm=self.reservoir.runs().algorithm)
        expect(
            len(self.trees.roots) == self.growth.trees >= self.grown, "trees: not as many as there should be"
        )
        self._recent.clear()


def _candidates(n_features: int, views: Views) -> int:
    """Return how many splits a node considers."""
    return max(math.ceil(CANDIDATES * len(range(n_features)[views.trees])), LEAST_CANDIDATES)
