"""A bounded memory of runs: a uniform sample of all that were, or the latest, in a fixed number of places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import randomness
from tailcut.types import Array


class Runs(NamedTuple):
    """What n runs were like."""

    x: Array
    """The instances, shape (n, d)."""
    algorithm: NDArray[np.int64]
    """Who ran, shape (n,)."""
    loss: Array
    """What it cost, shape (n,)."""


class Reservoir:
    """At most `size` runs; when it is full, a new one replaces a random one or is passed over.

    After t runs each of them is here with probability size / t (Vitter's algorithm R). With `latest`, a new
    one replaces the oldest instead.

    >>> reservoir = Reservoir(size=2, n_features=1, seed=0)
    >>> for loss in (0.1, 0.2, 0.3, 0.4):
    ...     reservoir.put(np.array([7.0]), algorithm=1, loss=loss)
    >>> len(reservoir.runs().loss), reservoir.seen
    (2, 4)
    """

    def __init__(self, *, size: int, n_features: int, seed: int, latest: bool = False) -> None:
        self.size = size
        self.latest = latest
        self.oldest = 0
        """The place of the oldest run, where only the latest are kept."""
        self.kept = 0
        self.seen = 0
        """How many runs those kept stand for."""
        self.places = Runs(np.zeros((size, n_features)), np.zeros(size, dtype=np.int64), np.zeros(size))
        self.stream = randomness.stream(seed, "reservoir")

    def put(self, x: Array, algorithm: int, loss: float) -> None:
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

    def runs(self) -> Runs:
        """Return the runs kept: views, not copies."""
        x, algorithm, loss = self.places
        return Runs(x[: self.kept], algorithm[: self.kept], loss[: self.kept])

    def forget(self, algorithm: int) -> None:
        """Drop the runs of an algorithm; those behind it move up by one."""
        order = np.roll(np.arange(self.kept), -self.oldest)
        self.oldest = 0
        runs = Runs(*(values[order] for values in self.runs()))  # type: ignore[arg-type]
        others = runs.algorithm != algorithm
        kept = int(others.sum())
        self.seen = round(self.seen * kept / max(self.kept, 1))
        self._fill(Runs(runs.x[others], runs.algorithm[others], runs.loss[others]))
        self.places.algorithm[:kept] -= self.places.algorithm[:kept] > algorithm

    def _fill(self, runs: Runs) -> None:
        self.kept = len(runs.loss)
        for place, values in zip(self.places, runs, strict=True):
            place[: self.kept] = values

    def state(self) -> dict[str, Any]:
        """Return the runs kept, in their places."""
        order = {"oldest": self.oldest} if self.latest else {}
        return {"seen": self.seen, **self.runs()._asdict(), "stream": randomness.dump(self.stream), **order}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue with the runs kept."""
        self.seen, self.oldest = state["seen"], state.get("oldest", 0)
        self._fill(Runs(state["x"], state["algorithm"], state["loss"]))
        self.stream = randomness.restore(state["stream"])
