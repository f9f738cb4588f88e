"""What survival curves say of runs to come, in the words of an explanation."""

from __future__ import annotations

import numpy as np

from tailcut.explain.forecast import Forecasts
from tailcut.schedules.curves import Curves
from tailcut.types import Array, Progress


def likelihood(curves: Curves, failed: Array) -> Array:
    """Return the likelihood, up to a factor, of the failures so far in each class of hardness, shape (M,)."""
    logs = np.log(curves.at(failed)[0]).sum(axis=0)
    return np.asarray(np.exp(logs - logs.max()))


def forecasts(curves: Curves, classes: Array, progress: Progress, penalty: float) -> Forecasts:
    """Return what a run of all that is left would take, for each of K algorithms.

    `classes` are the probabilities of the classes of hardness, shape (M,). A quantile that lies beyond the
    last cut is inf: nothing is known of what would happen there.
    """
    assert progress.failed is not None
    failed = progress.failed
    survival, integral = curves.at(failed)
    ends = np.full(len(failed), max(progress.left, 0.0))
    later, area = curves.at(np.maximum(ends, failed))
    timeout = (later / survival) @ classes
    spent = np.minimum(failed, ends) + ((area - integral) / survival) @ classes
    unsolved = (penalty - 1.0) * progress.cutoff
    low, median, high = (_quantile(curves, classes, failed, level) for level in (0.05, 0.5, 0.95))
    return Forecasts(median, low, high, timeout, progress.used + spent + unsolved * timeout, penalty)


def _quantile(curves: Curves, classes: Array, failed: Array, level: float) -> Array:
    """Return the time by which each algorithm has solved with probability `level`, shape (K,)."""
    at_cuts = (curves.survival / curves.at(failed)[0][:, None]) @ classes  # (K, J + 1)
    # Up to what it has failed for, an algorithm is known not to solve.
    at_cuts = np.where(curves.cuts <= failed[:, None], 1.0, at_cuts)
    found = np.full(len(failed), np.inf)
    for k, falling in enumerate(at_cuts):
        if falling[-1] <= 1.0 - level:
            knots = np.maximum(curves.cuts, failed[k])
            found[k] = float(np.interp(level, 1.0 - falling, knots))
    return found
