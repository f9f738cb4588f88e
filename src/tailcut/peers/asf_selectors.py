"""ASF's selectors, fitted on instances of which every algorithm's run is known.

As all of `recorded_rows`, they learn by `fit` alone. What ASF fits are forests of scikit-learn, whose
randomness follows from the seed, so that a reload fits the same.
"""

from __future__ import annotations

from functools import partial
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
        ((chosen, _),) = self.forests[0].predict(_frame(x[None]))[0]
        found = np.ones(self.target.shape[1])
        found[int(chosen)] = 0.0
        return found


def _frame(values: Array) -> Any:
    """Return a data frame whose columns are called by their numbers, as texts."""
    return library("pandas", ASF_EXTRA).DataFrame(values, columns=[str(k) for k in range(values.shape[1])])
