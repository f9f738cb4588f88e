"""Races: what the running algorithms will leave unsolved, for choosing the next one to join.

Given the class of an instance, runs are independent. So the chance that all who run fail in the time that is
left is, in each class, the product of their chances. Weighed by it, the classes are those of the instances
for which a further run matters: an algorithm that solves what the others solve, too, gains nothing there; one
that complements them gains most. Runners join one at a time, each planned for what those before leave.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tailcut.schedules.curves import Curves
from tailcut.types import Array


def left_unsolved(curves: Curves, running: Mapping[int, float], left: float) -> Array:
    """Return the probability, in each class, that all running ones fail for `left` more seconds, shape (M,).

    `running` has for how long each has run, unsuccessfully.

    >>> odds = np.log(np.array([[[9.0, 0.01]], [[0.01, 3.0]]]))  # each is good at another class
    >>> curves = Curves(odds, cuts=np.array([10.0]))
    >>> left_unsolved(curves, {0: 0.0}, 10.0).round(2).tolist()
    [0.1, 0.99]
    """
    unsolved = np.ones(curves.survival.shape[2])
    for algorithm, elapsed in running.items():
        now, later = curves.at_all(np.array([elapsed, elapsed + left]))[0][:, algorithm]
        unsolved *= later / np.maximum(now, 1e-300)
    return unsolved
