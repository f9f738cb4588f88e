"""The best fixed schedule in hindsight: one algorithm for a while, then another, perhaps a third.

A schedule is defined by its switch points. Between two runtimes of an algorithm, a later switch only delays
what follows, so only an algorithm's own runtimes matter as switch points, and the best pair is found exactly.
For triples, only some first switch points are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tailcut.types import Array

_MOST_SWITCHES = 24
"""The maximum number of first switch points per algorithm for schedules of three stages."""
_WORK = 7e7
"""Fewer are tried if instances x algorithms^2 x first stages would exceed this: some seconds."""
_REFINED = 8
"""The number of best triples that are improved further."""


class Stage(NamedTuple):
    """One algorithm by number, and how long it runs."""

    algorithm: int
    seconds: float


Stages = tuple[Stage, ...]


def spend(stages: Stages, times: Array) -> Array:
    """Return the seconds until each instance is solved, inf where none of the stages does; times (n, K)."""
    total = np.full(len(times), np.inf)
    before = 0.0
    for algorithm, seconds in stages:
        time = times[:, algorithm]
        total = np.where(np.isinf(total) & (time <= seconds), before + time, total)
        before += seconds
    return total


def best_schedule(times: Array, cutoff: float, penalty: float, most: int) -> Stages:
    """Return the stages, at most `most` of 1 to 3, with the lowest mean PARk; times (n, K), inf: unsolved.

    docs/reference/hindsight.md says which are tried. Triples are never worse than the best pair.
    """
    table = np.ascontiguousarray(np.where(times <= cutoff, times, np.inf), dtype=np.float64)
    return _best(table.tobytes(), table.shape[1], cutoff, penalty * cutoff, most)


@lru_cache(maxsize=8)
def _best(table: bytes, n_algorithms: int, cutoff: float, late: float, most: int) -> Stages:
    """Find the best stages; cached, because every seed of a benchmark needs the same ones."""
    times = np.frombuffer(table).reshape(-1, n_algorithms)
    found = [_stages([], int(np.where(np.isinf(times), late, times).sum(axis=0).argmin()), cutoff)]
    if most > 1:
        found.append(_best_pair(times, cutoff, late))
    if most > 2:
        firsts = dict.fromkeys([*found[-1][:1], *_first_stages(times)])
        triples = {_continued(first, times, cutoff, late) for first in firsts}
        ranked = sorted(triples, key=lambda stages: (_cost(stages, times, late), stages))
        found += [*ranked[:1], *(_improved(stages, times, cutoff, late) for stages in ranked[:_REFINED])]
    return min(found, key=lambda stages: (_cost(stages, times, late), len(stages)))


def _cost(stages: Stages, times: Array, late: float) -> float:
    total = spend(stages, times)
    return float(np.where(np.isinf(total), late, total).sum())


def _stages(switches: list[tuple[int, float]], last: int, cutoff: float) -> Stages:
    """Return stages from those that end at a switch and the last one, which gets the rest."""
    kept = [Stage(algorithm, seconds) for algorithm, seconds in switches if seconds > 0.0]
    return (*kept, Stage(last, cutoff - sum(stage.seconds for stage in kept)))


def _totals(times: Array, followers: Array, cutoff: float, late: float) -> Iterator[tuple[Array, Array]]:
    """Yield, per algorithm that begins, switch points (m,) and the summed loss of switching there, (m, J).

    `followers` are the seconds in which each of J followers solves an instance, shape (n, J). An instance
    counts for the follower at switch points before its own `first` and at most cutoff - follower, a range
    from the smallest on; so one histogram of the ranges' ends counts them all.
    """
    n, width = followers.shape
    latest = (cutoff - followers).ravel()
    order = latest.argsort()  # once for all that begin
    for first in times.T:
        points = np.union1d([0.0], first[np.isfinite(first) & (first <= cutoff)])
        m, bins = len(points), width * (len(points) + 1)
        ordered = np.sort(first[np.isfinite(first)])
        solved = np.searchsorted(ordered, points, side="right")
        seconds = np.concatenate([[0.0], np.cumsum(ordered)])[solved]
        too_late = np.bincount(np.searchsorted(latest[order], points), minlength=n * width + 1)
        in_time = np.empty(n * width, dtype=np.intp)
        in_time[order] = too_late[:-1].cumsum()
        before = np.searchsorted(points, first, side="left")[:, None]
        ends = np.minimum(before, in_time.reshape(followers.shape))
        slots = (ends + np.arange(width) * (m + 1)).ravel()
        weights = np.where(ends > 0, followers, 0.0).ravel()
        count, followed = (
            np.bincount(slots, given, bins).reshape(width, m + 1)[:, :0:-1].cumsum(axis=1)[:, ::-1].T
            for given in (None, weights)
        )
        rest = n - solved[:, None] - count
        yield points, seconds[:, None] + count * points[:, None] + followed + late * rest


def _best_pair(times: Array, cutoff: float, late: float) -> Stages:
    best, found = np.inf, _stages([], 0, cutoff)
    for algorithm, (points, totals) in enumerate(_totals(times, times, cutoff, late)):
        at, follower = np.unravel_index(int(totals.argmin()), totals.shape)
        if totals[at, follower] < best:
            best = totals[at, follower]
            found = _stages([(algorithm, float(points[at]))], int(follower), cutoff)
    return found


def _first_stages(times: Array) -> list[tuple[int, float]]:
    """Return first stages worth trying: of each algorithm, all its runtimes or some quantiles of them."""
    n, k = times.shape
    each = int(np.clip(_WORK / (n * k**3), 1, _MOST_SWITCHES))
    firsts = []
    for algorithm in range(k):
        points = np.unique(times[np.isfinite(times[:, algorithm]), algorithm])
        wanted = np.linspace(0, len(points) - 1, each + 2)[1:-1] if len(points) > each else range(len(points))
        firsts += [(algorithm, float(points[int(at)])) for at in wanted]
    return firsts


def _continued(first: tuple[int, float], times: Array, cutoff: float, late: float) -> Stages:
    """Return the best stages that begin with `first`: a pair for the instances and the time it leaves."""
    algorithm, seconds = first
    if seconds >= cutoff:
        return _stages([], algorithm, cutoff)
    left = times[times[:, algorithm] > seconds]
    rest, lost = cutoff - seconds, late - seconds  # what follows begins later
    pair = _best_pair(np.where(left <= rest, left, np.inf), rest, lost)
    return _stages([first, *pair[:-1]], pair[-1].algorithm, cutoff)


def _improved(stages: Stages, times: Array, cutoff: float, late: float) -> Stages:
    """Return improved stages, alternating between the best beginning and the best end."""
    cost = _cost(stages, times, late)
    while len(stages) == 3:
        end = (stages[1], stages[2]._replace(seconds=cutoff))  # how long it gets is up to the beginning
        following = _totals(times, spend(end, times)[:, None], cutoff, late)
        _, algorithm, seconds = min(
            (float(totals.min()), algorithm, float(points[int(totals.argmin())]))
            for algorithm, (points, totals) in enumerate(following)
        )
        candidate = _continued((algorithm, seconds), times, cutoff, late)
        better = _cost(candidate, times, late)
        if better >= cost:
            break
        stages, cost = candidate, better
    return stages
