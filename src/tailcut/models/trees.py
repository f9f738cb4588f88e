"""Trees as they are used: an instance walks down all of them at once, and the leaves are read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.types import Array

Indices = NDArray[np.int64]


@dataclass(slots=True)
class Trees:
    """T binary trees in flat arrays; nodes 0 to T-1 are the roots.

    A node sends x[feature] <= threshold to `child` and the rest to `child` + 1. A leaf sends all to itself,
    so that a walk needs no end: it makes `depth` steps.
    """

    n_trees: int
    depth: int
    feature: Indices
    threshold: Array
    child: Indices
    leaf: Indices
    """Which row of the arrays below belongs to a node, if it is a leaf."""
    loss: Array
    """What each algorithm is expected to cost on the instances of a leaf, shape (leaves, K)."""

    @staticmethod
    def roots(n_trees: int, loss: Array) -> Trees:
        """Return trees that are leaves, for algorithms that cost `loss`, shape (K,)."""
        nodes = np.arange(n_trees)
        return Trees(
            n_trees=n_trees,
            depth=0,
            feature=np.zeros(n_trees, dtype=np.int64),
            threshold=np.full(n_trees, np.inf),
            child=nodes,
            leaf=nodes.copy(),
            loss=np.tile(loss, (n_trees, 1)),
        )

    def reached(self, x: Array) -> Indices:
        """Return the rows of the leaves that the instance `x` falls into, shape (T,)."""
        node = np.arange(self.n_trees)
        for _ in range(self.depth):
            right = x.take(self.feature.take(node)) > self.threshold.take(node)
            node = self.child.take(node) + right
        return self.leaf.take(node)

    def state(self) -> dict[str, Any]:
        """Return all arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
