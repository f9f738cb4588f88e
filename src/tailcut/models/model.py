"""The interface of a model, the window of the latest runs, and two models that ignore features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from tailcut.numerics.ranges import Window
from tailcut.representation import Views
from tailcut.state import Stateful, expect, expect_finite
from tailcut.types import Array

Record = TypeVar("Record", bound=tuple)  # type: ignore[type-arg]
_SAFE = 1e-6
"""A run is not subtracted where it leaves less than this share of its own weight: that would be rounding."""


class Model(Stateful, ABC):
    """A belief about K algorithms, numbered 0 to K-1, for instances of d features."""

    bounded: ClassVar[bool] = True
    """Whether memory and time per step are independent of how many outcomes were learned."""
    needs_features: ClassVar[bool] = False
    """Whether it cannot learn anything without features."""
    learns: ClassVar[bool] = True
    """Whether its predictions mean anything."""
    in_bulk: ClassVar[bool] = False
    """Whether recorded runs are better learned in bulk than one by one."""
    can_be_saved: ClassVar[bool] = True
    """Whether `state` returns all that it has learned; one that cannot says so by an error."""

    @abstractmethod
    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean and variance of the target for all algorithms at `x`, each of shape (K,)."""

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return mean and variance of the target for one algorithm at `x`."""
        mean, variance = self.predict(x)
        return float(mean[algorithm]), float(variance[algorithm])

    @abstractmethod
    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn that `algorithm` had `target` at `x`; `weight` 1 is one full observation, 0 is none.

        A run of weight 0 teaches nothing, but takes its place in a sliding window.
        """

    def update_many(self, x: Array, target: Array) -> None:
        """Learn recorded runs: on the instances `x`, shape (n, d), the targets (n, K), nan where unknown."""
        for row, algorithm in np.argwhere(~np.isnan(target)).tolist():
            self.update(algorithm, x[row], float(target[row, algorithm]), 1.0)

    @abstractmethod
    def add(self) -> None:
        """Make room for one more algorithm, numbered K, of which nothing is known."""

    @abstractmethod
    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""

    @abstractmethod
    def add_features(self, n_features: int, views: Views) -> None:
        """Take instances of this many entries from now on: new ones, 0 in past runs, before those known."""


class SlidingWindow(Stateful, Generic[Record]):
    """A queue of at most `size` records (algorithm, ...), from which the oldest falls out.

    >>> latest: SlidingWindow[tuple[int, str]] = SlidingWindow(2)
    >>> latest.push((0, "x")), latest.push((1, "y")), latest.push((1, "z"))
    (None, None, (0, 'x'))
    >>> latest.remove(0)
    >>> list(latest)
    [(0, 'y'), (0, 'z')]
    """

    STATE: ClassVar[tuple[str, ...]] = ("records",)
    GROWING: ClassVar[tuple[str, ...]] = ("records",)

    def __init__(self, size: int) -> None:
        self.size = size
        self._records: deque[Record] = deque()

    @property
    def records(self) -> list[Any]:
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


_Latest = SlidingWindow[tuple[int, float, float]]


class Nothing(Model):
    """Predicts 0 with variance 1 for every algorithm, whatever happened: for selectors that do not learn.

    >>> Nothing(n_algorithms=2, n_features=3).predict(np.zeros(3))[0].tolist()
    [0.0, 0.0]
    """

    STATE = ("n_algorithms",)
    learns: ClassVar[bool] = False

    def __init__(self, *, n_algorithms: int, n_features: int) -> None:  # noqa: ARG002 - every model is made alike
        self.n_algorithms = n_algorithms

    def predict(self, x: Array) -> tuple[Array, Array]:  # noqa: ARG002
        return np.zeros(self.n_algorithms), np.ones(self.n_algorithms)

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn nothing."""

    def add(self) -> None:
        self.n_algorithms += 1

    def remove(self, algorithm: int) -> None:  # noqa: ARG002
        self.n_algorithms -= 1

    def add_features(self, n_features: int, views: Views) -> None:
        """Change nothing: features are ignored."""


class RunningMeans(Model):
    """One weighted mean per algorithm; 0 before its first outcome.

    >>> means = RunningMeans(n_algorithms=2, n_features=0)
    >>> for seconds in (10.0, 20.0):
    ...     means.update(1, np.array([]), target=seconds, weight=1.0)
    >>> means.predict(np.array([]))[0].tolist()
    [0.0, 15.0]

    With a `window`, only the latest so many runs count, all algorithms together.
    """

    STATE = ("weight", "mean", "recent", "gone")

    def __init__(self, *, n_algorithms: int, n_features: int, window: Window = 0) -> None:  # noqa: ARG002 - every model is made alike
        self.weight = np.zeros(n_algorithms)
        self.mean = np.zeros(n_algorithms)
        self.recent: _Latest | None = SlidingWindow(window) if window else None
        """Algorithm, target and weight of the latest runs, if only those are to count."""
        self.gone = 0
        """How many runs were let go since all means were last computed again."""

    def predict(self, x: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Return the means, and 1 / (1 + weight) as their variance for unit noise; shapes (K,)."""
        return self.mean.copy(), 1.0 / (1.0 + self.weight)

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:  # noqa: ARG002
        """Move the mean towards `target`; `weight` 0 teaches nothing."""
        if weight > 0.0:
            self.weight[algorithm] += weight
            self.mean[algorithm] += weight / self.weight[algorithm] * (target - self.mean[algorithm])
        if self.recent is not None:
            oldest = self.recent.push((algorithm, target, weight))
            if oldest is not None:
                self._let_go(self.recent, *oldest)

    def _let_go(self, recent: _Latest, a: int, target: float, weight: float) -> None:
        """Move the mean of `a` back; now and then compute all again, so that rounding does not pile up."""
        left = self.weight[a] - weight
        self.gone += 1
        if left < _SAFE * weight or self.gone >= recent.size:
            self._renew(recent)
        elif weight > 0.0:
            self.weight[a] = left
            self.mean[a] -= weight / left * (target - self.mean[a])

    def _renew(self, recent: _Latest) -> None:
        sums = np.zeros((2, len(self.mean)))
        for algorithm, target, weight in recent:
            sums[:, algorithm] += weight, weight * target
        self.weight, self.gone = sums[0], 0
        self.mean = np.divide(sums[1], sums[0], out=np.zeros(len(self.mean)), where=sums[0] > 0.0)

    def add(self) -> None:
        self.weight, self.mean = np.append(self.weight, 0.0), np.append(self.mean, 0.0)

    def remove(self, algorithm: int) -> None:
        self.weight, self.mean = np.delete(self.weight, algorithm), np.delete(self.mean, algorithm)
        if self.recent is not None:
            self.recent.remove(algorithm)

    def restored(self) -> None:
        expect_finite(weight=self.weight, mean=self.mean)
        expect((self.weight >= 0.0).all(), "weight: is less than 0")
        if self.recent is not None:
            check_records(self.recent, len(self.mean), (int, float, float))

    def add_features(self, n_features: int, views: Views) -> None:
        """Change nothing: features are ignored."""
