"""Races: which run joins those in progress on an instance."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tailcut.policies.pending import PendingRun
from tailcut.policies.policy import Policy
from tailcut.types import Array, Progress, Request

Durations = Mapping[str, float]
"""Seconds by the name of the algorithm."""


def known_budgets(
    waiting: OrderedDict[int, PendingRun], running: Mapping[str, float], instance: str | None
) -> dict[str, float]:
    """Return the seconds that each running algorithm was given on an instance, if its decision still waits.

    >>> run = PendingRun("a", "i1", 60.0, np.zeros(0), budget=20.0)
    >>> known_budgets(OrderedDict({7: run}), {"a": 3.0, "b": 3.0}, "i1")
    {'a': 20.0}
    """
    found: dict[str, float] = {}
    for number in reversed(waiting):  # the latest first; those of a race are among the last
        run = waiting[number]
        if run.instance == instance and run.algorithm in running and run.algorithm not in found:
            found[run.algorithm] = run.budget
        if len(found) == len(running):
            break
    return found


def one_more_run(
    policy: Policy | None,
    request: Request,
    x: Array,
    pool: Sequence[int],
    *,
    algorithms: Sequence[str],
    cutoff: float,
    schedules: bool,
    running: Mapping[str, float],
    failed: Mapping[str, float],
    budgets: Mapping[str, float],
    free_cores: int,
) -> Request | None:
    """Return the request for one more run of a race, None if no algorithm is left.

    `x` is the represented instance and `pool` has the numbers of the algorithms that may run on it. Of the
    `running` ones, `budgets` has the seconds after which each will be stopped, where that is known.
    """
    gone = {**failed, **running}
    # A schedule may run an algorithm longer that was stopped; one that failed counts as using the cutoff.
    barred = running if schedules else gone
    free = [number for number in pool if algorithms[number] not in barred]
    limit = request.limit(cutoff)
    used = request.used(limit)
    if schedules:
        free = [number for number in free if gone.get(algorithms[number], 0.0) < limit - used]
    if not free:
        return None
    if schedules and failed:  # what it does is learned given these failures
        request = replace(request, failed=failed)
    if policy is None:
        return replace(request, among=[algorithms[free[0]]])
    seen = [gone.get(name, 0.0) for name in algorithms] if schedules else None
    progress = Progress(limit, used, None if seen is None else np.array(seen))
    at = {number: running[name] for number, name in enumerate(algorithms) if name in running}
    planned = {number: budgets[name] for number, name in enumerate(algorithms) if name in budgets}
    best = policy.join(x, free, progress, at, budgets=planned, free=free_cores)
    if best is None:
        return replace(request, among=[algorithms[number] for number in (free[:1] if gone else free)])
    algorithm, seconds = best
    slice_end = used + seconds if seconds < progress.left else request.cutoff
    return replace(request, among=[algorithms[algorithm]], cutoff=slice_end)
