"""Past instances that are like a new one, each with what is known of all algorithms on it.

Trees are grown on the features, as for one pick (`tailcut.models.growing`); the more often an instance shares
a leaf with a new one, and the fewer others do, the more it is like it. A new instance may then do what one of
these did: each is a class of its own beside the classes of hardness, with its own survival curves. Where
algorithms fail together, and which one solves what another does not, is in these rows and nowhere else.

How far to trust them is learned: how likely each outcome was by the neighbours, and how likely without them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.models.growing import Growth, grow_apart
from tailcut.models.instance_memory import InstanceTable
from tailcut.models.trees import Grown, Trees
from tailcut.numerics import randomness
from tailcut.numerics.tree_kernels import share_leaves
from tailcut.state.stateful import Stateful, expect, expect_finite, expect_indices
from tailcut.types import Array

TREES = 50
"""How many trees say who is near."""
NEAREST = 32
"""How many instances are looked at; the rest of the weight counts for none."""
REGROW = 0.15
"""Trees are grown again when there are more instances by this share."""
CANDIDATES, LEAST_CANDIDATES = 0.3, 3
"""Splits that a node considers, as a share of the features, and at least so many."""
DOUBT = 0.1
"""How likely it is that a run does not end as it did on the neighbour, interval by interval."""
TRUST, DISTRUST = 1.0, 10.0
"""How many runs it counts for, at first, that neighbours told, and that they did not."""


class PastRuns(NamedTuple):
    """What K algorithms did on n instances, times as fractions of the cutoff."""

    x: Array
    """Features as trees see them, shape (n, d)."""
    end: Array
    """When the longest run of each ended, 0 where there was none, shape (n, K)."""
    solved: NDArray[np.bool_]
    """Whether it had solved the instance, shape (n, K)."""
    hardness: Array
    """What is thought of the log-odds of all algorithms on it, beyond its features, shape (n,)."""

    def first(self, count: int) -> PastRuns:
        """Return the first so many instances: views, not copies."""
        return PastRuns(self.x[:count], self.end[:count], self.solved[:count], self.hardness[:count])


class Near(NamedTuple):
    """The instances most like a new one."""

    rows: NDArray[np.intp]
    weight: Array
    """How much each is like it; sums to 1, shape (m,)."""


class Neighbours(Stateful):
    """At most `size` past instances, a sample of all, and a forest that says which are near."""

    STATE = ("filled", "seen", "grown_at", "forest", "spans", "members", "trusted", "distrusted", "stream")
    GROWING = ("filled", "forest", "spans", "members")

    def __init__(self, *, size: int, n_algorithms: int, n_features: int, seed: int) -> None:
        self.size = size
        self.seen = self.kept = self.grown_at = 0
        self._room = _room(64, n_features, n_algorithms)
        self._rows: dict[bytes, int] = {}
        self._set_nothing()
        self.trusted, self.distrusted = TRUST, DISTRUST
        self.stream = randomness.stream(seed, "neighbours")

    def _set_nothing(self) -> None:
        """Have no trees yet."""
        self.forest = Trees.leaves(1, np.zeros(self._room.end.shape[1]))
        self.spans = np.zeros((0, 2), dtype=np.int32)
        """Where the instances of each leaf are among the members of its tree, shape (leaves, 2)."""
        self.members = np.zeros((0, 0), dtype=np.int32)
        """The rows that each tree was grown on, leaf by leaf, shape (T, n); none if there are no trees."""

    @property
    def grown(self) -> bool:
        """Whether there are trees."""
        return self.members.size > 0

    @property
    def trust(self) -> float:
        """The weight of the neighbours against the classes of hardness."""
        return self.trusted / (self.trusted + self.distrusted) if self.grown else 0.0

    def runs(self) -> PastRuns:
        """Return the instances kept: views, not copies."""
        return self._room.first(self.kept)

    def near(self, x: Array) -> Near:
        """Return the instances most like `x`, itself excepted."""
        if not self.grown:
            return Near(np.zeros(0, dtype=np.intp), np.zeros(0))
        weight = np.zeros(self.members.shape[1])
        share_leaves(self.forest.reached(x), self.spans, self.members, weight)
        own = self._rows.get(x.tobytes())
        if own is not None and own < len(weight):
            weight[own] = 0.0
        rows = np.argsort(-weight, kind="stable")[:NEAREST]
        rows = rows[weight[rows] > 0.0]
        return Near(rows, weight[rows] / max(weight[rows].sum(), 1e-300))

    def odds(self, near: Near, base: Array, cuts: Array) -> Array:
        """Return the log-odds of a solution in each interval if the instance is like each of those near.

        `base` (K, J) is what is expected without them, `cuts` (J,) the ends of the intervals as fractions of
        the cutoff; shape (K, J, m).
        """
        runs = self.runs()
        end, solved = runs.end[near.rows].T, runs.solved[near.rows].T  # (K, m)
        odds = base[:, :, None] + runs.hardness[near.rows]
        # Before its end a run did not solve the instance, in the interval of its end it may have.
        last = np.searchsorted(cuts, end)  # (K, m)
        interval = np.arange(len(cuts))[:, None]
        odds = np.where(interval < last[:, None], np.log(DOUBT) + np.minimum(odds, 0.0), odds)
        there = solved[:, None] & (interval == last[:, None])
        return np.where(
            there, -np.log(DOUBT), np.where(solved[:, None] & (interval > last[:, None]), 0.0, odds)
        )

    def weigh(self, with_them: float, without: float) -> None:
        """Take note of how likely an outcome was by the neighbours and without them."""
        trust = self.trust
        total = trust * with_them + (1.0 - trust) * without
        if self.grown and total > 0.0:
            share = trust * with_them / total
            self.trusted, self.distrusted = self.trusted + share, self.distrusted + 1.0 - share

    def put(self, x: Array, algorithm: int, end: float, solved: bool, hardness: float) -> None:
        """Take in a run that ended at a fraction of the cutoff, beside others on the same features."""
        row = self._rows.get(x.tobytes())
        if row is None:
            row = self._free_row()
            if row is None:
                return
            self._take(row, x)
        room = self._room
        if solved or (end > room.end[row, algorithm] and not room.solved[row, algorithm]):
            room.end[row, algorithm], room.solved[row, algorithm] = end, solved
        room.hardness[row] = hardness

    def failed_for(self, x: Array, algorithm: int) -> float:
        """Return how long an algorithm has run on this instance unsuccessfully, as a share of the cutoff."""
        row = self._rows.get(x.tobytes())
        if row is None or self._room.solved[row, algorithm]:
            return 0.0
        return float(self._room.end[row, algorithm])

    def _free_row(self) -> int | None:
        self.seen += 1
        if self.kept < self.size:
            if self.kept == len(self._room.x):
                self._replace(self.runs(), min(2 * self.kept, self.size))
            self.kept += 1
            return self.kept - 1
        row = int(self.stream.integers(self.seen))
        return row if row < self.size else None

    def _take(self, row: int, x: Array) -> None:
        before = self._room.x[row].tobytes()
        if self._rows.get(before) == row:
            del self._rows[before]
        self._room.x[row] = x
        self._room.end[row], self._room.solved[row] = 0.0, False
        self._rows[x.tobytes()] = row

    def _replace(self, runs: PastRuns, size: int) -> None:
        self._room = _room(max(size, 64), runs.x.shape[1], runs.end.shape[1])
        self.kept = len(runs.x)
        for room, values in zip(self._room, runs, strict=True):
            room[: self.kept] = values
        self._rows = {runs.x[i].tobytes(): i for i in range(self.kept)}

    @property
    def due(self) -> bool:
        """Whether the trees should be grown again."""
        return self.seen >= max(self.grown_at * (1.0 + REGROW), 5)

    def grow(self, loss: Array) -> None:
        """Grow the trees again, on what each run cost, (n, K), nan where there was none."""
        runs = self.runs()
        self.grown_at = self.seen
        n_features = runs.x.shape[1]
        if not n_features or not len(runs.x):
            self._set_nothing()
            return
        growth = Growth(candidates=max(int(np.ceil(CANDIDATES * n_features)), LEAST_CANDIDATES))
        root = np.nan_to_num(np.nanmean(np.vstack([loss, np.full(loss.shape[1], 0.5)]), axis=0), nan=0.5)
        table = InstanceTable(runs.x, loss, np.ones(len(loss)), np.zeros(len(loss), dtype=np.bool_))
        self._set(grow_apart(table, root, growth, self.stream, TREES))

    def _set(self, grown: list[Grown]) -> None:
        self.forest = Trees.joined(grown)
        self.spans = np.concatenate([spans for *_, spans, _ in grown])
        self.members = np.array([members for *_, members in grown])

    def add(self) -> None:
        """Make room for one more algorithm."""
        runs = self.runs()
        nothing = np.zeros((len(runs.x), 1))
        end, solved = np.hstack([runs.end, nothing]), np.hstack([runs.solved, nothing > 0.0])
        self._replace(runs._replace(end=end, solved=solved), len(self._room.x))

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm."""
        runs = self.runs()
        end, solved = np.delete(runs.end, algorithm, axis=1), np.delete(runs.solved, algorithm, axis=1)
        self._replace(runs._replace(end=end, solved=solved), len(self._room.x))

    def widen(self, n_features: int) -> None:
        """Let instances have this many features: those kept have none of them, and are forgotten."""
        self._replace(_room(1, n_features, self._room.end.shape[1]).first(0), 64)
        self.seen = self.grown_at = 0
        self._set_nothing()

    @property
    def filled(self) -> dict[str, Any]:
        """The instances kept, as one array per field."""
        return self.runs()._asdict()

    @filled.setter
    def filled(self, saved: dict[str, Any]) -> None:
        expect(saved.keys() == set(PastRuns._fields), "filled: expected past runs")
        expect(all(isinstance(values, np.ndarray) for values in saved.values()), "filled: expected arrays")
        runs = PastRuns(**saved)
        for name, room, values in zip(PastRuns._fields, self._room, runs, strict=True):
            same = values.dtype == room.dtype and values.shape[1:] == room.shape[1:]
            expect(same and len(values) == len(runs.x) <= self.size, f"{name}: of another shape")
        expect_finite(end=runs.end, hardness=runs.hardness, x=runs.x)
        self._replace(runs, len(runs.x))
        expect(len(self._rows) == self.kept, "x: two rows of the same features")

    def restored(self) -> None:
        """Check that the trees are of these instances."""
        expect(self.kept <= self.seen, "seen: fewer than are kept")
        expect_finite(trusted=self.trusted, distrusted=self.distrusted)
        expect(min(self.trusted, self.distrusted) > 0.0, "trusted, distrusted: expected more than 0")
        if not self.grown:
            return
        expect(self.members.shape[0] == len(self.forest), "members: not one row per tree")
        # Who is near is added up by compiled code that checks nothing.
        among = np.arange(self.members.shape[1])
        expect(len(among) <= self.kept, "members: more than are kept")
        expect((np.sort(self.members, axis=1) == among).all(), "members: not each instance once per tree")
        expect(self.spans.shape == (len(self.forest.loss), 2), "spans: not one per leaf")
        low, high = self.spans[:, 0], self.spans[:, 1]
        fits = (low >= 0) & (low < high) & (high <= self.members.shape[1])
        expect(bool(fits.all()), "spans: outside the members")
        inner = self.forest.feature[self.forest.feature >= 0]
        expect_indices(max(self._room.x.shape[1], 1), feature=inner)


def _room(size: int, n_features: int, n_algorithms: int) -> PastRuns:
    shape = (size, n_algorithms)
    return PastRuns(np.zeros((size, n_features)), np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(size))


def expected_losses(runs: PastRuns, solved_share: float) -> Array:
    """Return what each run cost, between 0 and 1, nan where there was none, shape (n, K).

    A timeout is 1, a solved run at most `solved_share`, by its log-runtime. A run that was stopped early
    costs what those that took longer cost on average, whoever made them.
    """
    done = runs.solved | (runs.end >= 1.0)
    value = solved_share * np.log1p(99.0 * np.minimum(runs.end, 1.0)) / np.log(100.0)
    loss = np.where(runs.solved, value, 1.0)
    ends = np.where(done, np.where(runs.solved, runs.end, np.inf), -1.0)
    order = np.argsort(ends[done])
    sorted_ends, sorted_loss = ends[done][order], loss[done][order]
    later = np.concatenate([np.cumsum(sorted_loss[::-1])[::-1], [0.0]])
    place = np.searchsorted(sorted_ends, runs.end, side="right")
    count = len(sorted_ends) - place
    imputed = (later[place] + 1.0) / (count + 1.0)
    return np.where(done, loss, np.where(runs.end > 0.0, imputed, np.nan))
