"""Growing many trees at once, level by level, on runs of several algorithms.

A tree splits instances by their features alone; every node holds a loss p_a for each algorithm a: that of its
parent, moved by sum (y - p_a) / (n_a + w) over the n_a runs of that algorithm which reach it. So a leaf knows
of an algorithm that never ran there what holds further up. A node draws some features and for each a uniform
threshold (extremely randomised trees, Geurts et al. 2006), and takes the one by which that step gains most.

All nodes of a level, of all trees, are worked on together. The runs lie in slots, ordered by node and within
it by algorithm, so that every sum is one `reduceat`. In shapes: S slots, N nodes, G groups (pairs of node
and algorithm that have runs), C candidates for a split, K algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailcut.models.reservoir import RunTable
from tailcut.models.trees import Indices, Trees
from tailcut.types import Array

_CACHED = 1 << 16
"""Candidates are tried together while their tables have at most this many entries, which fit the cache."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How trees grow."""

    trees: int = 20
    candidates: int = 1
    """Splits that a node considers, C."""
    min_leaf: int = 2
    """RunTable that each side of a split needs."""
    max_depth: int = 10
    """Splits above a leaf at most, so that no features, however odd, make a decision slow."""
    shrinkage: float = 3.0
    """How many runs of an algorithm it counts for that it does as well in a node as in the one above: w."""


def at_once(n_runs: int, growth: Growth) -> int:
    """Return how many trees to grow together: as many as fit the cache, so that nobody waits long."""
    return min(max(_CACHED // max(n_runs * growth.candidates, 1), 1), growth.trees)


def grow(
    runs: RunTable, root: Array, growth: Growth, stream: np.random.Generator, n_trees: int | None = None
) -> Trees:
    """Return trees grown on n >= 1 `runs`, for algorithms that cost `root` on the whole, shape (K,).

    They are all of the trees that `growth` speaks of, or `n_trees`.
    """
    bark = _Bark(growth.trees if n_trees is None else n_trees)
    level: _Level | None = _first_level(runs, root, bark.n_trees)
    while level is not None:
        level.correct(growth.shrinkage)
        last = len(bark.levels) == growth.max_depth
        feature, threshold = _unsplit(level) if last else _splits(level, growth, stream)
        bark.add(level, feature, threshold)
        level = _next_level(level, feature, threshold)
    return bark.trees()


class _Level:
    """The nodes of one level and the runs that reach them."""

    def __init__(self, runs: RunTable, slots: Indices, sizes: Indices, loss: Array) -> None:
        self.runs = runs
        self.slots = slots
        """Which run is in which slot, shape (S,)."""
        self.sizes = sizes
        """RunTable of each node, (N,)."""
        self.loss = loss
        """Of each node and algorithm, (N, K)."""
        self.starts = np.cumsum(sizes) - sizes
        self.node = np.repeat(np.arange(len(sizes)), sizes)
        self.algorithm = runs.algorithm[slots]
        self.y = runs.loss[slots]
        pair = self.node * loss.shape[1] + self.algorithm
        self.groups = np.flatnonzero(np.diff(pair, prepend=-1))
        """First slot of each group, (G,)."""
        self.group_node, self.group_algorithm = np.divmod(pair[self.groups], loss.shape[1])
        self.group_sizes = np.diff(self.groups, append=len(slots))
        self.node_groups = np.searchsorted(self.groups, self.starts)
        """First group of each node, (N,)."""

    def predicted(self) -> Array:
        """Return what each run was expected to cost, (S,)."""
        return self.loss[self.node, self.algorithm]

    def correct(self, shrinkage: float) -> None:
        """Take the losses from those of the parents to those of the nodes."""
        surprise = np.add.reduceat(self.y - self.predicted(), self.groups)
        self.loss[self.group_node, self.group_algorithm] += surprise / (self.group_sizes + shrinkage)

    def only(self, keep: NDArray[np.bool_]) -> _Level:
        """Return the level with only those nodes that are to `keep`, shape (N,)."""
        if keep.all():
            return self
        slots = self.slots[keep[self.node]]
        return _Level(self.runs, slots, self.sizes[keep], self.loss[keep])


def _first_level(runs: RunTable, root: Array, n_trees: int) -> _Level:
    by_algorithm = np.argsort(runs.algorithm, kind="stable")
    sizes = np.full(n_trees, len(by_algorithm))
    return _Level(runs, np.tile(by_algorithm, n_trees), sizes, np.tile(root, (n_trees, 1)))


def _next_level(level: _Level, feature: Indices, threshold: Array) -> _Level | None:
    """Return the children of the nodes that are split (feature >= 0), two for each, left before right."""
    split = feature >= 0
    if not split.any():
        return None
    reached = split[level.node]
    node, slots = level.node[reached], level.slots[reached]
    right = level.runs.x[slots, feature[node]] > threshold[node]
    child = 2 * (np.cumsum(split) - 1)[node] + right
    by_child = np.argsort(child, kind="stable")  # stable: still ordered by algorithm
    sizes = np.bincount(child)
    return _Level(level.runs, slots[by_child], sizes, level.loss[split].repeat(2, axis=0))


def _unsplit(level: _Level) -> tuple[Indices, Array]:
    """Return no split for any node."""
    return np.full(len(level.sizes), -1), np.full(len(level.sizes), np.inf)


def _splits(level: _Level, growth: Growth, stream: np.random.Generator) -> tuple[Indices, Array]:
    """Return the best split of each node: its feature, -1 where there is none, and its threshold; (N,)."""
    feature, threshold = _unsplit(level)
    large = level.sizes >= 2 * growth.min_leaf
    n_features = level.runs.x.shape[1]
    if n_features == 0 or not large.any():
        return feature, threshold
    nodes = level.only(large)
    shape = (growth.candidates, len(nodes.sizes))
    features, fractions = stream.integers(n_features, size=shape), stream.random(shape)
    error = nodes.y - nodes.predicted()
    best = np.full(len(nodes.sizes), -1.0, dtype=np.float32)
    best_feature, best_threshold = np.full(len(best), -1), np.full(len(best), np.inf)
    together = max(_CACHED // len(nodes.slots), 1)
    for first in range(0, growth.candidates, together):
        some = slice(first, first + together)
        gain, thresholds = _gains(nodes, error, features[some], fractions[some], growth)
        winner = gain.argmax(axis=0)
        of_each = (winner, np.arange(len(winner)))
        better = gain[of_each] > best
        best[better] = gain[of_each][better]
        best_feature[better] = features[some][of_each][better]
        best_threshold[better] = thresholds[of_each][better]
    feature[large], threshold[large] = best_feature, best_threshold
    return feature, threshold


def _gains(
    level: _Level, error: Array, features: Indices, fractions: Array, growth: Growth
) -> tuple[NDArray[np.float32], Array]:
    """Return what each candidate split gains, -1 where a side has too few runs, and its threshold; (C, N).

    With e = y - p, for each slot the `error`, the gain is what the step would move, over both sides and all
    algorithms: (sum_a e)^2 / (n_a + w).
    """
    width = level.runs.x.shape[1]
    # `repeat` and not `[:, level.node]`, which gives the same and takes longer
    values = level.runs.x.ravel().take(level.slots * width + features.repeat(level.sizes, axis=1))
    low = np.minimum.reduceat(values, level.starts, axis=1)
    high = np.maximum.reduceat(values, level.starts, axis=1)
    thresholds = low + (high - low) * fractions
    left = (values <= thresholds.repeat(level.sizes, axis=1)).astype(np.float64)
    n = np.add.reduceat(left, level.groups, axis=1)
    e = np.add.reduceat(np.multiply(left, error, out=left), level.groups, axis=1)
    all_n, all_e = level.group_sizes, np.add.reduceat(error, level.groups)
    w = growth.shrinkage
    gain = np.square(e) / (n + w) + np.square(all_e - e) / (all_n - n + w)
    gain = np.add.reduceat(gain, level.node_groups, axis=1)
    n = np.add.reduceat(n, level.node_groups, axis=1)
    enough = (n >= growth.min_leaf) & (level.sizes - n >= growth.min_leaf)
    # Small nodes are often split alike by several candidates. Rounded, such gains are equal and the first
    # candidate wins, whatever order the machine adds in.
    return np.where(enough, gain.astype(np.float32), np.float32(-1.0)), thresholds


class _Bark:
    """Collects finished levels."""

    def __init__(self, n_trees: int) -> None:
        self.n_trees = n_trees
        self.tree = [np.arange(n_trees)]
        """Which tree each node belongs to, level by level."""
        self.nodes = self.leaves = 0
        self.levels: list[tuple[Indices, Array, Indices, Indices, Array]] = []

    def add(self, level: _Level, feature: Indices, threshold: Array) -> None:
        """Append a level whose nodes split so; those with feature -1 are leaves."""
        inner = feature >= 0
        here = np.arange(self.nodes, self.nodes + len(feature))
        self.nodes += len(feature)
        child = np.where(inner, self.nodes + 2 * (np.cumsum(inner) - 1), here)
        row = self.leaves + np.cumsum(~inner) - 1
        self.leaves += int((~inner).sum())
        self.levels.append((np.where(inner, feature, 0), threshold, child, row, level.loss[~inner]))
        self.tree.append(self.tree[-1][inner].repeat(2))

    def trees(self) -> Trees:
        """Return what has grown."""
        names = ("feature", "threshold", "child", "leaf", "loss")
        arrays = (np.concatenate(parts) for parts in zip(*self.levels, strict=True))
        return Trees.sorted(self.n_trees, self.tree, dict(zip(names, arrays, strict=True)))
