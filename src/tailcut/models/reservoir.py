"""A bounded memory of runs: a uniform sample of all that were, or the latest, in a fixed number of places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import randomness
from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array


class RunTable(NamedTuple):
    """What n runs were like."""

    x: Array
    """The instances, shape (n, d)."""
    algorithm: NDArray[np.int64]
    """Who ran, shape (n,)."""
    loss: Array
    """What it cost, shape (n,)."""
    weight: Array
    """How many runs it counts for, shape (n,); 0: it took its place and taught nothing."""

    def only(self, chosen: NDArray[np.bool_]) -> RunTable:
        """Return the chosen runs alone."""
        return self if chosen.all() else RunTable(*(values[chosen] for values in self))  # type: ignore[arg-type]


class Reservoir(Stateful):
    """At most `size` runs; when it is full, a new one replaces a random one or is passed over.

    After t runs each of them is here with probability size / t (Vitter's algorithm R). With `latest`, a new
    one replaces the oldest instead.

    >>> reservoir = Reservoir(size=2, n_features=1, seed=0)
    >>> for loss in (0.1, 0.2, 0.3, 0.4):
    ...     reservoir.put(np.array([7.0]), algorithm=1, loss=loss)
    >>> len(reservoir.runs().loss), reservoir.seen
    (2, 4)
    """

    STATE = ("filled", "seen", "oldest", "stream")
    GROWING = ("filled",)

    def __init__(self, *, size: int, n_features: int, seed: int, latest: bool = False) -> None:
        self.size = size
        self.latest = latest
        self.oldest = 0
        """The place of the oldest run, where only the latest are kept."""
        self.kept = 0
        self.seen = 0
        """How many runs those kept stand for."""
        self.places = _places(size, n_features)
        self.stream = randomness.stream(seed, "reservoir")

    def put(self, x: Array, algorithm: int, loss: float, weight: float = 1.0) -> None:
        """Keep a run, or not."""
        self.seen += 1
        if self.kept < self.size:
            place = self.kept
            self.kept += 1
        elif self.latest:
            place = self.oldest
            self.oldest = (self.oldest + 1) % self.size
        else:
            place = int(self.stream.integers(self.seen))
        if place < self.size:
            self.places.x[place] = x
            self.places.algorithm[place] = algorithm
            self.places.loss[place] = loss
            self.places.weight[place] = weight

    def runs(self) -> RunTable:
        """Return the runs kept: views, not copies."""
        return RunTable(*(values[: self.kept] for values in self.places))  # type: ignore[arg-type]

    def forget(self, algorithm: int) -> None:
        """Drop the runs of an algorithm; those behind it move up by one."""
        order = np.roll(np.arange(self.kept), -self.oldest)
        self.oldest = 0
        runs = RunTable(*(values[order] for values in self.runs()))  # type: ignore[arg-type]
        others = runs.algorithm != algorithm
        kept = int(others.sum())
        self.seen = round(self.seen * kept / max(self.kept, 1))
        self._fill(runs.only(others))
        self.places.algorithm[:kept] -= self.places.algorithm[:kept] > algorithm

    def _fill(self, runs: RunTable) -> None:
        self.kept = len(runs.loss)
        for place, values in zip(self.places, runs, strict=True):
            place[: self.kept] = values

    def widen(self, n_features: int) -> None:
        """Let instances have this many features; of the runs kept none are known: nan."""
        kept = self.runs()
        self.places = _places(self.size, n_features)
        self._fill(kept._replace(x=np.full((len(kept.loss), n_features), np.nan)))

    @property
    def filled(self) -> dict[str, Any]:
        """The runs kept, in their places, as one array per field."""
        return self.runs()._asdict()

    @filled.setter
    def filled(self, saved: dict[str, Any]) -> None:
        runs = RunTable(**saved)
        for name, place, values in zip(RunTable._fields, self.places, runs, strict=True):
            same = values.dtype == place.dtype and values.shape[1:] == place.shape[1:]
            expect(
                same and len(values) == len(runs.loss) <= self.size,
                f"{name}: expected {self.size} runs at most",
            )
        expect_finite(loss=runs.loss, weight=runs.weight)
        expect(not np.isinf(runs.x).any(), "x: holds a number that is not finite")
        self._fill(runs)

    def restored(self) -> None:
        """Check the counts."""
        expect(self.kept <= self.seen and self.oldest < max(self.size, 1), "seen: fewer runs than are kept")


def _places(size: int, n_features: int) -> RunTable:
    return RunTable(
        np.zeros((size, n_features)), np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size)
    )
