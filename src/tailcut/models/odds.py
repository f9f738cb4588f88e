"""Losses between 0 and 1, moved on the scale of log-odds: nothing leaves the interval."""

from __future__ import annotations

import numpy as np

from tailcut.types import Array

LEAST = 0.02
"""Losses count as at least this and at most 1 - LEAST, so that no odds are infinite."""


def log_odds(loss: Array) -> Array:
    """Return log(p / (1 - p)) of losses p of any shape.

    >>> log_odds(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [-3.89, 0.0, 3.89]
    """
    loss = np.clip(loss, LEAST, 1.0 - LEAST)
    return np.log(loss / (1.0 - loss))


def moved(loss: Array, shift: Array | float) -> Array:
    """Return the losses whose log-odds are those of `loss` plus `shift`.

    >>> moved(np.array([0.5, 0.9]), np.log(3.0)).round(3).tolist()
    [0.75, 0.964]
    """
    loss = np.clip(loss, LEAST, 1.0 - LEAST)
    odds = loss * np.exp(shift)
    return np.asarray(odds / (odds + 1.0 - loss))
