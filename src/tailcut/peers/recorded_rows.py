"""Offline selectors: forests of scikit-learn on instances of which every algorithm's run is known.

They learn by `fit` alone and know nothing before; what is observed while they select teaches them nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from tailcut.models import Model
from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import Count, TreeCount
from tailcut.peers.libraries import library
from tailcut.representation import Views
from tailcut.state import expect, expect_finite
from tailcut.types import Array


class RecordedRows(Model):
    """Keeps the rows that are known in full, and fits forests on them when a prediction is asked for."""

    STATE: ClassVar[tuple[str, ...]] = ("x", "target")
    GROWING: ClassVar[tuple[str, ...]] = ("x", "target")
    bounded: ClassVar[bool] = False
    needs_features: ClassVar[bool] = True
    in_bulk: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        seed: int = 0,
        trees: TreeCount = 100,
        min_samples_leaf: Count = 1,
    ) -> None:
        self.seed, self.trees, self.min_samples_leaf = seed, trees, min_samples_leaf
        self.x = np.zeros((0, n_features))
        """Represented instances, shape (n, d)."""
        self.target = np.zeros((0, n_algorithms))
        """What each algorithm lost on them, shape (n, K)."""
        self.forests: list[Any] | None = None
        self._latest: tuple[bytes, Array] | None = None
        """The latest instance looked at, and what was predicted."""

    def restored(self) -> None:
        """Check the rows; the forests are fitted again when asked."""
        expect(len(self.x) == len(self.target), "target: expected as many rows as x")
        expect_finite(x=self.x, target=self.target)
        self._forget()

    def _forget(self) -> None:
        self.forests, self._latest = None, None

    @abstractmethod
    def fitted(self) -> list[Any]:
        """Return forests fitted on all rows."""

    @abstractmethod
    def scores(self, x: Array) -> Array:
        """Return what the forests make of an instance, the lower the better, shape (K,)."""

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return the scores, and no variance; without rows, zeros."""
        nothing = np.zeros(self.target.shape[1])
        if not len(self.x):
            return nothing, nothing
        key = x.tobytes()
        if self.forests is None:
            self.forests = self.fitted()
        if self._latest is None or self._latest[0] != key:
            self._latest = (key, self.scores(x))
        return self._latest[1].copy(), nothing

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return the score of one algorithm."""
        return float(self.predict(x)[0][algorithm]), 0.0

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn nothing: one run does not say which algorithm was best."""

    def update_many(self, x: Array, target: Array) -> None:
        """Keep the instances that every algorithm ran on."""
        full = ~np.isnan(target).any(axis=1)
        self.x, self.target = np.vstack([self.x, x[full]]), np.vstack([self.target, target[full]])
        self._forget()

    def add(self) -> None:
        """Forget all rows: none has a run of the new algorithm."""
        self.x, self.target = self.x[:0], np.zeros((0, self.target.shape[1] + 1))
        self._forget()

    def remove(self, algorithm: int) -> None:
        """Drop an algorithm's column."""
        self.target = np.delete(self.target, algorithm, axis=1)
        self._forget()

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        """Take the new features of past rows as 0."""
        self.x = np.hstack([np.zeros((len(self.x), n_features - self.x.shape[1])), self.x])
        self._forget()

    def _new_forest(self, kind: str, name: str) -> Any:
        """Return a forest whose randomness follows from seed and name, so that a reload fits the same."""
        return getattr(library("sklearn.ensemble"), kind)(
            n_estimators=self.trees,
            min_samples_leaf=self.min_samples_leaf,
            random_state=int(stream(self.seed, name).integers(2**31)),
        )


def mean_vote(forest: Any, x: Array) -> Array:
    """Return the mean of the trees' predictions at one instance; for classifiers, a share per class.

    The forest's own `predict` does the same after checks that take longer than the trees.
    """
    row = x[None].astype(np.float32)
    votes: Array = np.mean([tree.tree_.predict(row) for tree in forest.estimators_], axis=0).reshape(-1)
    return votes / votes.sum() if len(votes) > 1 else votes


class PairwiseForests(RecordedRows):
    """Cost-sensitive forests on each pair of algorithms, which vote (Xu et al., SATzilla2012).

    The forest of a pair says which of the two loses less; an instance weighs as much as the losses differ.
    """

    def fitted(self) -> list[Any]:
        """Return a classifier per pair; a constant where one of the two is never worse."""
        return [
            self._fit_pair(first, second) for first, second in combinations(range(self.target.shape[1]), 2)
        ]

    def _fit_pair(self, first: int, second: int) -> Any:
        gap = self.target[:, second] - self.target[:, first]
        differs = gap != 0.0
        wins = gap[differs] > 0.0
        if wins.all() or not wins.any():
            return float(wins.mean()) if len(wins) else 0.5
        forest = self._new_forest("RandomForestClassifier", f"pair {first} {second}")
        return forest.fit(self.x[differs], wins, sample_weight=np.abs(gap[differs]))

    def scores(self, x: Array) -> Array:
        """Return minus the votes; ties go to the lower mean loss."""
        votes = np.zeros(self.target.shape[1])
        assert self.forests is not None
        for (first, second), forest in zip(combinations(range(len(votes)), 2), self.forests, strict=True):
            share = forest if isinstance(forest, float) else float(mean_vote(forest, x)[1])
            votes[first if share > 0.5 else second] += 1.0
        found: Array = -votes + 1e-6 * self.target.mean(axis=0)
        return found


class BestLabelForest(RecordedRows):
    """One forest that names the best algorithm of an instance: plain multi-class classification."""

    def fitted(self) -> list[Any]:
        """Return one classifier, fitted on which algorithm lost least."""
        forest = self._new_forest("RandomForestClassifier", "best label")
        return [forest.fit(self.x, self.target.argmin(axis=1))]

    def scores(self, x: Array) -> Array:
        """Return minus the share of trees that vote for each algorithm; ties go to the lower mean loss."""
        assert self.forests is not None
        (forest,) = self.forests
        found: Array = 1e-6 * self.target.mean(axis=0)
        votes = mean_vote(forest, x) if len(forest.classes_) > 1 else np.ones(1)
        found[forest.classes_] -= votes
        return found
