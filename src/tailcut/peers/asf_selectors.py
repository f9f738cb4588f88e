"""ASF's selectors, fitted on instances of which every algorithm's run is known.

As all of `recorded_rows`, they learn by `fit` alone. What ASF fits are forests of scikit-learn, whose
randomness follows from the seed, so that a reload fits the same.

ASF decides about a table of instances and asks each forest once for all of them. Here they come one by one,
and for a single one its data frames and the forests' checks take some 40 times as long as the trees. So the
trees are asked directly, and their answers put together as ASF and scikit-learn do; tests/peers compare the
choices with those of ASF's own `predict`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import Count, TreeCount
from tailcut.peers.libraries import ASF_EXTRA, library
from tailcut.peers.recorded_rows import RecordedRows
from tailcut.types import Array

_FORESTS = {
    "MultiClassClassifier": "RandomForestClassifierWrapper",
    "PairwiseClassifier": "RandomForestClassifierWrapper",
    "PerformanceModel": "RandomForestRegressorWrapper",
}
"""Which of ASF's selectors is made of which of its models."""
_OPTIONS = {"PerformanceModel": {"normalize": "none"}}
"""It would take logarithms of what it gets, and a bounded loss needs none."""


class AsfSelector(RecordedRows):
    """One of ASF's selectors: `selector` is its name in `asf.selectors`."""

    def __init__(
        self,
        *,
        selector: str,
        n_algorithms: int,
        n_features: int,
        seed: int = 0,
        trees: TreeCount = 100,
        min_samples_leaf: Count = 1,
    ) -> None:
        self.selector = selector
        super().__init__(
            n_algorithms=n_algorithms,
            n_features=n_features,
            seed=seed,
            trees=trees,
            min_samples_leaf=min_samples_leaf,
        )

    def fitted(self) -> list[Any]:
        """Return the selector, fitted on features and losses as data frames."""
        model = partial(
            getattr(library("asf.predictors", ASF_EXTRA), _FORESTS[self.selector]),
            init_params={
                "n_estimators": self.trees,
                "min_samples_leaf": self.min_samples_leaf,
                "random_state": int(stream(self.seed, self.selector).integers(2**31)),
            },
        )
        kind = getattr(library("asf.selectors", ASF_EXTRA), self.selector)
        made = kind(model, **_OPTIONS.get(self.selector, {}))
        made.fit(_frame(self.x), _frame(self.target))
        return [made]

    def scores(self, x: Array) -> Array:
        """Return 0 for the algorithm that ASF names, and 1 for the others."""
        assert self.forests is not None
        found = np.ones(self.target.shape[1])
        found[_NAMED[self.selector](self.forests[0], x[None].astype(np.float32))] = 0.0
        return found


def _mean(model: Any, row: Array) -> Array:
    """Return the mean answer of a forest's trees, summed in the forest's own order."""
    trees = model.model_class.estimators_
    total = trees[0].tree_.predict(row)[0]
    for tree in trees[1:]:
        total += tree.tree_.predict(row)[0]
    mean: Array = total / len(trees)
    return mean


def _class_named(model: Any, row: Array) -> Any:
    """Return the class that a forest predicts; of several equal ones the first."""
    return model.model_class.classes_[np.argmax(_mean(model, row))]


def _by_class(made: Any, row: Array) -> int:
    """Return the algorithm whose label the forest predicts."""
    return int(_class_named(made.classifier, row))


def _by_pairs(made: Any, row: Array) -> int:
    """Return the algorithm that wins most pairs; of several the first."""
    votes = np.zeros(len(made.algorithms))
    for (first, second), model in zip(combinations(range(len(votes)), 2), made.classifiers, strict=True):
        votes[first if _class_named(model, row) else second] += 1.0
    return int(votes.argmax())


def _by_performance(made: Any, row: Array) -> int:
    """Return the algorithm with the lowest predicted loss; of several the first."""
    return int(np.argmin([_mean(model, row)[0] for model in made.regressors]))


_NAMED: dict[str, Callable[[Any, Array], int]] = {
    "MultiClassClassifier": _by_class,
    "PairwiseClassifier": _by_pairs,
    "PerformanceModel": _by_performance,
}
"""How each of ASF's selectors comes to its choice."""


def _frame(values: Array) -> Any:
    """Return a data frame whose columns are called by their numbers, as texts."""
    return library("pandas", ASF_EXTRA).DataFrame(values, columns=[str(k) for k in range(values.shape[1])])
