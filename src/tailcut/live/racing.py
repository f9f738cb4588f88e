"""Races on real machines: which solvers run, which have ended, and when another may join.

`tailcut run` and `tailcut solve` both track their races here; the selector chooses who joins
(`Selector.race`). Each core has the whole cutoff, by the portfolio's clock. On a machine with fewer cores
than runners, CPU time passes more slowly than wall time, so no solver loses CPU time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_AT_END = 0.99
"""Once a core has used this share of its time, no other solver starts on it."""


class Runners(NamedTuple):
    """Which solvers take part in a race, and how many more may join."""

    k: int
    running: Mapping[str, float]
    """For how many seconds each has been running."""
    failed: Mapping[str, float]
    """Those that have ended without an answer, and after how many seconds."""
    spent: float
    """Seconds used before on the free core, without the features."""


class RaceBook:
    """The state of one race: `k` cores, each with `limit` seconds, which is the cutoff minus the features.

    >>> book = RaceBook(2, 60.0)
    >>> book.started("a"), book.started("b"), book.room()
    (None, None, None)
    >>> book.ended("b", 2.5, for_good=False)
    >>> book.room()
    Runners(k=1, running={'a': 2.5}, failed={'b': 2.5}, spent=2.5)
    """

    def __init__(self, k: int, limit: float, *, used: float = 0.0) -> None:
        """Begin a race, or continue one whose cores were used for so many seconds."""
        self._limit = limit
        self._free = [used] * k
        """Seconds used on each free core."""
        self._running: dict[str, float] = {}
        """Seconds used on each busy core before its current solver started."""
        self._failed: dict[str, float] = {}

    @property
    def full(self) -> bool:
        """Whether all cores are in use."""
        return not self._free

    def room(self) -> Runners | None:
        """Return the runners if others may join now; None if all cores are busy or used up."""
        used = min(self._free, default=self._limit)
        if used >= _AT_END * self._limit:
            return None
        at_it = {name: max(0.0, used - since) for name, since in self._running.items()}
        return Runners(self._free.count(used), at_it, dict(self._failed), used)

    def started(self, solver: str, used: float | None = None) -> None:
        """Record that a solver started on the least used core, or on one used for so many seconds."""
        least = min(self._free)
        self._free.remove(least)
        self._running[solver] = least if used is None else used

    def ended(self, solver: str, seconds: float, *, for_good: bool) -> None:
        """Record that a solver ended without an answer; `for_good`: more time would not have helped."""
        now = self._running.pop(solver) + seconds
        self._free = [max(idle, now) for idle in self._free] + [now]  # time also passes on an idle core
        self.left_unsolved(solver, seconds, for_good=for_good)

    def left_unsolved(self, solver: str, seconds: float, *, for_good: bool) -> None:
        """Record an earlier run without an answer."""
        self._failed[solver] = self._limit if for_good else seconds
