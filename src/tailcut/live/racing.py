"""Races on real machines: who is at it since when, who has ended, and when another may join.

`tailcut run` and `tailcut solve` both keep a race's book here; who joins is the selector's choice
(`Selector.race`). Time is wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Runners(NamedTuple):
    """Who takes part in a race, and how many may join."""

    k: int
    running: Mapping[str, float]
    """For how many seconds each has been at it."""
    failed: Mapping[str, float]
    """Those that have ended without an answer, and after how many seconds."""
    spent: float
    """Seconds by the clock that were used before, features excepted."""


class RaceBook:
    """The book of one race.

    >>> now = 0.0
    >>> book = RaceBook(2, 60.0, clock=lambda: now)
    >>> _ = book.started("a"), book.started("b")
    >>> book.room() is None
    True
    >>> now = 3.0
    >>> book.ended("b", 2.5, for_good=False)
    >>> book.room()
    Runners(k=1, running={'a': 3.0}, failed={'b': 2.5}, spent=3.0)
    """

    def __init__(
        self,
        k: int,
        limit: float,
        *,
        elapsed: float = 0.0,
        failed: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin, or continue after `elapsed` of `limit` seconds: the cutoff without what features took."""
        self._k, self._limit, self._clock = k, limit, clock
        self._began = clock() - elapsed
        self._running: dict[str, float] = {}
        """With the times at which they were begun."""
        self._failed = dict(failed or {})

    @property
    def now(self) -> float:
        """Seconds since the race began."""
        return self._clock() - self._began

    @property
    def full(self) -> bool:
        """Whether all cores are in use."""
        return len(self._running) >= self._k

    def room(self) -> Runners | None:
        """Return who takes part, if others may join now; None: all cores are in use, or the time is over."""
        now = self.now
        if self.full or now >= self._limit:
            return None
        at_it = {name: now - since for name, since in self._running.items()}
        return Runners(self._k - len(at_it), at_it, dict(self._failed), now)

    def started(self, solver: str) -> float:
        """Add that a solver was begun; return when, in seconds since the race began."""
        now = self.now
        self._running[solver] = now
        return now

    def ended(self, solver: str, seconds: float, *, for_good: bool) -> None:
        """Add that a solver ended without an answer; `for_good`: more time would not have helped."""
        self._running.pop(solver, None)
        self._failed[solver] = self._limit if for_good else seconds
