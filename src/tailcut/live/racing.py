"""Races on real machines: who is at it since when, who has ended, and when another may join.

`tailcut run` and `tailcut solve` both keep a race's book here; who joins is the selector's choice
(`Selector.race`). Each core has the time of the cutoff, by the clock that the portfolio counts by: on a
machine with fewer cores than runners CPU time passes more slowly than wall time, and nobody loses by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_AT_END = 0.99
"""From this share of its time on, a core is given to nobody any more."""


class Runners(NamedTuple):
    """Who takes part in a race, and how many may join."""

    k: int
    running: Mapping[str, float]
    """For how many seconds each has been at it."""
    failed: Mapping[str, float]
    """Those that have ended without an answer, and after how many seconds."""
    spent: float
    """Seconds that were used before on the core that is free, features excepted."""


class RaceBook:
    """The book of one race: `k` cores, each with `limit` seconds, the cutoff without what features took.

    >>> book = RaceBook(2, 60.0)
    >>> book.started("a"), book.started("b"), book.room()
    (None, None, None)
    >>> book.ended("b", 2.5, for_good=False)
    >>> book.room()
    Runners(k=1, running={'a': 2.5}, failed={'b': 2.5}, spent=2.5)
    """

    def __init__(self, k: int, limit: float, *, used: float = 0.0) -> None:
        """Begin, or continue a race whose cores were used for so many seconds."""
        self._limit = limit
        self._free = [used] * k
        """What was used of each core that is free."""
        self._running: dict[str, float] = {}
        """What was used of each core before the solver began that runs there."""
        self._failed: dict[str, float] = {}

    @property
    def full(self) -> bool:
        """Whether all cores are in use."""
        return not self._free

    def room(self) -> Runners | None:
        """Return who takes part, if others may join now; None: all cores are in use, or at their end."""
        used = min(self._free, default=self._limit)
        if used >= _AT_END * self._limit:
            return None
        at_it = {name: max(0.0, used - since) for name, since in self._running.items()}
        return Runners(self._free.count(used), at_it, dict(self._failed), used)

    def started(self, solver: str, used: float | None = None) -> None:
        """Add that a solver was begun on the core that was used least, or for so many seconds."""
        least = min(self._free)
        self._free.remove(least)
        self._running[solver] = least if used is None else used

    def ended(self, solver: str, seconds: float, *, for_good: bool) -> None:
        """Add that a solver ended without an answer; `for_good`: more time would not have helped."""
        now = self._running.pop(solver) + seconds
        self._free = [max(idle, now) for idle in self._free] + [
            now
        ]  # on a core without work time passes, too
        self.left_unsolved(solver, seconds, for_good=for_good)

    def left_unsolved(self, solver: str, seconds: float, *, for_good: bool) -> None:
        """Add what is known from before: a run without an answer."""
        self._failed[solver] = self._limit if for_good else seconds
