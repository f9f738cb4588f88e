"""When to sample a running solver, and whether it has reached a limit."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection

from tailcut.live.limits import tree
from tailcut.live.limits.cgroups import Group
from tailcut.live.limits.solver_process import StartUp
from tailcut.live.limits.values import Ending, ResourceLimits

_CORES = os.cpu_count() or 1
_SHORTEST = 0.001
"""Seconds between two samples of the CPU clock when the limit is near."""
_MEMORY_SHORTEST, _MEMORY_LONGEST = 0.005, 0.05
"""Seconds between two samples of the memory, if it is limited."""
_GROWTH = 8 * 2**30
"""The assumed maximum growth of a solver in bytes per second, for choosing the next sample."""
_DELAY_PAUSE = 0.1
"""Minimum seconds between two samples of how long the run waited for a processor."""
_IDLE_LONGEST = 1.0
"""Seconds between two samples of the memory, if only its peak is needed."""


class Watch:
    """The limits of one run, and the times of the next samples.

    The group counts what the tree misses, and the tree counts what has left the group; the larger figure
    counts.
    """

    def __init__(self, limits: ResourceLimits, group: Group | None, start_up: StartUp) -> None:
        self._limits, self._group, self._start_up = limits, group, start_up
        self._clock = tree.TreeClock()
        self.peak = 0
        self.waited = 0.0
        """Seconds that the run's processes were ready and had no processor, as far as was looked up."""
        self._delay_due = 0.0
        # With all cores at work the limit cannot be reached earlier; most short runs are over by then.
        first = math.inf if limits.cpu is None else max(limits.cpu / _CORES, _SHORTEST)
        self._cpu_due = time.monotonic() + first
        self._enforced = group is not None and group.enforces_memory
        self._pause = _MEMORY_LONGEST if self._enforced else _MEMORY_SHORTEST
        seen = group is not None and group.peak_memory() is not None
        polls_memory = limits.memory is not None or not seen
        self._memory_due = time.monotonic() + self._pause if polls_memory else math.inf

    def due(self) -> float:
        """Return the time of the next sample, infinity if none is needed."""
        wall = self._limits.wall
        end = math.inf if wall is None else self._start_up.time + wall
        return min(self._cpu_due, self._memory_due, end)

    def limit_reached(self) -> Ending | None:
        """Return the limit that is reached, None if the run may continue."""
        now = time.monotonic()
        if now >= self._cpu_due and self._cpu_is_used_up(now):
            return Ending.CPU_LIMIT
        if self._limits.wall is not None:
            self._start_up.read()
            if now - self._start_up.time >= self._limits.wall:
                self._sample_delay()
                return Ending.WALL_LIMIT
        if now >= self._memory_due and self._memory_is_used_up(now):
            return Ending.MEMORY_LIMIT
        return None

    def cpu(self) -> float:
        """Return the CPU seconds of the run without its start-up: never too high."""
        by_tree, by_group = self._clock.cpu(), 0.0 if self._group is None else self._group.cpu()
        self._start_up.read()  # after the clocks: if nothing is there, it was all start-up until now
        return max(by_tree - self._start_up.since_fork, by_group - self._start_up.since_joining, 0.0)

    def _cpu_is_used_up(self, now: float) -> bool:
        assert self._limits.cpu is not None
        left = self._limits.cpu - self.cpu()
        if self._limits.wall is not None and now >= self._delay_due:
            self._sample_delay()  # also for processes that end before the wall-clock limit
            self._delay_due = now + _DELAY_PAUSE
        cost = time.monotonic() - now
        # Even if it uses all cores, it cannot be far beyond the limit by then.
        self._cpu_due = now + max(left / _CORES, _SHORTEST, cost)
        return left <= 0

    def _sample_delay(self) -> None:
        self.waited = max(self._clock.waited(), 0.0 if self._group is None else self._group.waited())

    def _memory_is_used_up(self, now: float) -> bool:
        self._start_up.read()
        if not self._start_up.over:  # it still is a copy of ours, and shares our memory
            self._memory_due = now + _MEMORY_SHORTEST
            return False
        processes = list(tree.below(os.getpid()))
        if self._enforced and self._all_in_group(processes):  # then the kernel enforces the limit
            self._memory_due = now + _MEMORY_LONGEST
            return False
        held = tree.memory_held(processes)
        used, limit = held.now, self._limits.memory
        if len(processes) > 1 and (limit is None or used > limit):
            used = tree.memory_share(processes)  # pages they share were counted once for each
        self.peak = max(self.peak, held.peak, used)
        cost = time.monotonic() - now
        if limit is None:
            self._pause = min(2 * self._pause, _IDLE_LONGEST)
        else:
            self._pause = min(max((limit - used) / _GROWTH, _MEMORY_SHORTEST), _MEMORY_LONGEST)
        self._memory_due = now + max(self._pause, 20 * cost)
        return limit is not None and used > limit

    def _all_in_group(self, processes: Collection[int]) -> bool:
        """Return whether none of the processes has moved itself to another group, as root may."""
        assert self._group is not None
        outside = set(processes) - set(self._group.processes())
        return not any(map(tree.is_alive, outside))
