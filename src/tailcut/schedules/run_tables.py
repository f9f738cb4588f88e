"""Runs on past instances, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.policies.policy import RecordedOutcomes
from tailcut.types import Array


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

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All fields, in order."""
        return (self.x, self.end, self.solved, self.order, self.classes)

    def first(self, count: int) -> PastRuns:
        """Return the first so many instances: views, not copies."""
        return PastRuns(*(values[:count] for values in self.arrays))


def empty_room(size: int, n_features: int, n_algorithms: int, n_classes: int) -> PastRuns:
    """Return room for so many instances."""
    shape = (size, n_algorithms)
    return PastRuns(
        np.zeros((size, n_features)),
        np.zeros(shape),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.int32),
        np.zeros((size, n_classes)),
    )


def ended_runs(runs: RecordedOutcomes, row: int) -> Iterator[tuple[int, float, bool]]:
    """Yield algorithm, seconds and whether it was solved, for the known runs of an instance."""
    for algorithm in np.flatnonzero(runs.known[row]).tolist():
        yield algorithm, float(runs.seconds[row, algorithm]), bool(runs.solved[row, algorithm])
