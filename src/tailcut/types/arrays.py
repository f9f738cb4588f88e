"""What arrays and features are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""A float64 array; docstrings give its shape, with K algorithms and d features."""

Features = Sequence[float] | Array | Mapping[str, float] | None
"""A vector, a mapping from names to values, or None where none were computed; nan is a missing value."""
