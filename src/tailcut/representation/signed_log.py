"""Features span many orders of magnitude: sign(x) log(1 + |x|)."""

from __future__ import annotations

import numpy as np

from tailcut.representation.part import Part
from tailcut.types import Array


class SignedLog(Part):
    """Squash each feature logarithmically, keeping its sign; nan stays nan.

    >>> SignedLog()(np.array([0.0, 1e300, -1e300])).round(1).tolist()
    [0.0, 690.8, -690.8]
    """

    def __call__(self, x: Array) -> Array:
        """Return sign(x) log(1 + |x|)."""
        return np.copysign(np.log1p(np.abs(x)), x)
