"""Missing values become the mean of the values seen so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics.representation_kernels import count
from tailcut.numerics.vectors import LARGEST, ordinary
from tailcut.representation.part import Part
from tailcut.state.stateful import expect_finite
from tailcut.types import Array


class ImputeMean(Part):
    """Replace nan by the running mean of that feature, and by 0 before its first value.

    >>> impute = ImputeMean()
    >>> _ = impute.start(1)
    >>> [float(impute(np.array([value]))[0]) for value in (np.nan, 2.0, 4.0, np.nan)]
    [0.0, 2.0, 4.0, 3.0]
    """

    STATE = ("seen", "total")

    def start(self, width: int) -> int:
        """Reset; expect vectors of `width` entries."""
        self.seen = np.zeros(width)
        self.total = np.zeros(width)
        return width

    def restored(self) -> None:
        """Check the sums."""
        expect_finite(seen=self.seen, total=self.total)

    def __call__(self, x: Array) -> Array:
        """Return `x` with its gaps filled; means are computed only if there are gaps."""
        if ordinary(x):
            count(x, self.seen, self.total)
            return x
        x = np.clip(x, -LARGEST, LARGEST)
        missing = np.isnan(x)
        self.seen += ~missing
        self.total += np.where(missing, 0.0, x)
        return self._filled(x, missing)

    def peek(self, x: Array) -> Array:
        """Return `x` with its gaps filled by the current means."""
        return x if ordinary(x) else self._filled(np.clip(x, -LARGEST, LARGEST), np.isnan(x))

    def _filled(self, x: Array, missing: NDArray[np.bool_]) -> Array:
        return np.where(missing, self.total / np.maximum(self.seen, 1.0), x)
