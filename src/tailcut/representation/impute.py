"""Missing values become the mean of the values seen so far."""

from __future__ import annotations

import numpy as np

from tailcut.numerics.representation_kernels import impute
from tailcut.numerics.vectors import LARGEST
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
        """Return `x` with its gaps filled by the means so far."""
        return impute(x, self.seen, self.total, LARGEST, learn=True)

    def peek(self, x: Array) -> Array:
        """Return `x` with its gaps filled by the current means."""
        return impute(x, self.seen, self.total, LARGEST, learn=False)
