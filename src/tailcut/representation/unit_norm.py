"""Vectors of Euclidean length 1."""

from __future__ import annotations

import math

import numpy as np

from tailcut.numerics.vectors import squared_length
from tailcut.representation.part import Part
from tailcut.types import Array

_SAFE = (1e-140, 1e140)


class UnitNorm(Part):
    """Scale a vector to unit length; the zero vector stays as it is.

    >>> UnitNorm()(np.array([3e300, 4e300])).tolist()
    [0.6, 0.8]
    >>> UnitNorm()(np.array([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """

    def __call__(self, x: Array) -> Array:
        """Return x / |x|."""
        length = math.sqrt(squared_length(x))
        if not _SAFE[0] < length < _SAFE[1]:  # squares may have over- or underflowed: scale first
            largest = float(np.abs(x).max(initial=0.0))
            if largest == 0.0:
                return x
            x = x / largest
            length = math.sqrt(squared_length(x))
        return x / length
