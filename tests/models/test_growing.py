"""Trees grown level by level, against an obvious implementation that grows node by node."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from tailcut.models.growing import Growth, at_once, grow
from tailcut.models.reservoir import RunTable
from tailcut.models.trees import Indices, Trees
from tailcut.types import Array


@dataclass
class Node:
    """A node of a tree that is grown the slow way."""

    members: list[int]
    loss: list[float]
    feature: int = -1
    threshold: float = math.inf
    children: list[Node] = field(default_factory=list)


def _table(x: Array, algorithm: Indices, loss: Array) -> RunTable:
    return RunTable(x, algorithm, loss, np.ones(len(loss)))


def _correct(node: Node, runs: RunTable, shrinkage: float) -> None:
    """Move each algorithm by its own runs."""
    for a, p in enumerate(node.loss):
        own = [float(runs.loss[i]) for i in node.members if runs.algorithm[i] == a]
        node.loss[a] += sum(y - p for y in own) / (len(own) + shrinkage)


def _gain(node: Node, sides: list[list[int]], runs: RunTable, shrinkage: float) -> float:
    gain = 0.0
    for side in sides:
        for a in range(len(node.loss)):
            own = [float(runs.loss[i]) - node.loss[a] for i in side if runs.algorithm[i] == a]
            gain += sum(own) ** 2 / (len(own) + shrinkage)
    return gain


def _split(node: Node, runs: RunTable, growth: Growth, features: Indices, fractions: Array) -> None:
    best = -1.0
    for feature, fraction in zip(features.tolist(), fractions.tolist(), strict=True):
        values = [float(runs.x[i, feature]) for i in node.members]
        threshold = min(values) + (max(values) - min(values)) * fraction
        left = [i for i in node.members if runs.x[i, feature] <= threshold]
        right = [i for i in node.members if runs.x[i, feature] > threshold]
        if min(len(left), len(right)) < growth.min_leaf:
            continue
        gain = float(np.float32(_gain(node, [left, right], runs, growth.shrinkage)))
        if gain > best:
            best = gain
            node.feature, node.threshold = feature, threshold
            node.children = [Node(side, list(node.loss)) for side in (left, right)]


def _slow(runs: RunTable, root: Array, growth: Growth, stream: np.random.Generator) -> list[Node]:
    roots = [Node(list(range(len(runs.loss))), root.tolist()) for _ in range(growth.trees)]
    level, depth = roots, 0
    while level:
        for node in level:
            _correct(node, runs, growth.shrinkage)
        large = [node for node in level if len(node.members) >= 2 * growth.min_leaf]
        if large and depth < growth.max_depth:
            shape = (growth.candidates, len(large))
            features, fractions = stream.integers(runs.x.shape[1], size=shape), stream.random(shape)
            for column, node in enumerate(large):
                _split(node, runs, growth, features[:, column], fractions[:, column])
        level, depth = [child for node in level for child in node.children], depth + 1
    return roots


def _leaf(node: Node, x: Array) -> Node:
    while node.children:
        node = node.children[int(x[node.feature] > node.threshold)]
    return node


def _runs(n: int, n_algorithms: int, n_features: int, seed: int) -> RunTable:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).round(1)  # rounded: ties happen
    algorithm = rng.integers(n_algorithms, size=n)
    hard = x[:, 0] + 0.5 * rng.normal(size=n) > 0.3 * algorithm
    return _table(x, algorithm, np.where(hard, 1.0, 0.3 * rng.random(n)))


@pytest.mark.parametrize("chunk", [1, 1 << 16], ids=["one candidate at a time", "all candidates at once"])
@pytest.mark.parametrize(
    ("n", "n_algorithms", "min_leaf", "max_depth"),
    [(1, 2, 2, 10), (3, 1, 2, 10), (40, 3, 2, 10), (90, 5, 4, 10), (90, 5, 1, 3), (9, 2, 1, 0)],
)
def test_levelwise_growing_is_recursive_growing(
    n: int, n_algorithms: int, min_leaf: int, max_depth: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailcut.models.growing._CACHED", chunk)
    growth = Growth(4, candidates=3, min_leaf=min_leaf, max_depth=max_depth, shrinkage=2.5)
    runs = _runs(n, n_algorithms, 4, seed=n)
    root = np.linspace(0.2, 1.0, n_algorithms)
    trees = grow(runs, root, growth, np.random.default_rng(3))
    slow = _slow(runs, root, growth, np.random.default_rng(3))
    if n >= 40:
        assert 3 <= trees.depth <= max_depth
    for x in [*runs.x, *np.random.default_rng(4).normal(size=(20, 4))]:
        leaves = [_leaf(node, x) for node in slow]
        rows = trees.reached(x)
        np.testing.assert_allclose(trees.loss[rows], [leaf.loss for leaf in leaves], rtol=1e-9)


def test_firm_priors_leave_the_root_as_it_is() -> None:
    runs, root = _runs(60, 3, 4, seed=1), np.array([0.2, 0.5, 0.7])
    growth = Growth(trees=2, candidates=2, shrinkage=1e12)
    trees = grow(runs, root, growth, np.random.default_rng(0))
    rows = trees.reached(runs.x[0])
    np.testing.assert_allclose(trees.loss[rows], [root, root], atol=1e-9)


def test_without_shrinkage_an_unsplit_tree_holds_the_means_of_the_algorithms() -> None:
    runs, root = _runs(60, 3, 4, seed=2), np.full(3, 0.5)
    growth = Growth(trees=1, candidates=1, min_leaf=60, shrinkage=1e-12)
    trees = grow(runs, root, growth, np.random.default_rng(0))
    means = [runs.loss[runs.algorithm == a].mean() for a in range(3)]
    np.testing.assert_allclose(trees.loss[trees.reached(runs.x[0])][0], means, rtol=1e-6)


def test_an_algorithm_without_runs_in_a_leaf_does_there_as_it_does_on_the_whole() -> None:
    x = np.repeat([[0.0], [1.0]], 20, axis=0)
    runs = _table(x, np.zeros(40, dtype=np.int64), x[:, 0].copy())
    trees = grow(runs, np.array([0.5, 0.7]), Growth(trees=1, candidates=1), np.random.default_rng(0))
    easy, hard = (trees.loss[trees.reached(np.array([value]))][0] for value in (0.0, 1.0))
    assert easy[0] < 0.1 < 0.9 < hard[0]
    assert easy[1] == hard[1] == 0.7


@pytest.mark.parametrize("width", [0, 2], ids=["no features", "constant features"])
def test_nothing_to_split_on(width: int) -> None:
    runs = _table(np.ones((10, width)), np.zeros(10, dtype=np.int64), np.linspace(0.0, 1.0, 10))
    trees = grow(runs, np.array([0.5]), Growth(trees=3, candidates=1), np.random.default_rng(0))
    assert trees.depth == 0
    assert trees.reached(np.ones(width)).tolist() == [0, 1, 2]


def test_features_however_odd_make_no_deep_trees() -> None:
    """Each threshold cuts off the largest value alone: unbounded, a tree would be a chain."""
    x = np.exp(np.arange(300.0))[:, None]
    runs = _table(x, np.zeros(300, dtype=np.int64), (np.arange(300) % 2).astype(np.float64))
    growth = Growth(trees=1, candidates=1, min_leaf=1)
    trees = grow(runs, np.array([0.5]), growth, np.random.default_rng(0))
    assert trees.depth == growth.max_depth == 10


def test_as_many_trees_grow_together_as_are_quickly_grown() -> None:
    growth = Growth(trees=20, candidates=20)
    assert [at_once(n, growth) for n in (0, 1, 100, 300, 1000, 2000, 10**9)] == [20, 20, 20, 10, 3, 1, 1]
    grown = grow(_runs(30, 2, 3, seed=0), np.full(2, 0.5), growth, np.random.default_rng(0), n_trees=7)
    assert len(grown.roots) == 7


def _forest(n_trees: int, seed: int) -> Trees:
    growth = Growth(trees=n_trees, candidates=2)
    return grow(_runs(50, 3, 4, seed=seed), np.full(3, 0.5), growth, np.random.default_rng(seed))


@pytest.mark.parametrize("n_new", [1, 3, 4, 5])
def test_new_trees_take_the_place_of_the_oldest(n_new: int) -> None:
    old, new = _forest(5, seed=0), _forest(n_new, seed=1)
    mixed = old.renewed(new)
    assert mixed.depth == max([*old.depths[n_new:], *new.depths])
    for x in np.random.default_rng(2).normal(size=(50, 4)):
        expected = np.concatenate([old.loss[old.reached(x)][n_new:], new.loss[new.reached(x)]])
        assert np.array_equal(mixed.loss[mixed.reached(x)], expected)
