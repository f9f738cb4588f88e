"""The latest runs: a queue that drops the oldest, and the arithmetic of removing a run from a ridge.

A run leaves a ridge by the rank-one formula that took it in, with its weight negative. That undoes the
update, but not its rounding: where taking in shrinks an error of A^-1, letting go lets it grow again. So an
algorithm's posterior is computed again from the runs in the window, one algorithm at a time, after every so
many runs let go that the average cost per run stays O(d^2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from tailcut.state.stateful import Stateful, expect, expect_finite, expect_indices
from tailcut.types import Array

Record = TypeVar("Record", bound=tuple)  # type: ignore[type-arg]


class SlidingWindow(Stateful, Generic[Record]):
    """A queue of at most `size` records (algorithm, ...), from which the oldest falls out.

    >>> latest: SlidingWindow[tuple[int, str]] = SlidingWindow(2)
    >>> latest.push((0, "x")), latest.push((1, "y")), latest.push((1, "z"))
    (None, None, (0, 'x'))
    >>> latest.remove(0)
    >>> list(latest)
    [(0, 'y'), (0, 'z')]
    """

    STATE = ("records",)
    GROWING = ("records",)

    def __init__(self, size: int) -> None:
        self.size = size
        self._records: deque[Record] = deque()

    @property
    def records(self) -> list[Any]:
        """All records, the oldest first."""
        return [list(record) for record in self._records]

    @records.setter
    def records(self, records: list[Any]) -> None:
        self.replace(tuple(record) for record in records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def push(self, record: Record) -> Record | None:
        """Add a record; return the one that falls out, if any."""
        self._records.append(record)
        return self._records.popleft() if len(self._records) > self.size else None

    def remove(self, algorithm: int) -> None:
        """Drop the records of an algorithm; the numbers behind it move up by one."""
        self.replace((number - (number > algorithm), *rest) for number, *rest in self if number != algorithm)

    def replace(self, records: Iterable[tuple[object, ...]]) -> None:
        """Hold these records instead, oldest first."""
        self._records = deque(records)  # type: ignore[arg-type]


def check_records(window: SlidingWindow[Any], n_algorithms: int, kinds: tuple[type, ...]) -> None:
    """Raise `StateFileError` unless a restored window holds records of these kinds, the algorithm first."""
    expect(len(window) <= window.size, f"records: expected {window.size} at most")
    for record in window:
        fine = tuple(map(type, record)) == kinds  # True is an int, too, but indexes otherwise
        expect(fine and 0 <= record[0] < n_algorithms, f"records: {record!r:.50} is not one")
        expect_finite(records=[float(value) for value in record])


SAFE = 1e-6
"""A run whose leaving would divide by less than this is not subtracted: its algorithm is computed again."""

Kept = tuple[int, Array, float, float]
"""Algorithm, x of shape (d,), target, weight."""


class RidgeWindow(Stateful):
    """The latest `size` runs of a bank of K algorithms, and which algorithm is renewed next."""

    STATE = ("columns", "gone", "turn")
    GROWING = ("columns",)

    def __init__(self, size: int, n_algorithms: int) -> None:
        self.runs: SlidingWindow[Kept] = SlidingWindow(size)
        self.count = [0] * n_algorithms
        """How many of the runs are of each algorithm."""
        self.gone = 0
        """How many runs were let go since the last renewal by turn."""
        self.turn = 0
        """The algorithm that is renewed next."""

    def push(self, run: Kept) -> Kept | None:
        """Take in a run; return the one that drops out, if any."""
        self.count[run[0]] += 1
        oldest = self.runs.push(run)
        if oldest is not None:
            self.count[oldest[0]] -= 1
        return oldest

    def due(self, n_features: int) -> int | None:
        """Count a removed run; return the algorithm to renew now, if any.

        Renewing costs O(n d^2 + d^3) for the n runs of one algorithm. After every max(size / K, d) runs let
        go, that is O(d^2) per run on average.
        """
        self.gone += 1
        n_algorithms = len(self.count)
        if self.gone < max(self.runs.size // n_algorithms, n_features):
            return None
        self.gone, self.turn = 0, (self.turn + 1) % n_algorithms
        return self.turn

    def posterior(self, algorithm: int, ridge: float, n_features: int) -> tuple[Array, Array]:
        """Return A^-1, shape (d, d), and theta, shape (d,), of the runs in the window."""
        own = [run for run in self.runs if run[0] == algorithm]
        x = np.array([run[1] for run in own]).reshape(len(own), n_features)
        weighted = x * np.array([run[3] for run in own])[:, None]
        gram = weighted.T @ x
        gram[np.diag_indices(n_features)] += ridge
        inverse = np.linalg.inv(gram)
        inverse = 0.5 * (inverse + inverse.T)
        return inverse, inverse @ (weighted.T @ np.array([run[2] for run in own]))

    def add(self) -> None:
        """Make room for one more algorithm."""
        self.count.append(0)

    def remove(self, algorithm: int) -> None:
        """Drop the runs of an algorithm."""
        self.runs.remove(algorithm)
        del self.count[algorithm]
        self.turn = 0

    def widen(self, extra: int) -> None:
        """Let the runs have `extra` more features, in front of those known, all 0."""
        nothing = np.zeros(extra)
        self.runs.replace((a, np.concatenate([nothing, x]), target, w) for a, x, target, w in self.runs)

    @property
    def columns(self) -> dict[str, Any]:
        """The runs, oldest first, as one array per field."""
        runs = list(self.runs)
        return {
            "algorithm": np.array([run[0] for run in runs], dtype=np.int64),
            "x": np.array([run[1] for run in runs], dtype=np.float64),
            "target": np.array([run[2] for run in runs], dtype=np.float64),
            "weight": np.array([run[3] for run in runs], dtype=np.float64),
        }

    @columns.setter
    def columns(self, columns: dict[str, Any]) -> None:
        expect_finite(x=columns["x"], target=columns["target"], weight=columns["weight"])
        expect_indices(len(self.count), algorithm=columns["algorithm"])
        expect(
            len(columns["algorithm"]) <= self.runs.size, f"algorithm: expected {self.runs.size} runs at most"
        )
        lists = (columns["algorithm"].tolist(), columns["x"], columns["target"].tolist())
        self.runs.replace(zip(*lists, columns["weight"].tolist(), strict=True))

    def restored(self) -> None:
        """Count the runs of each algorithm."""
        expect_indices(len(self.count), turn=self.turn)
        self.count = [0] * len(self.count)
        for run in self.runs:
            self.count[run[0]] += 1
