"""A constant entry, so that a linear model has a level of its own."""

from __future__ import annotations

import numpy as np

from tailcut.representation.part import Part
from tailcut.types import Array


class Intercept(Part):
    """Append the constant `value`.

    It is large so that a ridge that holds the features back leaves the level nearly free: a constant of 10
    has the prior deviation of 10 features.

    >>> Intercept()(np.array([5.0])).tolist()
    [5.0, 10.0]
    """

    def __init__(self, *, value: float = 10.0) -> None:
        self.value = value

    def start(self, width: int) -> int:
        """One entry more comes out than goes in."""
        return width + 1

    def __call__(self, x: Array) -> Array:
        """Return `x` with the constant behind it."""
        return np.append(x, self.value)
