"""No features at all, for selectors that do not look at them."""

from __future__ import annotations

import numpy as np

from tailcut.representation.part import Part
from tailcut.types import Array


class Ignore(Part):
    """Turn every vector into the empty one.

    >>> Ignore()(np.array([1.0, np.nan])).tolist()
    []
    """

    def start(self, width: int) -> int:  # noqa: ARG002
        """Nothing comes out, whatever goes in."""
        return 0

    def __call__(self, x: Array) -> Array:
        """Return the empty vector."""
        return np.empty(0, dtype=x.dtype)
