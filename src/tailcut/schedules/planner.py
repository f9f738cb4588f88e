"""What to run next, and for how long, so that the expected PARk of the whole instance is lowest.

A plan is a sequence of runs; the next one starts only if all before it failed, so its expected loss is a
sum along one path. Two things change on that path: time runs out, and every failure makes the hard classes
of instances more likely, for all algorithms at once. Compared are all plans of the forms

    a for all that is left
    a for s, then the best other one for all that is left

(`tailcut.numerics.plan_kernels`). After a failure the plan is made again, so what is carried out is deeper
than what was looked ahead. Looking further ahead gains nothing: docs/background/research.md.

The best of thousands of plans looks better than it is, the best of a few whole runs hardly does. So where all
outcomes of an instance are known, both kinds are tried on it, and new ones are compared by what they promise
times what such promises have cost. Plans that were really carried out are no such evidence: each is of one
kind only, and luck decides which kind looks better (docs/background/research.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics.plan_kernels import best_plan
from tailcut.schedules.curves import Curves, View
from tailcut.state import Stateful, expect, expect_finite
from tailcut.types import Array

NEARLY_ALL = 0.95
"""A run of this share of what is left is given all of it."""
LONGER = 1.05
"""A run on an instance must be longer than the last one of the same algorithm by this factor."""
SLICED, WHOLE = 0, 1
"""The two kinds of plans."""
FIRM = 2.5
"""The weight, in unsolved instances, of the prior that plans cost what is expected."""
FORGET = 0.005
"""The share of what was seen that each further plan of the kind makes forgotten: the model learns, too."""
ROUNDING = 1e-9
"""Costs that differ by less than this share are the same."""


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

    def plan(
        self,
        weights: Array,
        failed: Array,
        left: float,
        *,
        whole: bool = False,
        before_failures: bool = False,
    ) -> Plan | None:
        """Return the best next run, or None if no algorithm could run longer than before.

        `weights` are the probabilities of the classes, shape (M,), now or, if so said, `before_failures`;
        `failed` is the longest time each algorithm has run unsuccessfully, shape (K,). With `whole`, the run
        gets all that is left.
        """
        tables, barred = (*self.curves.tables, self.curves.cuts), self.barred.view(np.uint8)
        shares = (NEARLY_ALL, LONGER)
        best = best_plan(
            *tables, weights, failed, barred, left, self.unsolved, *shares, whole, before_failures
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
        before = np.where(np.arange(len(expected)) == algorithm, budget, 0.0)
        useless = self.barred | (before * LONGER >= rest)
        return np.asarray(spent + np.where(useless, alive.sum() * (rest + self.unsolved), expected @ alive))


class Rehearsal(NamedTuple):
    """A plan carried out on an instance of which all outcomes are known, in seconds."""

    promised: float
    paid: float
    """What it cost; for an unsolved instance, the penalty."""


def rehearse_sliced(
    view: View, planner: Planner, seconds: Array, solved: NDArray[np.bool_], cutoff: float
) -> Rehearsal:
    """Return how the best plan does, made again after each run; runs that solve take `seconds`, (K,)."""
    failed, left = np.zeros(len(seconds)), cutoff
    plan = planner.plan(view.classes, failed, left)
    assert plan is not None, "on a new instance everyone may run"
    promised = float(plan.losses.min())
    while plan is not None:
        takes = float(seconds[plan.algorithm])
        if solved[plan.algorithm] and takes <= plan.budget:
            return Rehearsal(promised, cutoff - left + takes)
        failed[plan.algorithm] = plan.budget
        left -= plan.budget
        plan = None
        if left > 0.0:
            plan = planner.plan(view.classes, failed, left, before_failures=True)
    return Rehearsal(promised, cutoff + planner.unsolved)


def rehearse_whole(
    view: View, planner: Planner, seconds: Array, solved: NDArray[np.bool_], cutoff: float
) -> Rehearsal:
    """Return how the best single run of all the time does."""
    losses = planner.whole_runs(view.classes, cutoff)
    best = int(losses.argmin())
    fine = solved[best] and seconds[best] <= cutoff
    return Rehearsal(float(losses[best]), float(seconds[best]) if fine else cutoff + planner.unsolved)


REHEARSALS = (rehearse_sliced, rehearse_whole)
"""How each kind of plan is tried: `SLICED`, then `WHOLE`."""


class Calibration(Stateful):
    """What plans of both kinds have promised and cost, as shares of the cost of an unsolved instance.

    >>> calibration = Calibration()
    >>> for _ in range(20):
    ...     calibration.note(SLICED, promised=0.2, paid=0.4)
    >>> calibration.prefers_whole(sliced=0.2, whole=0.25)
    True
    >>> calibration.prefers_whole(sliced=0.2, whole=0.4)
    False
    """

    STATE = ("promised", "paid")

    def __init__(self) -> None:
        self.promised, self.paid = np.full(2, FIRM), np.full(2, FIRM)

    @property
    def ratios(self) -> Array:
        """What a plan of each kind costs as a multiple of what it promises, shape (2,)."""
        return np.asarray(self.paid / self.promised)

    def note(self, kind: int, promised: float, paid: float) -> None:
        """Learn the actual cost of a plan, given its expected cost."""
        for sums, value in ((self.promised, promised), (self.paid, paid)):
            sums[kind] += value - FORGET * (sums[kind] - FIRM)

    def prefers_whole(self, sliced: float, whole: float) -> bool:
        """Return whether the best single whole run is preferred to the best plan with several.

        It is where both cost the same up to rounding: a run that is stopped would start again from scratch.
        """
        ratios = self.ratios
        return bool(whole * ratios[WHOLE] <= (1.0 + ROUNDING) * sliced * ratios[SLICED])

    def restored(self) -> None:
        expect_finite(promised=self.promised, paid=self.paid)
        least = min(float(self.promised.min()), float(self.paid.min()))
        expect(least > 0.0, "promised, paid: expected more than 0")
