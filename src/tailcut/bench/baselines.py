"""Baselines that know all runtimes: the oracle, the single best algorithm, the best fixed schedules.

They are functions of the whole table of runtimes, not selectors. Their names and summaries
are in `tailcut.catalogue.BASELINES`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tailcut.types import Array

Choices = NDArray[np.intp]


def oracle(losses: Array) -> Choices:
    """Return the best algorithm on each instance (virtual best solver, VBS); losses (n, K) -> (n,).

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


PICKS: dict[str, Callable[[Array], Choices]] = {"oracle": oracle, "sbs": single_best}
"""Baselines that pick one algorithm per instance: name -> choices from losses."""

FIXED: dict[str, int] = {"sbs_pair": 2, "sbs_schedule": 3}
"""Baselines that follow the best fixed schedule (`fixed_schedules`): name -> how many stages at most."""
