"""What a selector keeps of a run until its outcome is known, and of an instance that is still open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tailcut.numerics.vectors import NO_FEATURES
from tailcut.types import Array, Outcome, Progress, Status

_NOTHING = 1e-9
"""Less than this share of the cutoff is no time left but the rounding of a sum."""


class Run(NamedTuple):
    """One run on one instance; algorithms by name, for their numbers may change meanwhile."""

    algorithm: str
    instance: str | None
    cutoff: float
    x: Array
    """The represented instance, shape (d,)."""
    budget: float
    spent: float = 0.0
    """Seconds used on the instance before this run or, of an open instance, after it."""
    stage: int = 0
    among: tuple[str, ...] | None = None
    """Which algorithms may run on this instance; None: all. Kept for schedules only."""
    failed: Mapping[str, float] | None = None
    """The longest each algorithm has run in vain on this instance; None where one pick is all."""

    @property
    def time_is_left(self) -> bool:
        """Whether another run on the instance makes sense."""
        return self.cutoff - self.spent > _NOTHING * self.cutoff

    def progress(self, algorithms: Sequence[str]) -> Progress:
        """Return how far the instance has come, for the algorithms in this order."""
        failed = self.failed
        if failed is None:
            return Progress(self.cutoff, self.spent, None)
        return Progress(self.cutoff, self.spent, np.array([failed.get(name, 0.0) for name in algorithms]))

    def after(self, outcome: Outcome) -> Run:
        """Return the instance after this run ended without solving it.

        >>> run = Run("a", None, 60.0, np.zeros(0), budget=20.0, spent=5.0, failed={})
        >>> run.after(Outcome.censored(20.0)).spent, run.after(Outcome.censored(20.0)).failed
        (25.0, {'a': 20.0})
        >>> run.after(Outcome.failed()).failed  # it would not have solved it in any time
        {'a': 60.0}
        """
        assert outcome.status is not Status.SOLVED
        # A failed run does not tell when it ended; its whole slice counts unless the caller knows better.
        took, in_vain = (self.budget, self.cutoff) if outcome.time is None else (outcome.time, outcome.time)
        failed = dict(self.failed or {})
        failed[self.algorithm] = max(in_vain, failed.get(self.algorithm, 0.0))
        return self._replace(spent=min(self.cutoff, self.spent + took), failed=failed)

    def still_offered(self, algorithms: Sequence[str]) -> list[int] | None:
        """Return the numbers of those that may run next, None for all: not those that failed for good."""
        failed = self.failed or {}
        lost = {name for name, seconds in failed.items() if seconds >= self.cutoff}
        if self.among is None and not lost:
            return None
        pool = set(algorithms if self.among is None else self.among) - lost
        return [number for number, name in enumerate(algorithms) if name in pool]


def pack(runs: Mapping[int, Run]) -> dict[str, Any]:
    """Return runs as values for a state file."""
    return {
        "rows": [
            [
                number,
                run.algorithm,
                run.instance,
                run.cutoff,
                *run[4:7],
                _plain(run.among),
                _plain(run.failed),
            ]
            for number, run in runs.items()
        ],
        "x": _table([run.x for run in runs.values()]),
    }


def _table(instances: list[Array]) -> Array:
    """Return represented instances as rows; a row of nan is one without features."""
    width = max(map(len, instances), default=0)
    rows = [x if len(x) else np.full(width, np.nan) for x in instances]
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _plain(value: tuple[str, ...] | Mapping[str, float] | None) -> list[str] | dict[str, float] | None:
    return dict(value) if isinstance(value, Mapping) else None if value is None else list(value)


def unpack(state: Mapping[str, Any]) -> dict[int, Run]:
    """Return the runs that `pack` made `state` of; those of format 1 have four columns."""
    found = {}
    for row, x in zip(state["rows"], state["x"], strict=True):
        number, algorithm, instance, cutoff, *more = row
        budget, spent, stage, among, failed = more or (cutoff, 0.0, 0, None, None)
        among = None if among is None else tuple(among)
        x = NO_FEATURES if np.isnan(x).any() else x  # represented, no value is missing
        found[number] = Run(algorithm, instance, cutoff, x, budget, spent, stage, among, failed)
    return found
