"""What to run next, and for how long, so that the expected PARk of the whole instance is lowest.

A plan is a sequence of runs; the next one starts only if all before it failed, so its expected loss is a
sum along one path. Two things change on that path: time runs out, and every failure makes the hard classes
of instances more likely, for all algorithms at once. Compared are all plans of the forms

    a for all that is left
    a for s, then the best other one for all that is left

(`tailcut.numerics.plan_kernels`). After a failure the plan is made again, so what is carried out is deeper
than what was looked ahead. Looking further ahead gains nothing: docs/background/research.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics.plan_kernels import best_plan
from tailcut.schedules.curves import Curves
from tailcut.types import Array

NEARLY_ALL = 0.95
"""A run of this share of what is left is given all of it."""
LONGER = 1.05
"""A run on an instance must be longer than the last one of the same algorithm by this factor."""


class Plan(NamedTuple):
    """The next run, and what to expect."""

    algorithm: int
    budget: float
    losses: Array
    """Expected loss in seconds of the best plan that starts with each algorithm, shape (K,); for one
    that may not run, that of an unsolved instance."""


class Planner:
    """Compares plans for one instance: curves, the cost of an unsolved instance, and who may run."""

    def __init__(self, curves: Curves, unsolved: float, barred: NDArray[np.bool_]) -> None:
        self.curves = curves
        self.unsolved = unsolved
        """Seconds that an unsolved instance costs on top of the whole cutoff."""
        self.barred = barred
        """Which algorithms may not run, shape (K,)."""

    def plan(self, weights: Array, failed: Array, left: float, *, whole: bool = False) -> Plan | None:
        """Return the best next run, or None if no algorithm could run longer than before.

        `weights` are the probabilities of the classes, shape (M,), now; `failed` is the longest time each
        algorithm has run unsuccessfully, shape (K,). With `whole`, the run gets all that is left.
        """
        return self._best(weights, failed, left, whole=whole, before_failures=False)

    def plan_after(self, classes: Array, failed: Array, left: float, *, whole: bool = False) -> Plan | None:
        """Return the best next run, where `classes` are the probabilities of the classes before any run."""
        return self._best(classes, failed, left, whole=whole, before_failures=True)

    def _best(
        self, weights: Array, failed: Array, left: float, *, whole: bool, before_failures: bool
    ) -> Plan | None:
        survival, integral = self.curves.tables
        best = best_plan(
            survival,
            integral,
            self.curves.cuts,
            weights,
            failed,
            self.barred.view(np.uint8),
            left,
            self.unsolved,
            NEARLY_ALL,
            LONGER,
            whole,
            before_failures,
        )
        return None if best is None else Plan(*best)

    def whole_runs(self, weights: Array, left: float) -> Array:
        """Return the expected loss of each algorithm for all that is left of a new instance, shape (K,)."""
        survival, integral = self.curves.at_all(np.array([left]))
        losses = (integral[0] + self.unsolved * survival[0]) @ weights
        return np.asarray(np.where(self.barred, left + self.unsolved, losses))

    def followed(self, weights: Array, left: float, algorithm: int, budget: float) -> Array:
        """Return the expected loss of a first run on a new instance, then each for the rest, shape (K,)."""
        rest = left - budget
        (survival, later), (integral, later_integral) = self.curves.at_all(np.array([budget, rest]))
        spent = integral[algorithm] @ weights
        alive = weights * survival[algorithm]
        expected = later_integral + self.unsolved * later
        # If the first algorithm runs again, its first `budget` seconds are known to fail.
        expected[algorithm] -= integral[algorithm]
        expected[algorithm] /= survival[algorithm]
        expected[algorithm] += budget
        useless = self.barred | (
            np.where(np.arange(len(expected)) == algorithm, budget, 0.0) * LONGER >= rest
        )
        return np.asarray(spent + np.where(useless, alive.sum() * (rest + self.unsolved), expected @ alive))
