"""Trees as they are used: an instance walks down all of them at once, and the leaves are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.state.stateful import Stateful, expect, expect_finite, expect_indices
from tailcut.types import Array

Indices = NDArray[np.int64]
MOST_LEVELS = 1000
"""No tree has so many."""


@dataclass
class Trees(Stateful):
    """T binary trees in flat arrays, one behind the other, each level by level.

    A node sends x[feature] <= threshold to `child` and the rest to `child` + 1. A leaf sends all to itself,
    so that a walk needs no end: it makes as many steps as the deepest tree has levels.
    """

    roots: Indices
    """The first node of each tree, shape (T,)."""
    rows: Indices
    """The first row of each tree in `loss`, shape (T,)."""
    depths: Indices
    """How many steps the longest walk down each tree takes, shape (T,)."""
    feature: Indices
    threshold: Array
    child: Indices
    leaf: Indices
    """Which row of `loss` belongs to a node, if it is a leaf."""
    loss: Array
    """What each algorithm is expected to cost on the instances of a leaf, shape (leaves, K)."""
    depth: int = field(init=False)
    """Of the deepest tree."""

    STATE = ("roots", "rows", "depths", "feature", "threshold", "child", "leaf", "loss")

    def __post_init__(self) -> None:
        self.depth = int(self.depths.max())

    GROWING = STATE

    def restored(self) -> None:
        """Find the deepest tree, after a look at whether these are trees at all."""
        nodes, here = len(self.feature), np.arange(len(self.feature))
        same = len({nodes, len(self.threshold), len(self.child), len(self.leaf)}) == 1
        expect(
            same and len(self.roots) == len(self.rows) == len(self.depths), "trees: arrays of other lengths"
        )
        expect(len(self.roots), "trees: there are none")
        expect_indices(nodes, roots=self.roots, child=self.child)
        expect_indices(len(self.loss), rows=self.rows, leaf=self.leaf)
        inner = self.child != here
        # A walk takes the child or the node behind it; it ends, because both lie behind their parent.
        expect((self.child[inner] > here[inner]).all(), "child: a node does not lie behind its parent")
        expect((self.child[inner] < nodes - 1).all(), "child: a node has one child only")
        expect_indices(MOST_LEVELS, depths=self.depths)
        expect_indices(1 << 40, feature=self.feature)
        expect(not np.isnan(self.threshold).any(), "threshold: holds a number that is not one")
        expect_finite(loss=self.loss)
        self.depth = int(self.depths.max())

    @staticmethod
    def leaves(n_trees: int, loss: Array) -> Trees:
        """Return trees that are leaves, for algorithms that cost `loss`, shape (K,)."""
        nodes = np.arange(n_trees)
        none = np.zeros(n_trees, dtype=np.int64)
        nowhere = np.full(n_trees, np.inf)
        return Trees(nodes, nodes, none, none, nowhere, nodes, nodes, np.tile(loss, (n_trees, 1)))

    @staticmethod
    def sorted(n_trees: int, level: list[Indices], nodes: dict[str, Any]) -> Trees:
        """Return trees whose nodes lie level by level, those of all trees together.

        For each level `level` says which tree its nodes belong to; `nodes` are the arrays of that name.
        """
        depths = np.zeros(n_trees, dtype=np.int64)
        for depth, trees in enumerate(level):
            depths[trees] = depth
        tree = np.concatenate(level)
        order = np.argsort(tree, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        child = place[nodes["child"][order]]
        is_leaf = child == np.arange(len(order))
        leaf = np.cumsum(is_leaf) - is_leaf
        roots = np.searchsorted(tree[order], np.arange(n_trees))
        loss = nodes["loss"][nodes["leaf"][order][is_leaf]]
        feature, threshold = nodes["feature"][order], nodes["threshold"][order]
        return Trees(roots, leaf[roots], depths, feature, threshold, child, leaf, loss)

    def renewed(self, new: Trees) -> Trees:
        """Return the trees without the first ones, and as many `new` ones behind the others.

        >>> old = Trees.leaves(3, np.array([0.1]))
        >>> mixed = old.renewed(Trees.leaves(2, np.array([0.4])))
        >>> mixed.reached(np.zeros(1)).tolist(), mixed.loss.ravel().tolist()
        ([0, 1, 2], [0.1, 0.4, 0.4])
        """
        gone = len(new.roots)
        if gone == len(self.roots):
            return new
        node, row = self.roots[gone], self.rows[gone]
        nodes, rows = len(self.feature) - node, len(self.loss) - row
        return Trees(
            np.append(self.roots[gone:] - node, new.roots + nodes),
            np.append(self.rows[gone:] - row, new.rows + rows),
            np.append(self.depths[gone:], new.depths),
            np.append(self.feature[node:], new.feature),
            np.append(self.threshold[node:], new.threshold),
            np.append(self.child[node:] - node, new.child + nodes),
            np.append(self.leaf[node:] - row, new.leaf + rows),
            np.concatenate([self.loss[row:], new.loss]),
        )

    def reached(self, x: Array) -> Indices:
        """Return the rows of the leaves that the instance `x` falls into, shape (T,)."""
        node = self.roots
        for _ in range(self.depth):
            right = x.take(self.feature.take(node)) > self.threshold.take(node)
            node = self.child.take(node) + right
        return self.leaf.take(node)
