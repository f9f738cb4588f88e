"""Telling an ordinary vector from one with gaps or giants, fast."""

from __future__ import annotations

import math

import numpy as np

from tailcut.numerics.representation_kernels import squared_length
from tailcut.types import Array

LARGEST = 1e150
"""Larger feature values count as this, so that their squares and sums stay finite."""

NO_FEATURES: Array = np.empty(0)
"""An instance of which no features were computed, raw or represented: not missing values but none at all."""


def ordinary(x: Array) -> bool:
    """Return whether no entry is missing, infinite, or so large that its square overflows.

    >>> [ordinary(np.array([1.0, value])) for value in (2.0, np.nan, np.inf, 1e300)]
    [True, False, False, False]
    """
    return squared_length(x) < math.inf  # unlike numpy's dot, it does not watch for overflow
