"""Running standardisation: every feature on the same scale, whatever its unit."""

from __future__ import annotations

import math

import numpy as np

from tailcut.numerics.representation_kernels import standardise
from tailcut.numerics.vectors import LARGEST
from tailcut.representation.part import Part
from tailcut.state.stateful import expect, expect_finite
from tailcut.types import Array


class Standardise(Part):
    """Subtract the running mean, divide by the running deviation, clip, and scale to `norm`.

    A missing value becomes 0, the mean, and so does a feature that has not varied yet. All
    entries are multiplied by norm / sqrt(d), so that the vector's length does not depend on the
    number of features.

    >>> part = Standardise(clip=4.0, norm=1.0)
    >>> _ = part.start(1)
    >>> [round(float(part(np.array([value]))[0]), 3) for value in (5.0, 7.0, np.nan, 1e9)]
    [0.0, 1.0, 0.0, 1.414]
    """

    STATE = ("seen", "mean", "squares")

    def __init__(self, *, clip: float = 4.0, norm: float = 4.0) -> None:
        self.clip = clip
        self.norm = norm

    def start(self, width: int) -> int:
        """Reset; expect vectors of `width` entries."""
        self.seen = np.zeros(width)
        self.mean = np.zeros(width)
        self.squares = np.zeros(width)
        self.scale = self.norm / math.sqrt(max(width, 1))
        return width

    def restored(self) -> None:
        """Check the sums."""
        expect_finite(seen=self.seen, mean=self.mean, squares=self.squares)
        expect((self.squares >= 0.0).all(), "squares: a sum of squares is less than 0")

    def __call__(self, x: Array) -> Array:
        """Return `x` standardised by all values seen so far, including itself (Welford's sums)."""
        return standardise(x, self.seen, self.mean, self.squares, self.clip, self.scale, LARGEST, learn=True)

    def peek(self, x: Array) -> Array:
        """Return `x` standardised by the values seen so far."""
        return standardise(x, self.seen, self.mean, self.squares, self.clip, self.scale, LARGEST, learn=False)
