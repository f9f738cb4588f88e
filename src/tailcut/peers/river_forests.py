"""river's online forests, one per algorithm: adaptive random forests of Hoeffding trees, or Mondrian forests.

Montiel et al., "River: machine learning for streaming data in Python", JMLR 2021. A forest of an algorithm
learns the bounded losses of its runs, one by one, and the lowest prediction is chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import TreeCount
from tailcut.peers.libraries import library
from tailcut.peers.opaque import OpaqueModel
from tailcut.representation import Views
from tailcut.types import Array


class RiverForests(OpaqueModel):
    """One of river's forests per algorithm: "ARFRegressor" or "AMFRegressor"; 0 before the first outcome."""

    needs_features = True

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        seed: int = 0,
        kind: str = "AMFRegressor",
        trees: TreeCount = 10,
    ) -> None:
        super().__init__(n_algorithms, n_features)
        self.kind, self.trees, self.seed = kind, trees, seed
        self.forests = [self._new(name) for name in self.names]
        self.outcomes = [0] * n_algorithms

    def _new(self, name: int) -> Any:
        """Return a forest that has seen nothing; each has random numbers of its own."""
        seed = int(stream(self.seed, f"river forest {name}").integers(2**31))
        forest = library("river.forest")
        if self.kind == "ARFRegressor":
            return forest.ARFRegressor(n_models=self.trees, seed=seed)
        return forest.AMFRegressor(n_estimators=self.trees, seed=seed)

    def losses(self, x: Array) -> Array:
        """Return what each forest predicts; one without outcomes expects no loss."""
        features = named(x)
        return np.array(
            [
                float(forest.predict_one(features)) if known else 0.0
                for forest, known in zip(self.forests, self.outcomes, strict=True)
            ]
        )

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Let the forest of an algorithm learn one outcome."""
        if weight > 0.0:
            self.forests[algorithm].learn_one(named(x), target)
            self.outcomes[algorithm] += 1

    def add(self) -> None:
        """Add a forest."""
        super().add()
        self.forests.append(self._new(self.names[-1]))
        self.outcomes.append(0)

    def remove(self, algorithm: int) -> None:
        """Remove a forest."""
        super().remove(algorithm)
        del self.forests[algorithm], self.outcomes[algorithm]

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        """Do nothing: river's features have names."""
        self.n_features = n_features


def named(x: Array) -> dict[int, float]:
    """Return features as river takes them, counted from the last: those that arrive later come first.

    >>> named(np.array([0.5, 2.0]))
    {2: 0.5, 1: 2.0}
    """
    return dict(zip(range(len(x), 0, -1), x.tolist(), strict=True))
