"""Compiled growing of trees, against an obvious implementation in plain Python: the same bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from tailcut.models.instance_memory import InstanceTable
from tailcut.models.trees import Grown, Growth, Trees, at_once, grow, grow_weighted
from tailcut.types import Array

MASK = (1 << 64) - 1


class SplitMix:
    """SplitMix64, as published."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def uniform(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) / 2**53

    def below(self, n: int) -> int:
        return int(self.uniform() * n)


@dataclass
class Node:
    """A node of a tree that is grown the slow way."""

    members: list[int]
    loss: list[float]
    feature: int = -1
    threshold: float = 0.0
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def depth(self) -> int:
        return 1 + max(child.depth for child in self.children) if self.children else 0


class SlowTree:
    """One tree, grown node by node, depth first."""

    def __init__(
        self,
        instances: InstanceTable,
        root: Array,
        growth: Growth,
        seed: int,
        weight: Array | None = None,
    ) -> None:
        self.x, self.y = instances.x.tolist(), instances.target.tolist()
        self.weight = (np.ones(instances.target.shape) if weight is None else weight).tolist()
        self.growth = growth
        self.random = SplitMix(seed)
        self.deck = list(range(instances.x.shape[1]))
        self.root = Node(list(range(len(self.x))), root.tolist())
        self._grow(self.root, 0)

    def _sums(self, members: list[int], algorithm: int) -> tuple[float, float]:
        """Return the sum of an algorithm's runs on these instances, and how many they count for."""
        own = [i for i in members if not math.isnan(self.y[i][algorithm])]
        total = count = 0.0
        for i in own:
            total += self.weight[i][algorithm] * self.y[i][algorithm]
            count += self.weight[i][algorithm]
        return total, count

    def _grow(self, node: Node, depth: int) -> None:
        for a, p in enumerate(node.loss):
            total, count = self._sums(node.members, a)
            node.loss[a] = p + (total - count * p) / (count + self.growth.shrinkage) if count else p
        if len(node.members) >= 2 * self.growth.min_leaf and depth < self.growth.max_depth:
            self._split(node)
        for child in node.children:
            self._grow(child, depth + 1)

    def _split(self, node: Node) -> None:
        best = 1e-12
        for feature, threshold in self._candidates(node.members):
            sides: list[list[int]] = [[], []]
            for i in node.members:
                sides[self.x[i][feature] > threshold].append(i)
            if min(map(len, sides)) < self.growth.min_leaf:
                continue
            gain = self._gain(node, sides[0])
            if gain > best:
                best, node.feature, node.threshold = gain, feature, threshold
                node.children = [Node(side, list(node.loss)) for side in sides]

    def _candidates(self, members: list[int]) -> Iterator[tuple[int, float]]:
        """Yield features drawn without replacement, constant ones skipped, and a threshold for each."""
        tried = 0
        for place in range(len(self.deck)):
            drawn = place + self.random.below(len(self.deck) - place)
            self.deck[place], self.deck[drawn] = self.deck[drawn], self.deck[place]
            values = [self.x[i][self.deck[place]] for i in members]
            least, greatest = min(values), max(values)
            if least < greatest:
                tried += 1
                yield self.deck[place], least + (greatest - least) * self.random.uniform()
            if tried >= min(self.growth.candidates, len(members)):
                return

    def _gain(self, node: Node, left: list[int]) -> float:
        gain, w = 0.0, self.growth.shrinkage
        for a, p in enumerate(node.loss):
            total, count = self._sums(node.members, a)
            left_total, left_count = self._sums(left, a)
            e = left_total - left_count * p
            rest = total - count * p - e
            gain += e * e * (1.0 / (left_count + w))  # as compiled: ties are broken by the last bit
            gain += rest * rest * (1.0 / (count - left_count + w))
        return gain

    def leaf(self, x: Array) -> Node:
        node = self.root
        while node.children:
            node = node.children[int(x[node.feature] > node.threshold)]
        return node


def _table(x: Array, target: Array) -> InstanceTable:
    n = len(x)
    return InstanceTable(x, target, np.ones(n), np.ones(n, dtype=np.bool_))


def _instances(n: int, n_algorithms: int, n_features: int, seed: int) -> InstanceTable:
    """Instances of which some runs are known, of a few none; features with ties, one of them constant."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).round(1)
    x[:, n_features - 1] = 7.0
    hard = x[:, :1] + 0.5 * rng.normal(size=(n, 1)) > 0.3 * np.arange(n_algorithms)
    target = np.where(hard, 1.0, 0.3 * rng.random((n, n_algorithms)))
    target[rng.random(target.shape) < 0.6] = np.nan
    return _table(x, target)


def _depth(trees: Trees, node: int) -> int:
    if trees.feature[node] < 0:
        return 0
    child = int(trees.child[node])
    return 1 + max(_depth(trees, child), _depth(trees, child + 1))


@pytest.mark.parametrize(
    ("n", "n_algorithms", "candidates", "growth"),
    [
        (1, 2, 3, Growth()),
        (3, 1, 3, Growth()),
        (60, 3, 1, Growth()),
        (60, 3, 99, Growth(shrinkage=2.5)),
        (150, 5, 3, Growth(min_leaf=4)),
        (150, 5, 3, Growth(min_leaf=1, max_depth=3)),
        (9, 2, 3, Growth(min_leaf=1, max_depth=0)),
    ],
)
def test_compiled_growing_is_plain_growing(
    n: int, n_algorithms: int, candidates: int, growth: Growth
) -> None:
    growth = Growth(candidates, growth.min_leaf, growth.max_depth, growth.shrinkage)
    instances = _instances(n, n_algorithms, 5, seed=n)
    root = np.linspace(0.2, 1.0, n_algorithms)
    trees = grow(instances, root, growth, np.random.default_rng(3), 4)
    seeds = np.random.default_rng(3).integers(1 << 62, size=4).tolist()
    slow = [SlowTree(instances, root, growth, seed) for seed in seeds]
    depths = [tree.root.depth for tree in slow]
    assert [_depth(trees, int(start)) for start in trees.roots] == depths
    if n >= 60:
        assert 3 <= max(depths) <= growth.max_depth
    trees.restored()
    sizes = [len(list(tree.root.walk())) for tree in slow]
    assert [*trees.roots.tolist(), len(trees.feature)] == [sum(sizes[:t]) for t in range(5)]
    n_leaves = [(size + 1) // 2 for size in sizes]
    assert [*trees.rows.tolist(), len(trees.loss)] == [sum(n_leaves[:t]) for t in range(5)]
    splits = {(node.feature, node.threshold) for tree in slow for node in tree.root.walk()}
    assert set(zip(trees.feature.tolist(), trees.threshold.tolist(), strict=True)) == splits
    leaves = [node for tree in slow for node in tree.root.walk() if not node.children]
    assert min(len(leaf.members) for leaf in leaves) >= min(growth.min_leaf, n)
    for x in [*instances.x, *np.random.default_rng(4).normal(size=(20, 5))]:
        assert trees.loss[trees.reached(x)].tolist() == [tree.leaf(x).loss for tree in slow]


def _expect_same(grown: Grown, tree: int, node: int, plain: Node) -> None:
    """Compare a node and all below it: instances, split, and values of leaves."""
    trees = grown.trees
    low, high = grown.spans[node].tolist()
    assert sorted(grown.members[tree, low:high].tolist()) == sorted(plain.members)
    assert (trees.feature[node], trees.threshold[node]) == (plain.feature, plain.threshold)
    if not plain.children:
        assert trees.loss[trees.child[node]].tolist() == plain.loss
    for number, below in enumerate(plain.children):
        _expect_same(grown, tree, int(trees.child[node]) + number, below)


def test_runs_of_different_weight_and_the_instances_of_every_node() -> None:
    instances, growth, root = _instances(120, 4, 5, seed=9), Growth(3, shrinkage=1.5), np.zeros(4)
    weight = np.random.default_rng(1).uniform(0.02, 2.0, instances.target.shape)
    grown = grow_weighted(instances.x, instances.target, weight, root, growth, np.random.default_rng(3), 3)
    seeds = np.random.default_rng(3).integers(1 << 62, size=3).tolist()
    ends = [*grown.trees.roots.tolist()[1:], len(grown.spans)]
    for tree, seed in enumerate(seeds):
        slow, first = SlowTree(instances, root, growth, seed, weight), int(grown.trees.roots[tree])
        assert len(list(slow.root.walk())) == ends[tree] - first > 20
        _expect_same(grown, tree, first, slow.root)


def test_the_same_seed_grows_the_same_trees() -> None:
    instances, root = _instances(80, 3, 5, seed=1), np.full(3, 0.5)
    one, same, other = (
        grow(instances, root, Growth(3), np.random.default_rng(seed), 3).state() for seed in (1, 1, 2)
    )
    assert all(one[name].tobytes() == same[name].tobytes() for name in one)
    assert one["threshold"].tobytes() != other["threshold"].tobytes()


def test_firm_priors_leave_the_root_as_it_is() -> None:
    instances, root = _instances(60, 3, 4, seed=1), np.array([0.2, 0.5, 0.7])
    trees = grow(instances, root, Growth(candidates=2, shrinkage=1e12), np.random.default_rng(0), 2)
    rows = trees.reached(instances.x[0])
    np.testing.assert_allclose(trees.loss[rows], [root, root], atol=1e-9)


def test_without_shrinkage_an_unsplit_tree_holds_the_means_of_the_algorithms() -> None:
    instances = _instances(60, 3, 4, seed=2)
    growth = Growth(min_leaf=60, shrinkage=1e-12)
    trees = grow(instances, np.full(3, 0.5), growth, np.random.default_rng(0), 1)
    np.testing.assert_allclose(trees.loss[0], np.nanmean(instances.target, axis=0), rtol=1e-6)


def test_an_algorithm_without_runs_in_a_leaf_does_there_as_it_does_on_the_whole() -> None:
    x = np.repeat([[0.0], [1.0]], 20, axis=0)
    instances = _table(x, np.hstack([x, np.full((40, 1), np.nan)]))
    trees = grow(instances, np.array([0.5, 0.7]), Growth(), np.random.default_rng(0), 1)
    easy, hard = (trees.loss[trees.reached(np.array([value]))][0] for value in (0.0, 1.0))
    assert easy[0] < 0.1 < 0.9 < hard[0]
    assert easy[1] == hard[1] == 0.7


@pytest.mark.parametrize("width", [0, 2], ids=["no features", "constant features"])
def test_nothing_to_split_on(width: int) -> None:
    instances = _table(np.ones((10, width)), np.linspace(0.0, 1.0, 10)[:, None])
    trees = grow(instances, np.array([0.5]), Growth(), np.random.default_rng(0), 3)
    assert trees.feature.tolist() == [-1, -1, -1]
    assert trees.reached(np.ones(width)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("target", [np.nan, 0.5], ids=["no runs", "runs that are all alike"])
def test_nothing_to_gain(target: float) -> None:
    instances = _table(np.arange(10.0)[:, None], np.full((10, 1), target))
    trees = grow(instances, np.array([0.5]), Growth(), np.random.default_rng(0), 1)
    assert (trees.feature.tolist(), trees.loss.tolist()) == ([-1], [[0.5]])


def test_features_however_odd_make_no_deep_trees() -> None:
    """Each threshold cuts off the largest value alone: unbounded, a tree would be a chain."""
    x = np.exp(np.arange(300.0))[:, None]
    instances = _table(x, np.random.default_rng(1).random((300, 1)))
    trees = grow(instances, np.array([0.5]), Growth(min_leaf=1), np.random.default_rng(0), 1)
    assert _depth(trees, 0) == Growth().max_depth == 40


@pytest.mark.parametrize("odd", [np.nan, 1e300, -1e300, 5e-324])
def test_odd_values_do_no_harm(odd: float) -> None:
    instances = _instances(50, 2, 3, seed=0)
    instances.x[::7, 0], instances.x[1, 0] = odd, -odd
    trees = grow(instances, np.full(2, 0.5), Growth(3), np.random.default_rng(0), 3)
    trees.restored()
    assert all(np.isfinite(trees.mean(x)).all() for x in instances.x)


def test_as_many_trees_grow_together_as_are_quickly_grown() -> None:
    growth = Growth(candidates=20)
    assert [at_once(n, growth) for n in (0, 1, 1000, 2000, 10**9)] == [1 << 18, 13107, 13, 6, 1]


def _forest(n_trees: int, seed: int) -> Trees:
    instances = _instances(50, 3, 4, seed=seed)
    return grow(instances, np.full(3, 0.5), Growth(2), np.random.default_rng(seed), n_trees)


@pytest.mark.parametrize(
    ("n_new", "n_trees", "kept"),
    [(1, 5, 4), (3, 5, 2), (4, 5, 1), (5, 5, 0), (1, 9, 5), (3, 7, 4), (2, 3, 1)],
)
def test_new_trees_take_the_place_of_the_oldest(n_new: int, n_trees: int, kept: int) -> None:
    """Those that stay are the youngest; all stay where there is to be more."""
    old, new = _forest(5, seed=0), _forest(n_new, seed=1)
    mixed = old.renewed(new, n_trees)
    mixed.restored()
    assert len(mixed) == kept + n_new <= n_trees
    for x in np.random.default_rng(2).normal(size=(50, 4)):
        expected = np.concatenate([old.loss[old.reached(x)][5 - kept :], new.loss[new.reached(x)]])
        assert np.array_equal(mixed.loss[mixed.reached(x)], expected)
