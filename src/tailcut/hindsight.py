"""Lines to compare with that know all runtimes: the oracle and the single best algorithm.

They see the whole table of losses, so they are functions of it and not selectors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tailcut.types import Array

Choices = NDArray[np.intp]


def oracle(losses: Array) -> Choices:
    """Return the best algorithm of each instance (virtual best solver, VBS); losses (n, K) -> (n,).

    >>> oracle(np.array([[1.0, 9.0], [9.0, 1.0], [3.0, 2.0]])).tolist()
    [0, 1, 1]
    """
    return np.asarray(losses.argmin(axis=1))


def single_best(losses: Array) -> Choices:
    """Return, for every instance, the algorithm with the lowest mean loss over all (SBS).

    >>> single_best(np.array([[1.0, 9.0], [9.0, 1.0], [3.0, 2.0]])).tolist()
    [1, 1, 1]
    """
    return np.full(len(losses), losses.mean(axis=0).argmin(), dtype=np.intp)


LINES: dict[str, tuple[Callable[[Array], Choices], str]] = {
    "oracle": (oracle, "The best algorithm of each instance, in hindsight (VBS)"),
    "sbs": (single_best, "The single algorithm with the lowest mean PARk, in hindsight (SBS)"),
}
"""Hindsight lines: name -> (choices from losses, summary)."""
