"""Trees over instances of which the runs of some algorithms are known: how they grow, and how they are read.

A tree splits instances by their features alone; every node holds a loss p_a for each algorithm a: that of its
parent, moved by sum (y - p_a) / (n_a + w) over the n_a runs of that algorithm which reach it. So for an
algorithm that never ran in a leaf, the leaf uses the loss from further up. A node draws some of the features
that are not the same for all its instances, for each a uniform threshold (extremely randomised trees, Geurts
et al. 2006), and takes the split by which that step gains most: with e_a = sum (y - p_a) on a side, the sum
over both sides and all algorithms of e_a^2 / (n_a + w).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.models.instance_memory import InstanceTable
from tailcut.numerics.tree_kernels import RUN, grow_trees, mean_leaf, reach
from tailcut.state import Stateful, expect, expect_finite, expect_indices
from tailcut.types import Array

Indices = NDArray[np.int64]
Small = NDArray[np.int32]
_AT_ONCE = 1 << 18
"""Runs times candidates that are processed at once, so that no outcome takes long."""


@dataclass
class Trees(Stateful):
    """T binary trees in flat arrays, one behind the other.

    A node sends x[feature] <= threshold to `child` and the rest to `child` + 1. A leaf has feature -1, and
    its row of `loss` as `child`.
    """

    roots: Indices
    """The first node of each tree, shape (T,)."""
    rows: Indices
    """The first row of each tree in `loss`, shape (T,)."""
    feature: Small
    threshold: Array
    child: Small
    loss: Array
    """What each algorithm is expected to cost on the instances of a leaf, shape (leaves, K)."""

    STATE = ("roots", "rows", "feature", "threshold", "child", "loss")
    GROWING = STATE

    def __len__(self) -> int:
        return len(self.roots)

    def restored(self) -> None:
        nodes, here = len(self.feature), np.arange(len(self.feature))
        same = nodes == len(self.threshold) == len(self.child) and len(self.roots) == len(self.rows)
        expect(same, "trees: arrays of other lengths")
        expect(self.feature.dtype == self.child.dtype == np.int32, "feature, child: of another type")
        expect(len(self.roots), "trees: there are none")
        _expect_starts(nodes, roots=self.roots)
        _expect_starts(len(self.loss), rows=self.rows)
        # A walk is compiled and checks nothing: no node may lead out of its own tree. A walk takes the child
        # or the node behind it; it ends, because both lie behind their parent.
        tree = np.searchsorted(self.roots, here, side="right") - 1
        end, end_row = np.append(self.roots[1:], nodes)[tree], np.append(self.rows[1:], len(self.loss))[tree]
        leaf = self.feature < 0
        own = (self.child >= self.rows[tree]) & (self.child < end_row)
        expect(own[leaf].all(), "child: a leaf has a row of another tree")
        expect((self.child > here)[~leaf].all(), "child: a node does not lie behind its parent")
        expect((self.child < end - 1)[~leaf].all(), "child: a node lacks a child")
        expect(not np.isnan(self.threshold).any(), "threshold: holds a number that is not one")
        expect_finite(loss=self.loss)

    @staticmethod
    def leaves(n_trees: int, loss: Array) -> Trees:
        """Return trees that are leaves, for algorithms that cost `loss`, shape (K,)."""
        nodes = np.arange(n_trees)
        leaf = np.full(n_trees, -1, dtype=np.int32)
        return Trees(
            nodes, nodes, leaf, np.zeros(n_trees), nodes.astype(np.int32), np.tile(loss, (n_trees, 1))
        )

    def renewed(self, new: Trees, n_trees: int) -> Trees:
        """Return `n_trees`: the youngest of these and the `new` ones behind them.

        >>> old = Trees.leaves(3, np.array([0.1]))
        >>> mixed = old.renewed(Trees.leaves(2, np.array([0.4])), 3)
        >>> mixed.reached(np.zeros(1)).tolist(), mixed.loss.ravel().tolist()
        ([0, 1, 2], [0.1, 0.4, 0.4])
        """
        gone = max(len(self) + len(new) - n_trees, 0)
        if gone >= len(self):
            return new
        node, row = int(self.roots[gone]), int(self.rows[gone])
        nodes, rows = len(self.feature) - node, len(self.loss) - row
        feature = self.feature[node:]
        child = self.child[node:] - np.where(feature < 0, np.int32(row), np.int32(node))
        later = new.child + np.where(new.feature < 0, np.int32(rows), np.int32(nodes))
        return Trees(
            np.append(self.roots[gone:] - node, new.roots + nodes),
            np.append(self.rows[gone:] - row, new.rows + rows),
            np.append(feature, new.feature),
            np.append(self.threshold[node:], new.threshold),
            np.append(child, later),
            np.concatenate([self.loss[row:], new.loss]),
        )

    @property
    def nodes(self) -> tuple[Indices, Small, Array, Small]:
        return self.roots, self.feature, self.threshold, self.child

    def reached(self, x: Array) -> Indices:
        """Return the rows of the leaves that the instance `x` falls into, shape (T,)."""
        return reach(*self.nodes, np.ascontiguousarray(x))

    def mean(self, x: Array) -> Array:
        """Return the mean prediction of all trees for the instance `x`, shape (K,)."""
        return mean_leaf(*self.nodes, self.loss, np.ascontiguousarray(x))


def _expect_starts(length: int, **starts: Indices) -> None:
    """Raise unless numbers say where the parts of something of this length start, none of them empty."""
    for name, values in starts.items():
        expect_indices(length, **{name: values})
        expect(values[0] == 0 and (np.diff(values) > 0).all(), f"{name}: expected starts in increasing order")


@dataclass(frozen=True, slots=True)
class Growth:
    """How trees grow."""

    candidates: int = 1
    """Splits that a node considers."""
    min_leaf: int = 2
    """Instances that each side of a split needs."""
    max_depth: int = 40
    """Splits above a leaf at most, so that no features, however odd, make a decision slow."""
    shrinkage: float = 3.0
    """The weight, in runs, of the prior that an algorithm does as well in a node as in the one above: w."""


def at_once(n_runs: int, growth: Growth) -> int:
    return max(_AT_ONCE // max(n_runs * growth.candidates, 1), 1)


class Grown(NamedTuple):
    """Trees, and which of the n instances they were grown on are where."""

    trees: Trees
    spans: Small
    """The instances of each node are those members of its tree, from and to, shape (nodes, 2)."""
    members: Small
    """The numbers of the instances, tree by tree, shape (T, n)."""


def grow(
    instances: InstanceTable, root: Array, growth: Growth, stream: np.random.Generator, n_trees: int
) -> Trees:
    """Return trees grown on n >= 1 `instances`, for algorithms that cost `root` on the whole, shape (K,)."""
    ones = np.ones(instances.target.shape)
    return grow_weighted(instances.x, instances.target, ones, root, growth, stream, n_trees).trees


def grow_weighted(
    x: Array,
    target: Array,
    weight: Array,
    root: Array,
    growth: Growth,
    stream: np.random.Generator,
    n_trees: int,
) -> Grown:
    """Return trees with the instances in their nodes.

    They are grown on features (n, d) and on targets (n, K), nan where an algorithm has not run, each of which
    counts for `weight` (n, K) runs.
    """
    algorithm, owner = np.nonzero(~np.isnan(target.T))
    runs = np.empty(len(owner), dtype=RUN)
    runs["weight"] = weight[owner, algorithm]
    runs["cost"] = runs["weight"] * target[owner, algorithm]
    runs["owner"], runs["algorithm"] = owner, algorithm
    roots, rows, feature, threshold, child, loss, spans, members = grow_trees(
        np.ascontiguousarray(x),
        np.ascontiguousarray(x.T),
        runs,
        root,
        growth.candidates,
        growth.min_leaf,
        growth.max_depth,
        growth.shrinkage,
        stream.integers(1 << 62, size=n_trees).tolist(),
    )
    return Grown(Trees(roots, rows, feature, threshold, child, loss), spans, members)
