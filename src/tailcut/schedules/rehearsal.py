"""A plan carried out on an instance of which all outcomes are known: what it promises, and what it costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.schedules.planner import Planner
from tailcut.schedules.view import View
from tailcut.types import Array


class Rehearsal(NamedTuple):
    """In seconds; an unsolved instance costs the penalty."""

    promised: float
    paid: float


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
            plan = planner.plan_after(view.classes, failed, left)
    return Rehearsal(promised, cutoff + planner.unsolved)


def rehearse_whole(
    view: View, planner: Planner, seconds: Array, solved: NDArray[np.bool_], cutoff: float
) -> Rehearsal:
    """Return how the best single run of all the time does."""
    losses = planner.whole_runs(view.classes, cutoff)
    best = int(losses.argmin())
    fine = solved[best] and seconds[best] <= cutoff
    return Rehearsal(float(losses[best]), float(seconds[best]) if fine else cutoff + planner.unsolved)
