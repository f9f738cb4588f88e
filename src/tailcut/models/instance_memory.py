"""A bounded memory of instances, each with everything known about it.

When the memory is full, a new instance replaces a random one or is dropped, so that after t instances each of
them is kept with probability size / t (Vitter's algorithm R). A memory of the latest is a ring instead: a new
one replaces the oldest.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import randomness
from tailcut.state import Stateful, expect, expect_finite
from tailcut.types import Array

Table = TypeVar("Table", bound=tuple[NDArray[Any], ...])
"""A NamedTuple of arrays with one row per instance, the features first."""
_FEWEST = 64
"""Rows there is room for at first; the room is doubled when it is full."""


class InstanceRows(Stateful, Generic[Table]):
    """At most `size` rows of a table: a random sample of all instances so far, or the latest."""

    GROWING: ClassVar[tuple[str, ...]] = ("filled",)

    def __init__(self, nothing: Table, *, size: int, latest: bool, stream: np.random.Generator) -> None:
        self.size = size
        self.latest = latest
        """Whether the latest instances are kept, in a ring, instead of a sample of all."""
        self.stream = stream
        self.seen = 0
        """How many instances the kept ones were sampled from."""
        self._hold(nothing)

    def table(self) -> Table:
        """Return the instances kept: views, not copies."""
        return type(self._room)(*(values[: self.kept] for values in self._room))

    def _hold(self, table: Table) -> None:
        self.kept = len(table[0])
        self._room = _with_room(table, max(self.kept, min(self.size, _FEWEST)))
        self._rows = self._index()
        """The row that joins further runs on the same features, by these as bytes."""

    def _index(self) -> dict[bytes, int]:
        return {x.tobytes(): row for row, x in enumerate(self.table()[0])}

    def _free_row(self) -> int | None:
        """Return the row for one more instance, empty or taken from another; None if it is not kept."""
        self.seen += 1
        if self.kept < self.size:
            if self.kept == len(self._room[0]):
                self._room = _with_room(self._room, min(2 * self.kept, self.size))
            self.kept += 1
            return self.kept - 1
        if self.latest:
            return self._oldest_row()
        row = int(self.stream.integers(self.seen))
        return row if row < self.size else None

    def _oldest_row(self) -> int:
        return (self.seen - 1) % self.size

    def _forget_row(self, row: int) -> None:
        key = self._room[0][row].tobytes()
        if self._rows.get(key) == row:
            del self._rows[key]

    @property
    def filled(self) -> dict[str, Any]:
        return dict(zip(self._names, self.table(), strict=True))

    @filled.setter
    def filled(self, saved: dict[str, Any]) -> None:
        expect(saved.keys() == set(self._names), "filled: expected a table of instances")
        expect(all(isinstance(values, np.ndarray) for values in saved.values()), "filled: expected arrays")
        count = len(saved[self._names[0]])
        for name, room in zip(self._names, self._room, strict=True):
            values = saved[name]
            same = values.dtype == room.dtype and values.shape[1:] == room.shape[1:]
            expect(
                same and len(values) == count <= self.size, f"{name}: expected {self.size} instances at most"
            )
        self._hold(type(self._room)(**saved))

    @property
    def _names(self) -> tuple[str, ...]:
        names: tuple[str, ...] = type(self._room)._fields  # type: ignore[attr-defined]
        return names


def _with_room(table: Table, size: int) -> Table:
    """Return the table with empty rows behind, `size` rows in all."""
    more = size - len(table[0])
    return type(table)(*(np.concatenate([a, np.zeros((more, *a.shape[1:]), a.dtype)]) for a in table))


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


class InstanceMemory(InstanceRows[InstanceTable]):
    """At most `size` instances with the runs of K algorithms on each.

    Runs on the same features are put together: what several algorithms did on one instance is one row. A
    memory of the latest runs is different: every run has a row of its own there.

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

    def __init__(
        self, *, size: int, n_features: int, n_algorithms: int, seed: int, latest: bool = False
    ) -> None:
        nothing = InstanceTable(
            np.zeros((0, n_features)), np.zeros((0, n_algorithms)), np.zeros(0), np.zeros(0, dtype=np.bool_)
        )
        super().__init__(nothing, size=size, latest=latest, stream=randomness.stream(seed, "memory"))
        self.oldest = 0
        """The row of the oldest run, where only the latest are kept."""
        self.runs = 0
        """How many runs there were on the instances seen."""

    def put(self, x: Array, algorithm: int, target: float, weight: float = 1.0) -> None:
        """Keep a run: with others on the same features, in a row of its own, or not at all."""
        self.runs += 1
        key = b"" if self.latest else x.tobytes()
        row = None if self.latest else self._rows.get(key)
        if row is not None and np.isnan(self._room.target[row, algorithm]):
            self._room.target[row, algorithm] = target
            return
        row = self._free_row()
        if row is not None:
            self._forget_row(row)
            room = self._room
            room.x[row], room.target[row], room.joins[row] = x, np.nan, False
            room.target[row, algorithm] = target
            room.weight[row] = weight
            if not self.latest:  # this row, instead of an earlier one, collects further runs on its features
                room.joins[self._rows.get(key, row)] = False
                room.joins[row] = True
                self._rows[key] = row

    def _index(self) -> dict[bytes, int]:
        kept = self.table()
        return {kept.x[row].tobytes(): row for row in np.flatnonzero(kept.joins).tolist()}

    def _oldest_row(self) -> int:
        row, self.oldest = self.oldest, (self.oldest + 1) % self.size
        return row

    def add(self) -> None:
        kept = self.table()
        nothing = np.full((len(kept.x), 1), np.nan)
        self._hold(kept._replace(target=np.hstack([kept.target, nothing])))

    def remove(self, algorithm: int) -> None:
        """Drop an algorithm, and the instances that only it has run on."""
        order = np.roll(np.arange(self.kept), -self.oldest)
        self.oldest = 0
        table = self.table().at(order)
        ran = ~np.isnan(table.target)
        only_it = ran[:, algorithm] & (ran.sum(axis=1) == 1)
        table = table._replace(target=np.delete(table.target, algorithm, axis=1)).at(~only_it)
        self.seen = round(self.seen * len(table.x) / max(self.kept, 1))
        self.runs = min(self.runs, int((~np.isnan(table.target)).sum()))
        self._hold(table)

    def add_features(self, n_features: int) -> None:
        """Let instances have this many features; of those kept none are known: nan."""
        kept = self.table()
        unknown = np.full((len(kept.x), n_features), np.nan)
        self._hold(kept._replace(x=unknown, joins=np.zeros(len(kept.x), dtype=np.bool_)))

    def restored(self) -> None:
        table = self.table()
        expect_finite(x=np.nan_to_num(table.x), target=np.nan_to_num(table.target), weight=table.weight)
        expect(len(self._rows) == int(table.joins.sum()), "joins: two rows of the same features")
        expect(not (self.latest and self._rows), "joins: a run has a row of its own here")
        expect(self.kept <= self.seen and self.oldest < max(self.size, 1), "seen: fewer than are kept")
        expect(self.runs >= 0, "runs: less than 0")
