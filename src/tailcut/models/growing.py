"""Growing trees on instances of which the runs of some algorithms are known.

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

from tailcut.models.instance_memory import InstanceTable
from tailcut.models.trees import Small, Trees
from tailcut.numerics.tree_kernels import RUN, grow_trees
from tailcut.types import Array

_AT_ONCE = 1 << 18
"""Runs times candidates that are processed at once, so that no outcome takes long."""


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
    """Return how many trees to grow together."""
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
