"""Curves and plans in plain numpy, every candidate computed: what the compiled kernels must agree with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics.plan_kernels import failure_likelihood
from tailcut.schedules.curves import Curves
from tailcut.schedules.planner import LONGER, NEARLY_ALL, Plan
from tailcut.types import Array


class PlainCurves:
    """As `tailcut.schedules.curves.Curves`."""

    def __init__(self, log_odds: Array, hardness: Array | None = None, *, cuts: Array) -> None:
        by_class = log_odds if hardness is None else log_odds[:, :, None] + hardness  # (K, J, M)
        # log of (1 - h) for a hazard h with log-odds v is -log(1 + exp(v)).
        logs = -np.logaddexp(0.0, by_class)
        n_algorithms, n_intervals, n_classes = logs.shape
        self.cuts = np.concatenate(([0.0], cuts))
        self.survival = np.empty((n_algorithms, n_intervals + 1, n_classes))
        self.survival[:, 0] = 1.0
        np.exp(np.cumsum(logs, axis=1), out=self.survival[:, 1:])
        np.maximum(self.survival, 1e-300, out=self.survival)  # a ratio of survivals must exist
        widths = np.diff(self.cuts)[:, None]
        areas = 0.5 * (self.survival[:, 1:] + self.survival[:, :-1]) * widths
        self.integral = np.zeros_like(self.survival)
        np.cumsum(areas, axis=1, out=self.integral[:, 1:])

    def at(self, times: Array) -> tuple[Array, Array]:
        """Return survival and integral of each algorithm at its own time; (K,) -> (K, M) each."""
        return self._between(np.arange(len(self.survival)), times)

    def at_all(self, times: Array) -> tuple[Array, Array]:
        """Return survival and integral of all algorithms at each of L times; (L,) -> (L, K, M) each."""
        return self._between(np.arange(len(self.survival)), times[:, None])

    def _between(self, algorithms: NDArray[np.intp], times: Array) -> tuple[Array, Array]:
        cuts = self.cuts
        left = np.minimum(np.searchsorted(cuts, times, side="right"), len(cuts) - 1) - 1
        run = np.maximum(times - cuts[left], 0.0)
        width = cuts[left + 1] - cuts[left]
        share = np.minimum(run / width, 1.0)[..., None]
        low, high = self.survival[algorithms, left], self.survival[algorithms, left + 1]
        survival = low + (high - low) * share
        within = np.minimum(run, width)[..., None]
        beyond = (run - np.minimum(run, width))[..., None]
        area = 0.5 * (low + survival) * within + survival * beyond
        return survival, self.integral[algorithms, left] + area


class _Moment(NamedTuple):
    """Where things stand: the fields of `_Paths` for the present, without the first axis."""

    weights: Array
    failed: Array
    survival: Array
    integral: Array
    left: float


class _Table(NamedTuple):
    """The L lengths that a run may have, and every algorithm's curve there."""

    times: Array
    """Seconds, the last being all that is left, shape (L,)."""
    survival: Array
    """Shape (L, K, M)."""
    integral: Array
    """Shape (L, K, M)."""
    allowed: NDArray[np.bool_]
    """Which run may come next, shape (L, K)."""


class _Paths(NamedTuple):
    """F moments that may come, each with its own past."""

    weights: Array
    """Probability of arriving there unsolved, by class of hardness, shape (F, M)."""
    failed: Array
    """How long each algorithm has run unsuccessfully, shape (F, K)."""
    survival: Array
    """Survival of each algorithm at that time, shape (F, K, M)."""
    integral: Array
    """Integral of its curve up to that time, shape (F, K, M)."""
    left: Array
    """Seconds left, shape (F,)."""

    def run(self, algorithms: NDArray[np.intp], table: _Table, which: NDArray[np.intp]) -> Array:
        """Let each path run its algorithm for its time (by number) and fail; return the expected time."""
        rows = np.arange(len(which))
        survival, integral = table.survival[which, algorithms], table.integral[which, algorithms]
        before, area = self.survival[rows, algorithms], self.integral[rows, algorithms]
        # The first seconds are those already known to fail: a run starts from scratch.
        expected = self.failed[rows, algorithms, None] + (integral - area) / before
        spent = (self.weights * expected).sum(axis=1)
        self.weights[:] *= survival / before
        self.failed[rows, algorithms] = table.times[which]
        self.survival[rows, algorithms] = survival
        self.integral[rows, algorithms] = integral
        self.left[:] -= table.times[which]
        return np.asarray(spent)


class PlainPlanner:
    """As `tailcut.schedules.planner.Planner`."""

    def __init__(self, curves: PlainCurves, unsolved: float, barred: NDArray[np.bool_]) -> None:
        self.curves = curves
        self.unsolved = unsolved
        """Seconds that an unsolved instance costs on top of the whole cutoff."""
        self.barred = barred
        """Which algorithms may not run, shape (K,)."""

    def plan(self, weights: Array, failed: Array, left: float, *, whole: bool = False) -> Plan | None:
        candidates = self.candidates(weights, failed, left)
        if candidates is None:
            return None
        times, losses = candidates
        compared = losses[-1:] if whole else losses
        best, algorithm = np.divmod(int(compared.argmin()), len(failed))
        best += len(losses) - len(compared)
        in_vain = left + self.unsolved  # whoever may not run would not solve anything
        return Plan(int(algorithm), float(times[best]), np.minimum(losses.min(axis=0), in_vain))

    def candidates(self, weights: Array, failed: Array, left: float) -> tuple[Array, Array] | None:
        """Return the lengths of a first run, shape (L,), and the loss of each such run, shape (L, K)."""
        cuts = self.curves.cuts[1:]
        times = np.append(cuts[cuts < NEARLY_ALL * left], left)
        allowed = (times[:, None] > failed * LONGER) & ~self.barred  # (L, K)
        if not allowed.any():
            return None
        now = _Moment(weights, failed, *self.curves.at(failed), left)
        table = _Table(times, *self.curves.at_all(times), allowed)
        return times, self._one_ahead(now, table)

    def _one_ahead(self, now: _Moment, table: _Table) -> Array:
        """Return the expected loss of each first run, then the best other for the rest; shape (L, K)."""
        alive = table.survival / now.survival * now.weights  # (L, K, M)
        spent = now.failed + ((table.integral - now.integral) / now.survival) @ now.weights
        rest = np.maximum(now.left - table.times, 0.0)
        survival, integral = self.curves.at_all(rest)
        follow = (integral - now.integral + self.unsolved * survival) / now.survival
        unsolved = alive.sum(axis=2)  # (L, K)
        after = alive @ follow.transpose(0, 2, 1) + unsolved[:, :, None] * now.failed  # (L, first, next)
        useless = (now.failed * LONGER >= rest[:, None]) | self.barred
        idle = unsolved[:, :, None] * (rest + self.unsolved)[:, None, None]
        after = np.where(useless[:, None] | np.eye(len(now.failed), dtype=bool), idle, after)
        return np.where(table.allowed, spent + after.min(axis=2), np.inf)

    def followed(self, weights: Array, left: float, algorithm: int, budget: float) -> Array:
        """Return the expected loss of a first run on a new instance, then each for the rest, shape (K,)."""
        n_algorithms = len(self.barred)
        failed, times = np.zeros(n_algorithms), np.array([budget])
        now = _Moment(weights, failed, *self.curves.at(failed), left)
        paths = _Paths(*(np.array(field)[None] for field in now))
        table = _Table(times, *self.curves.at_all(times), np.ones((1, n_algorithms), dtype=bool))
        spent = paths.run(np.array([algorithm]), table, np.array([0]))
        return np.asarray(spent[0] + self.rest(paths)[0])

    def rest(self, paths: _Paths) -> Array:
        """Return the expected further loss of giving all that is left to each algorithm, shape (F, K)."""
        survival, integral = self.curves.at_all(paths.left)
        expected = (integral - paths.integral + self.unsolved * survival) / paths.survival
        alive = paths.weights.sum(axis=1)[:, None]
        losses = (expected @ paths.weights[:, :, None])[:, :, 0] + alive * paths.failed
        # Whoever has failed for longer than there is time would only repeat that.
        useless = (paths.failed * LONGER >= paths.left[:, None]) | self.barred
        return np.asarray(np.where(useless, alive * (paths.left[:, None] + self.unsolved), losses))


def likelihood(curves: Curves, failed: Array) -> Array:
    """Return the likelihood, up to a factor, of the failures so far in each class, shape (M,)."""
    return failure_likelihood(curves.tables[0], curves.cuts, failed)
