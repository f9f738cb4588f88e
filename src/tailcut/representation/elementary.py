"""Steps without memory: ignore all, squash, mark missing values, append a constant, scale to length 1."""

from __future__ import annotations

import numpy as np

from tailcut.numerics.representation_kernels import appended, signed_log, unit_norm
from tailcut.numerics.vectors import ordinary
from tailcut.representation.part import Part
from tailcut.types import Array


class Ignore(Part):
    """Turn every vector into the empty one.

    >>> Ignore()(np.array([1.0, np.nan])).tolist()
    []
    """

    def start(self, width: int) -> int:  # noqa: ARG002
        """Return 0: the output is empty for any input."""
        return 0

    def __call__(self, x: Array) -> Array:
        """Return the empty vector."""
        return np.empty(0, dtype=x.dtype)


class SignedLog(Part):
    """Squash each feature logarithmically, keeping its sign; nan stays nan.

    >>> SignedLog()(np.array([0.0, 1e300, -1e300])).round(1).tolist()
    [0.0, 690.8, -690.8]
    """

    def __call__(self, x: Array) -> Array:
        """Return sign(x) log(1 + |x|)."""
        return signed_log(x)


MISSING = -10.0
"""The value of a missing feature for trees. On a logarithmic scale hardly any feature is that low, so one
threshold separates missing from present values."""


class MarkMissing(Part):
    """Replace missing values by one that a tree can split off.

    >>> MarkMissing()(np.array([2.0, np.nan])).tolist()
    [2.0, -10.0]
    """

    def __call__(self, x: Array) -> Array:
        """Return `x` without nan."""
        return x if ordinary(x) else np.where(np.isnan(x), MISSING, x)


class Intercept(Part):
    """Append the constant `value`.

    It is large, so that a ridge hardly shrinks the intercept: a constant of 10 has the prior deviation of 10
    features.

    >>> Intercept()(np.array([5.0])).tolist()
    [5.0, 10.0]
    """

    def __init__(self, *, value: float = 10.0) -> None:
        self.value = value

    def start(self, width: int) -> int:
        """Return the width of the output: one more than that of the input."""
        return width + 1

    def __call__(self, x: Array) -> Array:
        """Return `x` with the constant appended."""
        return appended(x, self.value)


class UnitNorm(Part):
    """Scale a vector to unit length; the zero vector is unchanged.

    >>> UnitNorm()(np.array([3e300, 4e300])).tolist()
    [0.6, 0.8]
    >>> UnitNorm()(np.array([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """

    def __call__(self, x: Array) -> Array:
        """Return x / |x|."""
        return unit_norm(x)
