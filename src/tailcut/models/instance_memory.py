"""A bounded memory of instances, each with everything known about it.

Runs on the same features are put together: what several algorithms did on one instance is one row. When the
memory is full, a new instance replaces a random one or is dropped, so that after t instances each of them is
kept with probability size / t (Vitter's algorithm R). A memory of the latest runs is different: every run has
a row of its own there, and a new one replaces the oldest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import randomness
from tailcut.state import Stateful, expect, expect_finite
from tailcut.types import Array

_FEWEST = 64
"""Rows there is room for at first; the room is doubled when it is full."""


class InstanceTable(NamedTuple):
    """What n instances were like, and what K algorithms did on them."""

    x: Array
    """Features, shape (n, d)."""
    target: Array
    """What each algorithm cost, nan where it has not run, shape (n, K)."""
    weight: Array
    """How many runs the row counts for, shape (n,); 0: it took its place and taught nothing."""
    joins: NDArray[np.bool_]
    """Whether further runs on the same features are put into this row, shape (n,)."""

    def at(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> InstanceTable:
        """Return the instances in these rows, in their order."""
        return InstanceTable(self.x[rows], self.target[rows], self.weight[rows], self.joins[rows])

    def only(self, chosen: NDArray[np.bool_]) -> InstanceTable:
        """Return the chosen instances alone."""
        return self if chosen.all() else self.at(chosen)


class InstanceMemory(Stateful):
    """At most `size` instances with the runs of K algorithms on each.

    >>> memory = InstanceMemory(size=2, n_features=1, n_algorithms=2, seed=0)
    >>> for x, algorithm in ((7.0, 0), (8.0, 0), (7.0, 1)):
    ...     memory.put(np.array([x]), algorithm, target=0.5)
    >>> memory.table().target.tolist()
    [[0.5, 0.5], [0.5, nan]]
    >>> memory.put(np.array([9.0]), 1, target=0.5)
    >>> len(memory.table().x), memory.seen, memory.runs
    (2, 3, 4)
    """

    STATE = ("filled", "seen", "runs", "oldest", "stream")
    GROWING = ("filled",)

    def __init__(
        self, *, size: int, n_features: int, n_algorithms: int, seed: int, latest: bool = False
    ) -> None:
        self.size = size
        self.latest = latest
        self.oldest = 0
        """The row of the oldest run, where only the latest are kept."""
        self.kept = 0
        self.seen = 0
        """How many instances the kept ones were sampled from."""
        self.runs = 0
        """How many runs there were on them."""
        self._room = _room(min(size, _FEWEST), n_features, n_algorithms)
        self._rows: dict[bytes, int] = {}
        """The latest row with these features: the one that joins further runs."""
        self.stream = randomness.stream(seed, "memory")

    def put(self, x: Array, algorithm: int, target: float, weight: float = 1.0) -> None:
        """Keep a run: with others on the same features, in a row of its own, or not at all."""
        self.runs += 1
        key = b"" if self.latest else x.tobytes()
        row = None if self.latest else self._rows.get(key)
        if row is not None and np.isnan(self._room.target[row, algorithm]):
            self._room.target[row, algorithm] = target
            return
        self.seen += 1
        row = self._free_row()
        if row is not None:
            self._room.x[row] = x
            self._room.target[row, algorithm] = target
            self._room.weight[row] = weight
            if not self.latest:
                self._join_at(key, row)

    def _join_at(self, key: bytes, row: int) -> None:
        """Let this row, instead of an earlier one, collect further runs on its features."""
        earlier = self._rows.get(key)
        if earlier is not None:
            self._room.joins[earlier] = False
        self._room.joins[row] = True
        self._rows[key] = row

    def _free_row(self) -> int | None:
        """Return the empty row where the next instance goes; None: nowhere."""
        if self.kept < self.size:
            if self.kept == len(self._room.x):
                self._make_room(min(2 * self.kept, self.size))
            self.kept += 1
            return self.kept - 1
        if self.latest:
            row, self.oldest = self.oldest, (self.oldest + 1) % self.size
        else:
            row = int(self.stream.integers(self.seen))
            if row >= self.size:
                return None
        self._forget_row(row)
        return row

    def _forget_row(self, row: int) -> None:
        key = self._room.x[row].tobytes()
        if self._rows.get(key) == row:
            del self._rows[key]
        self._room.target[row] = np.nan
        self._room.joins[row] = False

    def _make_room(self, size: int) -> None:
        kept = self.table()
        self._room = _room(size, kept.x.shape[1], kept.target.shape[1])
        self._fill(kept)

    def _fill(self, table: InstanceTable) -> None:
        self.kept = len(table.x)
        for room, values in zip(self._room, table, strict=True):
            room[: self.kept] = values

    def _replace(self, table: InstanceTable) -> None:
        """Hold these instances and nothing else."""
        self._room = _room(
            max(len(table.x), min(self.size, _FEWEST)), table.x.shape[1], table.target.shape[1]
        )
        self._fill(table)
        self._index()

    def _index(self) -> None:
        kept = self.table()
        self._rows = {kept.x[row].tobytes(): row for row in np.flatnonzero(kept.joins).tolist()}

    def table(self) -> InstanceTable:
        """Return the instances kept: views, not copies."""
        return self._room.at(slice(self.kept))

    def add(self) -> None:
        kept = self.table()
        nothing = np.full((len(kept.x), 1), np.nan)
        self._replace(kept._replace(target=np.hstack([kept.target, nothing])))

    def remove(self, algorithm: int) -> None:
        """Drop an algorithm, and the instances that only it has run on."""
        order = np.roll(np.arange(self.kept), -self.oldest)
        self.oldest = 0
        table = self.table().at(order)
        ran = ~np.isnan(table.target)
        only_it = ran[:, algorithm] & (ran.sum(axis=1) == 1)
        table = table._replace(target=np.delete(table.target, algorithm, axis=1)).only(~only_it)
        self.seen = round(self.seen * len(table.x) / max(self.kept, 1))
        self.runs = min(self.runs, int((~np.isnan(table.target)).sum()))
        self._replace(table)

    def add_features(self, n_features: int) -> None:
        """Let instances have this many features; of those kept none are known: nan."""
        kept = self.table()
        unknown = np.full((len(kept.x), n_features), np.nan)
        self._replace(kept._replace(x=unknown, joins=np.zeros(len(kept.x), dtype=np.bool_)))

    @property
    def filled(self) -> dict[str, Any]:
        return self.table()._asdict()

    @filled.setter
    def filled(self, saved: dict[str, Any]) -> None:
        expect(saved.keys() == set(InstanceTable._fields), "filled: expected a table of instances")
        expect(all(isinstance(values, np.ndarray) for values in saved.values()), "filled: expected arrays")
        table = InstanceTable(**saved)
        for name, room, values in zip(InstanceTable._fields, self._room, table, strict=True):
            same = values.dtype == room.dtype and values.shape[1:] == room.shape[1:]
            expect(
                same and len(values) == len(table.x) <= self.size,
                f"{name}: expected {self.size} instances at most",
            )
        expect_finite(x=np.nan_to_num(table.x), target=np.nan_to_num(table.target), weight=table.weight)
        self._replace(table)
        expect(len(self._rows) == int(table.joins.sum()), "joins: two rows of the same features")
        expect(not (self.latest and self._rows), "joins: a run has a row of its own here")

    def restored(self) -> None:
        expect(self.kept <= self.seen and self.oldest < max(self.size, 1), "seen: fewer than are kept")
        expect(self.runs >= 0, "runs: less than 0")


def _room(size: int, n_features: int, n_algorithms: int) -> InstanceTable:
    return InstanceTable(
        np.zeros((size, n_features)),
        np.full((size, n_algorithms), np.nan),
        np.zeros(size),
        np.zeros(size, dtype=np.bool_),
    )
