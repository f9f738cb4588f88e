"""The model of the selector `tailcut`: three layers, each of which predicts what the one before gets wrong.

    arms    what an algorithm costs on the whole; all there is to know after a handful of runs
    trees   start from that, and say what it costs on instances like this one; they find thresholds and
            interactions
    ridge   what the trees get wrong, as a linear function of the features: trends that trees see as stairs

Every run is predicted before it is learned from, and the ridge learns the errors of those predictions: so it
corrects what the trees get wrong on new instances, not on those that they were grown on.

The arms work by empirical Bayes: an algorithm with few runs borrows from all. The mean loss of algorithm a is
theta_a ~ N(m, tau^2), a run of it costs y ~ N(theta_a, s^2). All three constants are learned from the stream,
each from a start that counts as a few algorithms or runs:

    s^2    the mean squared error of the predictions made before each outcome
    m      the precision-weighted mean of the algorithms' means
    tau^2  the mean of (theta_a - m)^2 over the algorithms that were run, by expectation maximisation

m and tau^2 are learned again when there are more runs by a hundredth: at first after each.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tailcut.models.instance_memory import InstanceMemory, InstanceTable
from tailcut.models.model import Model
from tailcut.models.ridge import RidgeBank
from tailcut.models.trees import Growth, Trees, at_once, grow
from tailcut.numerics import arm_kernels, randomness
from tailcut.numerics.ranges import Count, Positive, TreeCount, Window
from tailcut.representation import Views
from tailcut.state import Stateful, expect, expect_finite, expect_indices
from tailcut.types import Array

MEAN, MEAN_WEIGHT = 0.5, 1.0
"""Where m starts, and how many algorithms that counts for."""
SPREAD, SPREAD_WEIGHT = 0.03, 3.0
"""Where tau^2 starts, and how many algorithms that counts for."""
NOISE, NOISE_WEIGHT = 0.12, 10.0
"""Where s^2 starts, and how many runs that counts for."""
_STEPS = 3
"""Of expectation maximisation, which starts from the beginning each time; enough for two digits."""
_AGAIN = 0.01
"""Share of new runs that m and tau^2 are learned again for."""
CANDIDATES, LEAST_CANDIDATES = 0.2, 3
"""Splits that a node considers, as a share of the features, and at least so many."""
REGROW = 0.25
"""Trees are grown again when there are more runs by this share: amortised, a constant cost per run."""
RESAMPLE = 1.0
"""The same when the memory is full, and no longer grows but changes: half of it is new then."""
MORE_TREES, MOST_TREES = 1000, 5
"""With every so many runs there are as many trees again as at first, up to so many times as many. Growing
many takes long: they are then grown again less often, by the square root of that factor, and the largest
forests have leaves of twice the size. That costs nothing that could be measured."""
RECENT = 1024
"""Instances whose predictions are remembered at most."""


class Arms(Stateful):
    """Posterior mean and variance of each algorithm's mean loss, shapes (K,).

    >>> arms = Arms(2)
    >>> for loss in (0.1, 0.1, 0.1):
    ...     arms.update(0, loss)
    >>> bool(arms.mean[0] < arms.mean[1] < MEAN)  # the other one is expected to be better, too
    True
    """

    STATE = ("runs", "total", "predictions", "squared_errors", "middle", "spread", "due")

    mean: Array
    variance: Array

    def __init__(self, n_algorithms: int, *, prior_weight: float = 1.0) -> None:
        self.prior_weight = prior_weight
        """How strongly m and tau^2 are held to their starting values; if infinite, nothing is borrowed."""
        self.runs = np.zeros(n_algorithms)
        self.total = np.zeros(n_algorithms)
        """Sum of the losses of each algorithm's runs, shape (K,)."""
        self.predictions = NOISE_WEIGHT
        self.squared_errors = NOISE * NOISE_WEIGHT
        """Of as many predictions; those of algorithms that were removed since are among them."""
        self._learn_population()

    def update(self, algorithm: int, loss: float, weight: float = 1.0) -> None:
        self.squared_errors += weight * (loss - float(self.mean[algorithm])) ** 2
        self.predictions += weight
        self.runs[algorithm] += weight
        self.total[algorithm] += weight * loss
        if self.predictions >= self.due:
            self._learn_population()
        else:
            self._infer()

    def recount(self, algorithms: NDArray[np.int64], losses: Array, weights: Array) -> None:
        """Count only these runs, shapes (n,)."""
        count = len(self.runs)
        self.runs = np.bincount(algorithms, weights, minlength=count).astype(np.float64)
        self.total = np.bincount(algorithms, weights * losses, minlength=count).astype(np.float64)
        self._learn_population()

    def _learn_population(self) -> None:
        self.middle, self.spread = population(self.runs, self.total, self._noise, self.prior_weight)
        self.due = (1.0 + _AGAIN) * self.predictions
        """How many predictions there are when m and tau^2 are learned again."""
        self._infer()

    @property
    def _noise(self) -> float:
        return self.squared_errors / self.predictions

    def _infer(self) -> None:
        self.mean, self.variance = arm_kernels.posterior(
            self.runs, self.total, self.middle, self.spread, self._noise
        )

    def add(self) -> None:
        self.runs, self.total = np.append(self.runs, 0.0), np.append(self.total, 0.0)
        self._learn_population()

    def remove(self, algorithm: int) -> None:
        self.runs, self.total = np.delete(self.runs, algorithm), np.delete(self.total, algorithm)
        self._learn_population()

    def restored(self) -> None:
        expect_finite(runs=self.runs, total=self.total)
        expect((self.runs >= 0.0).all(), "runs: a count is less than 0")
        positive = min(self.predictions, self.squared_errors, self.spread)
        expect(positive > 0.0, "predictions, squared_errors and spread: expected more than 0")
        self._infer()


def population(runs: Array, total: Array, noise: float, prior_weight: float = 1.0) -> tuple[float, float]:
    """Return m and tau^2, learned from `runs` (K,) that cost `total` (K,)."""
    weights = prior_weight * MEAN_WEIGHT, prior_weight * SPREAD_WEIGHT
    return arm_kernels.population(runs, total, noise, MEAN, weights[0], SPREAD, weights[1], _STEPS)


class ResidualLayers(Model):
    """Predicts the bounded loss of K algorithms; the variance is that of their losses on the whole.

    >>> model = ResidualLayers(n_algorithms=2, n_features=1, views=Views(slice(None), slice(None)), seed=0)
    >>> for size in (1.0, 2.0, 3.0, 4.0) * 5:
    ...     model.update(0, np.array([size]), target=1.0 if size > 2.5 else 0.0, weight=1.0)
    >>> easy, hard = (model.predict(np.array([size]))[0] for size in (1.5, 3.5))
    >>> bool(easy[0] < 0.4 < 0.6 < hard[0]), bool(easy[1] == hard[1])  # of the other nothing is known
    (True, True)
    """

    in_bulk: ClassVar[bool] = True
    STATE = ("arms", "ridge", "memory", "trees", "grown_at", "grown", "stream")

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        views: Views,
        seed: int,
        trees: TreeCount = 20,
        min_leaf: Count = 2,
        ridge: Positive = 100.0,
        prior_weight: Positive = 1.0,
        memory: Count = 20_000,
        window: Window = 0,
    ) -> None:
        self.views = views
        self.n_trees = trees
        self.window = window
        """How many of the latest runs count, 0 for all; trees are then grown on these, not on a sample."""
        entries = range(n_features)
        width = len(entries[views.trees])
        self.growth = Growth(candidates=_candidates(n_features, views), min_leaf=min_leaf)
        self.arms = Arms(n_algorithms, prior_weight=prior_weight)
        self.ridge = RidgeBank(
            n_algorithms=n_algorithms, n_features=len(entries[views.linear]), ridge=ridge, window=window
        )
        self.memory = InstanceMemory(
            size=window or memory, n_features=width, n_algorithms=n_algorithms, seed=seed, latest=bool(window)
        )
        self.trees = Trees.leaves(trees, self.arms.mean)
        """In the order of their age, the oldest first."""
        self.grown_at = 0
        """How many runs had been seen when trees were last grown."""
        self.grown = trees
        self.stream = randomness.stream(seed, "trees")
        self._recent: dict[int, tuple[Array, Array]] = {}
        """The latest instances by identity, most of them soon learned, and what the trees say of each."""
        self._latest: tuple[Array, Array] | None = None
        """The latest instance and its prediction, until something is learned."""

    def _by_trees(self, x: Array) -> Array:
        """Return what the trees say, before the ridge, shape (K,)."""
        known = self._recent.get(id(x))
        if known is None:
            if len(self._recent) == RECENT:
                del self._recent[next(iter(self._recent))]
            known = self._recent[id(x)] = x, self.trees.mean(x[self.views.trees])
        return known[1]

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return the expected losses at `x` and the variances of those on the whole, each of shape (K,).

        Without features (`NO_FEATURES`) both are those on the whole.
        """
        if not len(x):
            return self.arms.mean, self.arms.variance
        if self._latest is None or self._latest[0] is not x:
            self._latest = x, self._by_trees(x) + self.ridge.mean(x[self.views.linear])
        return self._latest[1], self.arms.variance

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn a run; in the trees it counts as one, whatever its weight, or as none.

        Without features it teaches what its algorithm costs on the whole, and nothing else.
        """
        if weight <= 0.0:
            self._keep_place(algorithm, 0.0, 0.0)
            return
        if not len(x):
            self.arms.update(algorithm, target, weight)
            self._keep_place(algorithm, target, weight)
            return
        error = target - float(self._by_trees(x)[algorithm])
        self._recent.pop(id(x))
        self._latest = None
        self.ridge.update(algorithm, x[self.views.linear], error, weight)
        self.arms.update(algorithm, target, weight)
        self.memory.put(x[self.views.trees], algorithm, target, weight)
        self._recount()
        if self.memory.runs >= self._due():
            self._grow()

    def update_many(self, x: Array, target: Array) -> None:
        """Learn recorded runs in the arms and the trees, of which there are then as many as there may be.

        The ridge learns nothing from them: it corrects errors on new instances. After nine folds of 21
        scenarios, a ridge that had learned errors on recorded ones cost 0.02 nPAR10. One instance, or runs
        that are few beside those learned before, are learned one by one.
        """
        few = int((~np.isnan(target)).sum()) <= REGROW * self.memory.runs
        if self.window or not x.shape[1] or len(x) == 1 or few:
            super().update_many(x, target)
            return
        for row, algorithm in np.argwhere(~np.isnan(target)).tolist():
            value = float(target[row, algorithm])
            self.arms.update(algorithm, value)
            self.memory.put(x[row, self.views.trees], algorithm, value)
        self._grow(MOST_TREES * self.n_trees)

    def _keep_place(self, algorithm: int, target: float, weight: float) -> None:
        """Count a run that trees cannot be grown on as one of the latest."""
        if self.window:
            nowhere = np.full(self.memory.table().x.shape[1], np.nan)
            self.memory.put(nowhere, algorithm, target if weight > 0.0 else np.nan, weight)
            self._recount()

    def _recount(self) -> None:
        if self.window:
            latest = self.memory.table()
            row, algorithm = np.nonzero(~np.isnan(latest.target))
            self.arms.recount(algorithm, latest.target[row, algorithm], latest.weight[row])

    def _wanted(self) -> int:
        """Return how many trees there should be, never fewer than there are."""
        runs = self.memory.runs if not self.window else self.memory.kept
        return max(self.n_trees * _times(runs), len(self.trees))

    def _due(self) -> float:
        """Return how many runs there must have been for the next trees to be grown again."""
        full = self.memory.seen >= self.memory.size
        if self.window:
            share = REGROW * min(self.grown_at, self.window)
        else:
            share = self.grown_at * (RESAMPLE if full else REGROW * math.sqrt(_times(self.memory.seen)))
        return self.grown_at + share * min(self.grown / self._wanted(), 1.0)

    def _grow(self, n_trees: int | None = None) -> None:
        """Grow the oldest trees again, `n_trees` or as many as take no time worth mentioning."""
        instances = self._with_features()
        n_runs, wanted = int((~np.isnan(instances.target)).sum()), self._wanted()
        self.grown_at = self.memory.runs
        self.grown = min(at_once(n_runs, self.growth), wanted) if n_trees is None else n_trees
        self._forget_predictions()
        if n_runs:
            largest = _times(len(instances.x)) == MOST_TREES
            growth = replace(self.growth, min_leaf=2 * self.growth.min_leaf) if largest else self.growth
            new = grow(instances, self.arms.mean, growth, self.stream, self.grown)
        else:
            new = Trees.leaves(self.grown, self.arms.mean)
        self.trees = new if n_trees is not None else self.trees.renewed(new, wanted)

    def _forget_predictions(self) -> None:
        """Predict again from now on: the trees are others."""
        self._recent.clear()
        self._latest = None

    def _with_features(self) -> InstanceTable:
        """Return the instances that trees can be grown on; a represented one has no missing values."""
        table = self.memory.table()
        known = table.weight > 0.0
        if table.x.shape[1]:
            known &= ~np.isnan(table.x[:, 0])
        return table.at(known)

    def add_features(self, n_features: int, views: Views) -> None:
        """Take instances with features from now on; so far only the arms have learned."""
        self.views = views
        entries = range(n_features)
        self.ridge.add_features(len(entries[views.linear]))
        self.memory.add_features(len(entries[views.trees]))
        self.growth = replace(self.growth, candidates=_candidates(n_features, views))
        self._grow(self._wanted())

    def add(self) -> None:
        """Append an algorithm that is expected to be as good as the others."""
        self.arms.add()
        self.ridge.add()
        self.memory.add()
        self._grow(self._wanted())

    def remove(self, algorithm: int) -> None:
        self.arms.remove(algorithm)
        self.ridge.remove(algorithm)
        self.memory.remove(algorithm)
        self._grow(self._wanted())

    def restored(self) -> None:
        table = self.memory.table()
        expect(
            self.trees.loss.shape[1] == table.target.shape[1] == len(self.arms.runs),
            "trees, memory: other algorithms than the arms",
        )
        inner = self.trees.feature[self.trees.feature >= 0]
        expect_indices(table.x.shape[1], feature=inner)
        expect(0 < self.grown <= MOST_TREES * self.n_trees >= len(self.trees), "trees: too many")
        self._forget_predictions()


def _candidates(n_features: int, views: Views) -> int:
    return max(math.ceil(CANDIDATES * len(range(n_features)[views.trees])), LEAST_CANDIDATES)


def _times(n: int) -> int:
    """Return how many times as many trees there are with so many runs as at first.

    >>> [_times(n) for n in (10, 1999, 2000, 20_000)]
    [1, 1, 2, 5]
    """
    return min(max(n // MORE_TREES, 1), MOST_TREES)
