"""Forests of scikit-learn: refitted every so many outcomes, or fitted on instances with every run known.

The latter are offline selectors, ASF's among them. They learn by `fit` alone; what is observed while they
select teaches them nothing. Randomness follows from the seed, so that a reload fits the same.

For a single instance, ASF's data frames and the forests' checks take some 40 times as long as the trees. So
the trees are asked directly, and their answers put together as ASF and scikit-learn do; tests/peers compare
the choices with those of ASF's own `predict`.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from tailcut.models import Model
from tailcut.models.refitted import Forests
from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import Count, TreeCount
from tailcut.peers import ASF_EXTRA, library
from tailcut.representation import Views
from tailcut.state import expect, expect_finite
from tailcut.types import Array


class RefittedTrees(Forests):
    """Extra trees per algorithm, fitted again on all outcomes after every `refit`; 0 before the first."""

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

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return the prediction of one forest; an algorithm without one expects no loss."""
        if not self.fitted_on[algorithm]:
            return 0.0, 0.0
        if self.grown[algorithm] is None:
            self._fit(algorithm)
        row = x[None].astype(np.float32)  # what the trees work with; the forest's own predict() adds checks
        votes = [tree.tree_.predict(row).item() for tree in self.grown[algorithm].estimators_]
        return sum(votes) / len(votes), 0.0

    def _fit(self, algorithm: int) -> None:
        """Fit a forest; its random numbers follow from seed and size, so that a reload fits the same."""
        count = self.fitted_on[algorithm]
        state = int(stream(self.seed, f"trees of {count}").integers(2**31))
        inputs, targets = self.inputs[algorithm][:count], self.targets[algorithm][:count]
        forest = library("sklearn.ensemble").ExtraTreesRegressor(
            n_estimators=self.trees, min_samples_leaf=self.min_samples_leaf, random_state=state
        )
        self.grown[algorithm] = forest.fit(np.array(inputs), np.array(targets))

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        if weight <= 0.0:
            return
        self._append(algorithm, x, target)
        if self.outcomes % self.refit == 0 or not self.fitted_on[algorithm]:
            self._refit()

    def update_many(self, x: Array, target: Array) -> None:
        for row, algorithm in np.argwhere(~np.isnan(target)).tolist():
            self._append(algorithm, x[row], float(target[row, algorithm]))
        self._refit()

    def _append(self, algorithm: int, x: Array, target: float) -> None:
        self.inputs[algorithm].append(x)
        self.targets[algorithm].append(target)
        self.outcomes += 1

    def _refit(self) -> None:
        """Forget the forests that lack outcomes; they are fitted when a prediction needs them."""
        for algorithm, targets in enumerate(self.targets):
            if self.fitted_on[algorithm] != len(targets):
                self.fitted_on[algorithm] = len(targets)
                self.grown[algorithm] = None

    def add(self) -> None:
        super().add()
        self.fitted_on.append(0)

    def remove(self, algorithm: int) -> None:
        super().remove(algorithm)
        del self.fitted_on[algorithm]


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
        expect(len(self.x) == len(self.target), "target: expected as many rows as x")
        expect_finite(x=self.x, target=self.target)
        self._forget()

    def _forget(self) -> None:
        self.forests, self._latest = None, None

    @abstractmethod
    def fitted(self) -> list[Any]:
        """Return forests fitted on all rows."""

    @abstractmethod
    def scores(self, forests: list[Any], x: Array) -> Array:
        """Return what the forests make of an instance, the lower the better, shape (K,)."""

    def predict(self, x: Array) -> tuple[Array, Array]:
        nothing = np.zeros(self.target.shape[1])
        if not len(self.x):
            return nothing, nothing
        key = x.tobytes()
        if self.forests is None:
            self.forests = self.fitted()
        if self._latest is None or self._latest[0] != key:
            self._latest = (key, self.scores(self.forests, x))
        return self._latest[1].copy(), nothing

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        return float(self.predict(x)[0][algorithm]), 0.0

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn nothing: one run does not say which algorithm was best."""

    def update_many(self, x: Array, target: Array) -> None:
        full = ~np.isnan(target).any(axis=1)
        self.x, self.target = np.vstack([self.x, x[full]]), np.vstack([self.target, target[full]])
        self._forget()

    def add(self) -> None:
        """Forget all rows: none has a run of the new algorithm."""
        self.x, self.target = self.x[:0], np.zeros((0, self.target.shape[1] + 1))
        self._forget()

    def remove(self, algorithm: int) -> None:
        self.target = np.delete(self.target, algorithm, axis=1)
        self._forget()

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        self.x = np.hstack([np.zeros((len(self.x), n_features - self.x.shape[1])), self.x])
        self._forget()

    def _settings(self, name: str) -> dict[str, Any]:
        """Return those of a forest: its randomness follows from the name, so that a reload fits the same."""
        state = int(stream(self.seed, name).integers(2**31))
        return {"n_estimators": self.trees, "min_samples_leaf": self.min_samples_leaf, "random_state": state}


def mean_vote(forest: Any, x: Array) -> Array:
    """Return the mean of the trees' predictions at one instance, summed in the forest's own order."""
    row = x[None].astype(np.float32)
    first, *others = (tree.tree_.predict(row)[0] for tree in forest.estimators_)
    return np.asarray(sum(others, start=first) / len(forest.estimators_))


def shares(forest: Any, x: Array) -> Array:
    """Return which share of the trees' votes each class has."""
    votes = mean_vote(forest, x)
    return np.asarray(votes / votes.sum())


class PairwiseForests(RecordedRows):
    """Cost-sensitive forests on each pair of algorithms, which vote (Xu et al., SATzilla2012).

    The forest of a pair says which of the two loses less; an instance weighs as much as the losses differ.
    """

    def fitted(self) -> list[Any]:
        """Return a classifier per pair; a constant where one of the two is never worse."""
        return [self._fit_pair(*pair) for pair in combinations(range(self.target.shape[1]), 2)]

    def _fit_pair(self, first: int, second: int) -> Any:
        gap = self.target[:, second] - self.target[:, first]
        differs = gap != 0.0
        wins = gap[differs] > 0.0
        if wins.all() or not wins.any():
            return float(wins.mean()) if len(wins) else 0.5
        forest = library("sklearn.ensemble").RandomForestClassifier(
            **self._settings(f"pair {first} {second}")
        )
        return forest.fit(self.x[differs], wins, sample_weight=np.abs(gap[differs]))

    def scores(self, forests: list[Any], x: Array) -> Array:
        votes = np.zeros(self.target.shape[1])
        for (first, second), forest in zip(combinations(range(len(votes)), 2), forests, strict=True):
            share = forest if isinstance(forest, float) else float(shares(forest, x)[1])
            votes[first if share > 0.5 else second] += 1.0
        return np.asarray(1e-6 * self.target.mean(axis=0) - votes)  # ties go to the lower mean loss


class BestLabelForest(RecordedRows):
    """One forest that names the best algorithm of an instance: plain multi-class classification."""

    def fitted(self) -> list[Any]:
        forest = library("sklearn.ensemble").RandomForestClassifier(**self._settings("best label"))
        return [forest.fit(self.x, self.target.argmin(axis=1))]

    def scores(self, forests: list[Any], x: Array) -> Array:
        """Return minus the share of trees that vote for each algorithm; ties go to the lower mean loss."""
        (forest,) = forests
        scores: Array = 1e-6 * self.target.mean(axis=0)
        scores[forest.classes_] -= shares(forest, x) if len(forest.classes_) > 1 else 1.0
        return scores


class AsfSelector(RecordedRows):
    """One of ASF's selectors."""

    kind: ClassVar[str]
    """Its name in `asf.selectors`."""
    model: ClassVar[str] = "RandomForestClassifierWrapper"
    """Which of ASF's models it is made of."""
    options: ClassVar[dict[str, Any]] = {}

    def fitted(self) -> list[Any]:
        kind = getattr(library("asf.predictors", ASF_EXTRA), self.model)
        model = partial(kind, init_params=self._settings(self.kind))
        made = getattr(library("asf.selectors", ASF_EXTRA), self.kind)(model, **self.options)
        made.fit(_frame(self.x), _frame(self.target))
        return [made]

    def scores(self, forests: list[Any], x: Array) -> Array:
        """Return 0 for the algorithm that ASF names, and 1 for the others."""
        scores = np.ones(self.target.shape[1])
        scores[self.named(forests[0], x)] = 0.0
        return scores

    @abstractmethod
    def named(self, made: Any, x: Array) -> int:
        """Return the algorithm that ASF's selector names; of several the first."""


class AsfMultiClass(AsfSelector):
    """A forest whose classes are the algorithms."""

    kind = "MultiClassClassifier"

    def named(self, made: Any, x: Array) -> int:
        return int(_class_named(made.classifier, x))


class AsfPairwise(AsfSelector):
    """A forest per pair; the algorithm that wins most pairs."""

    kind = "PairwiseClassifier"

    def named(self, made: Any, x: Array) -> int:
        votes = np.zeros(len(made.algorithms))
        for (first, second), model in zip(combinations(range(len(votes)), 2), made.classifiers, strict=True):
            votes[first if _class_named(model, x) else second] += 1.0
        return int(votes.argmax())


class AsfPerformance(AsfSelector):
    """A forest per algorithm; the lowest predicted loss."""

    kind = "PerformanceModel"
    model = "RandomForestRegressorWrapper"
    options: ClassVar[dict[str, Any]] = {"normalize": "none"}  # a bounded loss needs no logarithms

    def named(self, made: Any, x: Array) -> int:
        return int(np.argmin([mean_vote(model.model_class, x)[0] for model in made.regressors]))


def _class_named(model: Any, x: Array) -> Any:
    """Return the class that a forest predicts; of several equal ones the first."""
    return model.model_class.classes_[np.argmax(mean_vote(model.model_class, x))]


def _frame(values: Array) -> Any:
    """Return a data frame whose columns are called by their numbers, as texts."""
    return library("pandas", ASF_EXTRA).DataFrame(values, columns=[str(k) for k in range(values.shape[1])])
