"""Kaplan-Meier: the share of instances an algorithm has not solved after t seconds.

Kaplan and Meier, "Nonparametric estimation from incomplete observations", JASA 1958. A run that ended
unsolved before the cutoff (out of memory, say) was only watched until then, so it leaves the risk set there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailcut.scenarios import Scenario
from tailcut.types import PENALTY, Array


@dataclass(frozen=True)
class SurvivalCurve:
    """A step function: `share` holds from `time` on, until the next."""

    algorithm: str
    time: Array
    """Seconds, increasing, from 0 to the cutoff, shape (m,)."""
    share: Array
    """Estimated probability that a run lasts longer, shape (m,)."""
    par: float
    """Mean PARk of the algorithm, to order them by."""


def kaplan_meier(times: Array, solved: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the distinct times of solved runs and the survival from each on.

    >>> t, s = kaplan_meier(np.array([1.0, 2.0, 2.0, 4.0]), np.array([True, True, False, True]))
    >>> t.tolist(), s.tolist()
    ([1.0, 2.0, 4.0], [0.75, 0.5, 0.0])
    """
    events, deaths = np.unique(times[solved], return_counts=True)
    at_risk = len(times) - np.searchsorted(np.sort(times), events, side="left")
    return events, np.asarray(np.cumprod(1.0 - deaths / at_risk), dtype=np.float64)


def survival_curves(scenario: Scenario, penalty: float = PENALTY, points: int = 160) -> list[SurvivalCurve]:
    """Return the curve of every algorithm, the lowest mean PARk first, thinned to what a figure shows."""
    pars = scenario.losses(penalty).mean(axis=0)
    found = []
    for k in np.argsort(pars, kind="stable").tolist():
        watched = np.minimum(scenario.runtimes[:, k], scenario.cutoff)
        events, share = kaplan_meier(watched, scenario.solved[:, k])
        time, share = _thinned(events, share, scenario.cutoff, points)
        found.append(SurvivalCurve(scenario.algorithms[k], time, share, float(pars[k])))
    return found


def _thinned(events: Array, share: Array, cutoff: float, points: int) -> tuple[Array, Array]:
    """Return the steps at about `points` times, spread evenly over the logarithm of time."""
    time = np.concatenate([[0.0], events, [cutoff]])
    share = np.concatenate([[1.0], share, [share[-1] if len(share) else 1.0]])
    if len(time) <= points:
        return time, share
    wanted = np.geomspace(max(cutoff * 1e-5, events[0]), cutoff, points)
    kept = np.unique(np.concatenate([[0], np.searchsorted(time, wanted, side="right") - 1]))
    kept = np.unique(np.append(kept, len(time) - 1))
    return time[kept], share[kept]
