"""Races: what to run on a free core while other algorithms run on the same instance.

Given the class of an instance, runs are independent, so the chance that nobody has solved it by some time is,
in each class, the product over the cores. The classes are weighed by what an instance of each will cost if
the free core does nothing, and with these weights it is planned as if it were alone. All cores are planned in
turn, twice: docs/background/tailcut-schedule.md says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics.race_kernels import best_for_the_rest, run_on
from tailcut.schedules.planner import Planner
from tailcut.types import Array

ROUNDS = 2
"""How often each core is planned."""
CELL = 0.05
"""Time is divided at the cuts, and at least so finely, as a share of the last of them."""


class Lane(NamedTuple):
    """What one core is to do, in seconds from now."""

    algorithm: int
    start: float
    """When its run begins: before now, if it runs already."""
    stop: float
    following: int = -1
    """Who runs from then on to the end; -1: nobody."""


class Race:
    """One instance with several cores, at one moment."""

    def __init__(
        self, planner: Planner, weights: Array, failed: Array, *, running: Sequence[Lane], left: float
    ) -> None:
        """Take in the classes (M,) as they are now, how long each algorithm has failed (K,), and who runs."""
        self._curves, self._unsolved, self._barred = planner.curves, planner.unsolved, planner.barred
        self._weights, self._failed, self._left = weights, failed, left
        self._busy = [lane._replace(stop=min(max(lane.stop, 0.0), left)) for lane in running]
        cuts = self._curves.cuts
        even = np.arange(CELL, 1.0, CELL) * cuts[-1]
        points = np.concatenate([cuts, even, [lane.stop for lane in self._busy]])
        self._grid = np.unique(np.append(points[points < left], left))

    def next_run(self, free: int) -> tuple[int, float] | None:
        """Return the best run for one of so many free cores, and its seconds; None if there is none.

        >>> from tailcut.schedules.curves import Curves
        >>> odds = np.log(np.array([[[9.0, 0.01]], [[0.01, 3.0]]]))  # each is good at another class
        >>> curves, classes = Curves(odds, cuts=np.array([10.0])), np.array([0.5, 0.5])
        >>> planner, at_it = Planner(curves, 90.0, np.array([True, False])), [Lane(0, start=0.0, stop=10.0)]
        >>> race = Race(planner, classes, np.zeros(2), running=at_it, left=10.0)
        >>> race.next_run(free=1)
        (1, 10.0)
        """
        lanes: list[Lane | None] = [*[None] * free, *self._busy]
        for _ in range(ROUNDS):
            before = list(lanes)
            for number in range(free):
                lanes[number] = self._planned(_others(lanes, number))
            # Who runs next is settled for all cores before who follows: no core is to idle for the latter.
            for number, lane in enumerate(lanes):
                if lane is not None and lane.stop < self._left:
                    lanes[number] = self._followed(lane, _others(lanes, number))
            if lanes == before:
                break
        first = lanes[0]
        return None if first is None else (first.algorithm, first.stop)

    def _planned(self, others: Sequence[Lane]) -> Lane | None:
        """Return the best next run of a free core; None if there is none."""
        unsolved = self._unsolved_by(others)
        waited = np.diff(self._grid) @ (0.5 * (unsolved[1:] + unsolved[:-1]))
        weights = self._weights * (waited + self._unsolved * unsolved[-1])
        barred = self._barred_by(other._replace(following=-1) for other in others)
        planner = Planner(self._curves, self._unsolved, barred)
        plan = planner.plan(weights / max(float(weights.sum()), 1e-300), self._failed, self._left)
        return None if plan is None else Lane(plan.algorithm, 0.0, plan.budget)

    def _followed(self, lane: Lane, others: Sequence[Lane]) -> Lane:
        """Return what a core does, with the best run for the time that its own leaves."""
        alone = lane._replace(following=-1)
        weights = self._weights * self._unsolved_by([alone])[-1]
        barred = self._barred_by([alone, *others]).view(np.uint8)
        cell = int(np.searchsorted(self._grid, lane.stop))
        times = (*self._curves.tables, self._curves.cuts, self._grid, self._unsolved_by(others))
        following = best_for_the_rest(*times, weights, self._failed, barred, self._unsolved, cell)
        return lane._replace(following=following)

    def _unsolved_by(self, lanes: Sequence[Lane]) -> Array:
        """Return how likely it is, by time and class, that these cores have not solved it, shape (T, M)."""
        unsolved = np.ones((len(self._grid), len(self._weights)))
        table, cuts = self._curves.tables[0], self._curves.cuts
        for lane in lanes:
            runs = [(lane.algorithm, lane.start, lane.stop)]
            if lane.following >= 0:
                runs.append((lane.following, lane.stop, self._left))
            for algorithm, start, stop in runs:
                known = max(float(self._failed[algorithm]), -start)
                run_on(table, cuts, self._grid, unsolved, algorithm, start, known, stop)
        return unsolved

    def _barred_by(self, lanes: Iterable[Lane]) -> NDArray[np.bool_]:
        """Return who may not run, shape (K,): the same algorithm on two cores does the same."""
        barred = self._barred.copy()
        for lane in lanes:
            barred[[algorithm for algorithm in (lane.algorithm, lane.following) if algorithm >= 0]] = True
        return barred


def _others(lanes: Sequence[Lane | None], number: int) -> list[Lane]:
    """Return what the other cores are to do, as far as that is known."""
    return [lane for place, lane in enumerate(lanes) if place != number and lane is not None]
