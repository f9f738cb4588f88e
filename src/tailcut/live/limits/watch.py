"""When to sample a running solver, and whether it has reached a limit."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass

from tailcut.live.limits import memory
from tailcut.live.limits.cgroups import Group
from tailcut.live.limits.run_delay import RunDelay
from tailcut.live.limits.tree import Tree
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


class Beginning:
    """The start-up report of the solver's process: everything before the solver is entered is start-up."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self.pipe = pipe
        self.since_fork = self.since_joining = 0.0
        """CPU seconds that belong to the start-up: by the clock of the tree, by that of the group."""
        self.time = time.monotonic()
        self.resident = 0
        """The most memory, in KiB, that the process had held when it was entered."""
        self.entered = False
        self.over = False
        """Whether nothing more will be reported, because the program has been entered."""
        self.failure = ""
        self._text = b""

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.pipe)

    def read(self) -> int:
        """Read what has been reported and return its length; 0 when nothing more will be."""
        try:
            piece = os.read(self.pipe, 1 << 16)
        except BlockingIOError:
            return -1
        self.over = not piece
        self._text += piece
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            report = json.loads(line)
            self.failure = report.get("failed", "")
            if "entered" in report:
                self.since_fork, self.since_joining, self.time, self.resident = report["entered"]
                self.entered = True
        return len(piece)


@dataclass
class Watch:
    """The limits of one run, and the times of the next samples."""

    limits: ResourceLimits
    tree: Tree
    group: Group | None
    """Counts what the tree misses, and the tree counts what has left the group; the larger figure counts."""
    beginning: Beginning

    def __post_init__(self) -> None:
        self.peak = 0
        self.waited = 0.0
        """Seconds that the run's processes were ready and had no processor, as far as was looked up."""
        self._delay, self._delay_due = RunDelay(), 0.0
        # With all cores at work the limit cannot be reached earlier; most short runs are over by then.
        first = math.inf if self.limits.cpu is None else max(self.limits.cpu / _CORES, _SHORTEST)
        self._cpu_due = time.monotonic() + first
        self._enforced = self.group is not None and self.group.enforces_memory
        self._pause = _MEMORY_LONGEST if self._enforced else _MEMORY_SHORTEST
        seen = self.group is not None and self.group.peak_memory() is not None
        polls_memory = self.limits.memory is not None or not seen
        self._memory_due = time.monotonic() + self._pause if polls_memory else math.inf

    def due(self) -> float:
        """Return the time of the next sample, infinity if none is needed."""
        end = math.inf if self.limits.wall is None else self.beginning.time + self.limits.wall
        return min(self._cpu_due, self._memory_due, end)

    def look(self) -> Ending | None:
        """Return the limit that is reached, None if the run may continue."""
        now = time.monotonic()
        if now >= self._cpu_due and self._cpu_is_used_up(now):
            return Ending.CPU_LIMIT
        if self.limits.wall is not None:
            self.beginning.read()
            if now - self.beginning.time >= self.limits.wall:
                self._look_at_delay()
                return Ending.WALL_LIMIT
        if now >= self._memory_due and self._memory_is_used_up(now):
            return Ending.MEMORY_LIMIT
        return None

    def cpu(self) -> float:
        """Return the CPU seconds of the run without its start-up: never too high."""
        tree, group = self.tree.cpu(), 0.0 if self.group is None else self.group.cpu()
        self.beginning.read()  # after the clocks: if nothing is there, it was all start-up until now
        return max(tree - self.beginning.since_fork, group - self.beginning.since_joining, 0.0)

    def _cpu_is_used_up(self, now: float) -> bool:
        assert self.limits.cpu is not None
        left = self.limits.cpu - self.cpu()
        if self.limits.wall is not None and now >= self._delay_due:
            self._look_at_delay()  # also for processes that end before the wall-clock limit
            self._delay_due = now + _DELAY_PAUSE
        cost = time.monotonic() - now
        # Even if it uses all cores, it cannot be far beyond the limit by then.
        self._cpu_due = now + max(left / _CORES, _SHORTEST, cost)
        return left <= 0

    def _all_in_group(self, processes: list[int]) -> bool:
        """Return whether none of the processes has moved itself to another group, as root may."""
        assert self.group is not None
        return set(processes) <= {*self.group.processes(), *self.tree.processes_gone(processes)}

    def _look_at_delay(self) -> None:
        self.waited = max(self._delay.look(), 0.0 if self.group is None else self.group.waited())

    def _memory_is_used_up(self, now: float) -> bool:
        self.beginning.read()
        if not self.beginning.over:  # it still is a copy of ours, and shares our memory
            self._memory_due = now + _MEMORY_SHORTEST
            return False
        processes = self.tree.processes()
        if self._enforced and self._all_in_group(processes):  # then the kernel enforces the limit
            self._memory_due = now + _MEMORY_LONGEST
            return False
        held = memory.held(processes)
        self.peak = max(self.peak, held.peak)
        used = held.now
        limit = self.limits.memory
        if len(processes) > 1 and (limit is None or used > limit):
            used = memory.share(processes)  # pages they share were counted once for each
        self.peak = max(self.peak, used)
        cost = time.monotonic() - now
        if limit is None:
            self._pause = min(2 * self._pause, _IDLE_LONGEST)
        else:
            self._pause = min(max((limit - used) / _GROWTH, _MEMORY_SHORTEST), _MEMORY_LONGEST)
        self._memory_due = now + max(self._pause, 20 * cost)
        return limit is not None and used > limit
