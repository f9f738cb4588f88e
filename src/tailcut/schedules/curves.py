"""Survival curves: the chance that an algorithm has not yet solved an instance, at any time.

Time is cut at fixed fractions of a cutoff. Within an interval between two cuts the time of a solution is
uniform, so a curve is a polygon through its values at the cuts, and its integral, the expected time a run
takes, is exact by the trapezoidal rule. There is one curve per algorithm and per class of hardness
(`tailcut.schedules.hardness`).
"""

from __future__ import annotations

import numpy as np

from tailcut.numerics.plan_kernels import (
    curve_tables,
    curve_tables_by_class,
    curve_values,
    failure_likelihood,
)
from tailcut.types import Array, Forecasts, Progress

CUTS = np.array([0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
"""Ends of the J intervals, as fractions of the cutoff: even steps in log-time, finer towards the cutoff,
where the length of a run decides how many other runs there is time for. A slice ends at one of them, so none
is shorter than 1%: shorter ones cost next to nothing in a benchmark, but live a solver has hardly started
by then."""

_START = np.zeros(1)


class Curves:
    """Survival S(t) = P(longer than t) of K algorithms in M classes, and its integral from 0 to t.

    `log_odds` are those of a solution within an interval, given none before. Shape (K, J): in a class of
    hardness 0, to which `hardness` of shape (M,) is added; or, without that, shape (K, J, M). After the last
    cut the curves stay level: nothing was ever seen there.

    >>> curves = Curves(np.zeros((1, 2)), np.zeros(1), cuts=np.array([10.0, 30.0]))
    >>> survival, integral = curves.at(np.array([10.0]))
    >>> survival.tolist(), integral.tolist()
    ([[0.5]], [[7.5]])
    """

    def __init__(self, log_odds: Array, hardness: Array | None = None, *, cuts: Array) -> None:
        self.cuts = np.concatenate((_START, cuts))
        """Where the intervals begin and end, shape (J + 1,)."""
        if hardness is None:
            tables = curve_tables_by_class(log_odds, self.cuts)
        else:
            tables = curve_tables(log_odds, hardness, self.cuts)
        self.tables = tables
        """Survival and integral at the cuts, as the kernels take them, shape (J + 1, M, K) each."""

    @property
    def n_algorithms(self) -> int:
        """How many algorithms there are: K."""
        return int(self.tables[0].shape[2])

    @property
    def survival(self) -> Array:
        """Survival at the cuts, shape (K, J + 1, M)."""
        return self.tables[0].transpose(2, 0, 1)

    def at(self, times: Array) -> tuple[Array, Array]:
        """Return survival and integral of each algorithm at its own time; (K,) -> (K, M) each."""
        survival, integral = curve_values(*self.tables, self.cuts, times[None])
        return survival[0].T, integral[0].T

    def at_all(self, times: Array) -> tuple[Array, Array]:
        """Return survival and integral of all algorithms at each of L times; (L,) -> (L, K, M) each."""
        everyone = times.repeat(self.n_algorithms).reshape(len(times), self.n_algorithms)
        survival, integral = curve_values(*self.tables, self.cuts, everyone)
        return survival.transpose(0, 2, 1), integral.transpose(0, 2, 1)


def likelihood(curves: Curves, failed: Array) -> Array:
    """Return the likelihood, up to a factor, of the failures so far in each class of hardness, shape (M,)."""
    return failure_likelihood(curves.tables[0], curves.cuts, failed)


def forecasts(curves: Curves, classes: Array, progress: Progress, penalty: float) -> Forecasts:
    """Return what a run of all that is left would take, for each of K algorithms.

    `classes` are the probabilities of the classes of hardness, shape (M,). A quantile that lies beyond the
    last cut is inf: nothing is known about what would happen there.
    """
    assert progress.failed is not None
    failed = progress.failed
    survival, integral = curves.at(failed)
    ends = np.full(len(failed), max(progress.left, 0.0))
    later, area = curves.at(np.maximum(ends, failed))
    timeout = np.minimum((later / survival) @ classes, 1.0)  # a sum of shares may round to more
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
