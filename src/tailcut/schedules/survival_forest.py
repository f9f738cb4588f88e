"""A survival forest: how features shift the log-odds of a solution, and which instances are similar.

It keeps instances with all that is known about every algorithm on each, and grows trees on their features.
Every run has a slope g and a curvature h: those of its log-likelihood with respect to a shift of its
algorithm's log-odds, given that the runs before it on the same instance had failed or, if it was recorded,
given all others (docs/background/tailcut-schedule.md). A node moves the shift of an algorithm by
sum (g - h shift) / (sum h + w) from that of its parent, and a split is worth the sum over both sides and all
algorithms of (sum (g - h shift))^2 / (sum h + w): the trees of `tailcut.models.trees`, with target g / h and
weight h. The forest says three things of a new instance:

    shift    what to add to the log-odds of each algorithm
    classes  how hard it may be: as hard as the instances that are like it
    odds     what to expect if it is like one of them, with all that is known of that one

Only the last shows which algorithms fail together. How far to trust it is learned from how likely each
outcome was with and without it. A past instance counts by the share of the algorithms that ran there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.models.instance_memory import InstanceRows
from tailcut.models.trees import Growth, Trees, grow_weighted
from tailcut.numerics import randomness
from tailcut.numerics.survival_kernels import keep_run, odds_by_class, past_classes, share_paths, slopes
from tailcut.schedules.hazards import Hardness
from tailcut.state import expect, expect_finite, expect_indices
from tailcut.types import Array

TREES, MORE_TREES, MOST_TREES = 25, 2500, 4
"""How many there are at first; with every so many runs as many again, up to so many times as many: with few
runs more trees say nothing new, with many they do."""
NEAREST = 64
"""How many instances are looked at; the rest of the weight counts for none."""
REGROW = 0.25
"""Trees are grown again when there are more instances by this share."""
LEAST_CANDIDATES = 3
"""A node considers as many splits as the root of the number of features, and at least so many."""
SHRINKAGE = 1.5
"""The curvature that it counts for that an algorithm does as well in a node as in the one above: w."""
LEAST_CURVATURE = 0.02
"""A run teaches at least so much: the curvature of a mixture may vanish or be negative."""
ALIKE = 3.0
"""How many instances it counts for, in a node, that a new one is like those of the node above."""
LARGEST = 64
"""Nodes with more instances hardly contribute to similarity."""
SCALE = 0.3
"""An algorithm takes as long as on an instance alike, up to a factor, logistic in log-time, of this scale."""
DOUBT = 0.05
"""The probability that a run is unrelated to that instance."""
TAIL = 2.0
"""How much longer a run would have taken that was stopped, in log-time, on average."""
LEAST_CLASS = 0.002
"""A past instance that the new one is like with less probability is left out: it takes as much time to plan
for as any other, and hardly changes the plan."""
LOCAL = 10.0
"""The weight, in similar instances, of the overall frequencies of the classes."""
TRUST, DISTRUST = 1.0, 10.0
"""The prior weights, in runs, of predictions with and without similar instances."""


class PastRuns(NamedTuple):
    """What K algorithms did on n instances, times as fractions of the cutoff."""

    x: Array
    """Features as trees see them, shape (n, d)."""
    end: Array
    """When the longest run of each ended, 0 where there was none, shape (n, K)."""
    solved: NDArray[np.bool_]
    """Whether it had solved the instance, shape (n, K)."""
    order: NDArray[np.int32]
    """Number of that run among those made on the instance, from 1; 0 if it was recorded, shape (n, K)."""
    classes: Array
    """How likely the instance is of each class of hardness, shape (n, M)."""


class Near(NamedTuple):
    """The instances most similar to a new one."""

    rows: NDArray[np.int64]
    weight: Array
    """The similarity of each; sums to 1, shape (m,)."""


NOTHING_NEAR = Near(np.zeros(0, dtype=np.int64), np.zeros(0))
"""No similar instances are known."""


class SurvivalForest(InstanceRows[PastRuns]):
    """At most `size` past instances, a sample of all, and the trees grown on them."""

    STATE = ("filled", "seen", "grown_at", "forest", "spans", "members", "trusted", "distrusted", "stream")
    GROWING = (*InstanceRows.GROWING, "forest", "spans", "members")

    def __init__(
        self,
        *,
        size: int,
        n_algorithms: int,
        n_features: int,
        hardness: Hardness,
        seed: int,
        latest: bool = False,
    ) -> None:
        nothing = _no_runs(n_features, n_algorithms, len(hardness.shift))
        stream = randomness.stream(seed, "survival forest")
        super().__init__(nothing, size=size, latest=latest, stream=stream)
        self.hardness = hardness
        """The classes; the owner of this forest learns and saves them."""
        self.grown_at = 0
        self._set_nothing()
        self.trusted, self.distrusted = TRUST, DISTRUST

    def _set_nothing(self) -> None:
        self._latest: tuple[bytes, Near] | None = None
        """The latest instance looked at, and those near it, until that may have changed."""
        self.forest = Trees.leaves(1, np.zeros(self._room.end.shape[1]))
        self.spans = np.zeros((0, 2), dtype=np.int32)
        """Where the instances of each node are among the members of its tree, shape (nodes, 2)."""
        self.members = np.zeros((0, 0), dtype=np.int32)
        """The rows that each tree was grown on, leaf by leaf, shape (T, n); none if there are no trees."""

    @property
    def grown(self) -> bool:
        return self.members.size > 0

    @property
    def trust(self) -> float:
        """The weight of similar instances relative to the classes of hardness."""
        return self.trusted / (self.trusted + self.distrusted) if self.grown else 0.0

    def shift(self, x: Array) -> Array:
        """Return what to add to the log-odds of each algorithm on `x`, shape (K,); without features, 0."""
        return self.forest.mean(x) if self.grown and len(x) else np.zeros(self._room.end.shape[1])

    def near(self, x: Array) -> Near:
        """Return the instances most similar to `x`, except itself; without features, none."""
        if not self.grown or not len(x):
            return NOTHING_NEAR
        key = x.tobytes()
        if self._latest is None or self._latest[0] != key:
            self._latest = key, self._nearest(x)
        return self._latest[1]

    def _nearest(self, x: Array) -> Near:
        weight = np.zeros(self.members.shape[1])
        row = np.ascontiguousarray(x)
        share_paths(*self.forest.nodes, self.spans, self.members, row, ALIKE, LARGEST, weight)
        own = self._rows.get(x.tobytes())
        if own is not None and own < len(weight):
            weight[own] = 0.0
        if self.latest and len(weight) == self.size:  # newer instances in the rows of those that trees know
            weight[np.arange(self.grown_at, self.seen) % self.size] = 0.0
        rows = np.flatnonzero(weight)
        if len(rows) > NEAREST:
            rows = np.sort(rows[np.argpartition(-weight[rows], NEAREST)[:NEAREST]])
        weight = weight[rows]
        return Near(rows, weight / max(float(weight.sum()), 1e-300))

    def alike(self, near: Near) -> tuple[NDArray[np.int64], Array]:
        """Return which past instances are classes of their own, and how likely each is, shape (m,) each.

        A past instance counts by how similar it is, by the trust in similar ones, and by the share of
        algorithms that are known there.
        """
        return past_classes(self._room.end, near.rows, near.weight, self.trust, LEAST_CLASS)

    def classes(self, near: Near) -> Array:
        """Return how likely an instance that is like those near is of each class of hardness, shape (M,)."""
        everywhere = self.hardness.frequencies()
        if not len(near.rows):
            return everywhere
        alike = 1.0 / float(near.weight @ near.weight)
        share = alike / (alike + LOCAL)
        return np.asarray(share * (near.weight @ self._room.classes[near.rows]) + (1.0 - share) * everywhere)

    def odds(self, rows: NDArray[np.int64], base: Array, cuts: Array) -> Array:
        """Return the log-odds of a solution in each interval and class, shape (K, J, M + m).

        First those of the M classes of hardness, then those if the instance is like each of these `rows`.
        `base` (K, J) is what is expected without them, `cuts` (J,) the ends of the intervals as fractions of
        the cutoff. An algorithm that solved the other instance takes as long here, up to a factor; one that
        was stopped there takes longer than that, up to a factor; for one that did not run, `base` applies,
        with the hardness of that instance.
        """
        shift, end, solved = self.hardness.shift, self._room.end, self._room.solved.view(np.uint8)
        hardness = self._room.classes[rows] @ shift
        return odds_by_class(base, shift, end, solved, hardness, rows, cuts, SCALE, DOUBT, TAIL)

    def weigh(self, with_them: float, without: float) -> None:
        """Record how likely an outcome was with similar instances and without them."""
        trust = self.trust
        total = trust * with_them + (1.0 - trust) * without
        if self.grown and total > 0.0:
            share = trust * with_them / total
            self.trusted, self.distrusted = self.trusted + share, self.distrusted + 1.0 - share

    def forget(self, share: float) -> None:
        """Let what was learned about the trust in similar instances count less, by this share."""
        self.trusted += share * (TRUST - self.trusted)
        self.distrusted += share * (DISTRUST - self.distrusted)

    def put(
        self,
        x: Array,
        algorithm: int,
        end: float,
        solved: bool,
        classes: Array,
        *,
        recorded: bool = False,
        first: bool = True,
    ) -> None:
        """Take in a run that ended at a fraction of the cutoff, beside others on the same features.

        A recorded run was made whatever the others did; any other because those before it had failed. Only
        the `first` run on an instance may let it in: later ones on an instance that was not kept say nothing.
        If the latest instances are kept, it replaces an earlier one with the same features.
        """
        row = self._rows.get(x.tobytes())
        if row is None and not first:
            return
        if row is None or (first and self.latest and not recorded):
            row = self._free_row() if row is None else row
            if row is None:
                return
            self._forget_row(row)
            room = self._room
            room.x[row], room.end[row], room.solved[row], room.order[row] = x, 0.0, False, 0
            self._rows[x.tobytes()] = row
            self._latest = None
        room = self._room
        tables = (room.end, room.solved.view(np.uint8), room.order, room.classes)
        keep_run(*tables, row, algorithm, end, solved, recorded, classes)

    def failed_for(self, x: Array, algorithm: int) -> float:
        """Return how long an algorithm has run on this instance unsuccessfully, as a share of the cutoff."""
        row = self._rows.get(x.tobytes())
        if row is None or self._room.solved[row, algorithm]:
            return 0.0
        return float(self._room.end[row, algorithm])

    @property
    def due(self) -> bool:
        """Whether the trees should be grown again."""
        base = min(self.grown_at, self.size) if self.latest else self.grown_at
        return self.seen >= max(self.grown_at + REGROW * base, 5)

    def grow(self, odds: Array, cuts: Array) -> None:
        """Grow the trees again, on what the runs say beyond log-odds (K, J) between the `cuts`."""
        runs = self.table()
        self.grown_at = self.seen
        n_features = runs.x.shape[1]
        if not n_features or not len(runs.x):
            self._set_nothing()
            return
        seen = (odds, runs.end, runs.solved.view(np.uint8), runs.order, cuts)
        classes = (self.hardness.shift, self.hardness.frequencies())
        slope, curvature, runs.classes[:] = slopes(*seen, *classes, LEAST_CURVATURE)
        known = runs.end > 0.0
        target = np.divide(slope, curvature, out=np.full(slope.shape, np.nan), where=known)
        candidates = max(math.ceil(math.sqrt(n_features)), LEAST_CANDIDATES)
        growth = Growth(candidates=candidates, shrinkage=SHRINKAGE)
        n_trees = TREES * min(max(int(known.sum()) // MORE_TREES, 1), MOST_TREES)
        root = np.zeros(runs.end.shape[1])
        self._latest = None
        self.forest, self.spans, self.members = grow_weighted(
            runs.x, target, curvature, root, growth, self.stream, n_trees
        )

    def add(self) -> None:
        runs = self.table()
        nothing = np.zeros((len(runs.x), 1))
        end, solved = np.hstack([runs.end, nothing]), np.hstack([runs.solved, nothing > 0.0])
        order = np.hstack([runs.order, nothing.astype(np.int32)])
        self._hold(runs._replace(end=end, solved=solved, order=order))

    def remove(self, algorithm: int) -> None:
        runs = self.table()
        left = {
            name: np.delete(getattr(runs, name), algorithm, axis=1) for name in ("end", "solved", "order")
        }
        self._hold(runs._replace(**left))

    def add_features(self, n_features: int) -> None:
        """Let instances have this many features: those kept have none of them, and are forgotten."""
        room = self._room
        self._hold(_no_runs(n_features, room.end.shape[1], room.classes.shape[1]))
        self.seen = self.grown_at = 0
        self._set_nothing()

    def restored(self) -> None:
        self._latest = None
        runs = self.table()
        expect_finite(end=runs.end, classes=runs.classes, x=runs.x)
        expect((runs.classes >= 0.0).all(), "classes: a probability is less than 0")
        expect((runs.order[runs.end <= 0.0] == 0).all(), "order: of a run that was not made")
        expect(len(self._rows) == self.kept, "x: two rows of the same features")
        expect(self.kept <= self.seen, "seen: fewer than are kept")
        expect_finite(trusted=self.trusted, distrusted=self.distrusted)
        expect(min(self.trusted, self.distrusted) > 0.0, "trusted, distrusted: expected more than 0")
        expect(self.forest.loss.shape[1] == self._room.end.shape[1], "forest: of other algorithms")
        if not self.grown:
            return
        expect(self.members.shape[0] == len(self.forest), "members: not one row per tree")
        # Compiled code without bounds checks sums up similarities.
        among = np.arange(self.members.shape[1])
        expect(len(among) <= self.kept, "members: more than are kept")
        expect((np.sort(self.members, axis=1) == among).all(), "members: not each instance once per tree")
        expect(self.spans.shape == (len(self.forest.feature), 2), "spans: not one per node")
        low, high = self.spans[:, 0], self.spans[:, 1]
        fits = (low >= 0) & (low < high) & (high <= self.members.shape[1])
        expect(bool(fits.all()), "spans: outside the members")
        inner = self.forest.feature[self.forest.feature >= 0]
        expect_indices(max(self._room.x.shape[1], 1), feature=inner)


def _no_runs(n_features: int, n_algorithms: int, n_classes: int) -> PastRuns:
    runs = (0, n_algorithms)
    return PastRuns(
        np.zeros((0, n_features)),
        np.zeros(runs),
        np.zeros(runs, np.bool_),
        np.zeros(runs, np.int32),
        np.zeros((0, n_classes)),
    )
