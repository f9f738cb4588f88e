"""The same instance twice in one vector: once for linear models and once for trees."""

from __future__ import annotations

import math

from tailcut.numerics.representation_kernels import twofold
from tailcut.numerics.vectors import LARGEST
from tailcut.representation.elementary import MISSING
from tailcut.representation.part import Part, Views
from tailcut.representation.standardise import Standardise
from tailcut.types import Array

INTERCEPT = math.sqrt(100.0 / 3.0)
"""The constant entry: under a ridge of 100, the prior intercept of 0 has the weight of three runs."""


class Twofold(Part):
    """Standardised features and an intercept, followed by the features as they are.

    Trees only test whether a value is below a threshold. Running standardisation would change the meaning of
    a threshold during the stream, and hide which values are missing; for them these are marked (`MISSING`).

    >>> import numpy as np
    >>> part = Twofold()
    >>> part.start(2), part.views()
    (5, Views(linear=slice(0, 3, None), trees=slice(3, 5, None)))
    >>> part(np.array([2.0, np.nan])).round(1).tolist()
    [0.0, 0.0, 5.8, 2.0, -10.0]
    """

    STATE = ("standardise",)

    def __init__(self) -> None:
        self.standardise = Standardise()

    def start(self, width: int) -> int:
        """Return the width of the output: each feature twice, and an intercept."""
        self.n_linear = self.standardise.start(width) + 1
        return self.n_linear + width

    def views(self) -> Views:
        """Return the positions of the two parts."""
        width = self.n_linear + len(self.standardise.mean)
        return Views(slice(0, self.n_linear), slice(self.n_linear, width))

    def __call__(self, x: Array) -> Array:
        """Return `x` in both ways."""
        return self._both(x, learn=True)

    def peek(self, x: Array) -> Array:
        """Return `x` in both ways, learning nothing."""
        return self._both(x, learn=False)

    def _both(self, x: Array, *, learn: bool) -> Array:
        own = self.standardise
        return twofold(
            x, own.seen, own.mean, own.squares, own.clip, own.scale, LARGEST, learn, INTERCEPT, MISSING
        )
