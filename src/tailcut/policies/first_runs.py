"""Runs that are due regardless of scores, so that no algorithm is ruled out untried or by one bad run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tailcut.numerics.ranges import NonNegative, Positive
from tailcut.types import Array


@dataclass(frozen=True, slots=True)
class FirstRuns:
    """After L timeouts, `pace` sqrt(1 + 2 L) algorithms are tried; by step t each `again` log2(t) / K times.

    What another algorithm could gain is at most what was lost so far. So first runs follow the losses: where
    half of all runs time out, sqrt(t) algorithms are tried by step t, and where the first ones solve nearly
    everything, hardly any other. An infinite pace tries all of them first; a pace of 0 leaves it to the
    scores. With a large portfolio and a short stream, some are left untried, which pays off: first runs of
    thirty algorithms may cost more than they ever gain. The logarithm, for algorithms that were all tried,
    ensures at almost no cost that none is given up for good because it failed on its one instance.

    >>> gradual = FirstRuns(pace=1.0, again=1.0)
    >>> [gradual.due(np.array([runs, 0.0])) for runs in (0.0, 1.0)]
    [True, True]
    >>> [gradual.due(np.array([runs, 1.0, 0.0])) for runs in (1.0, 2.0, 3.0)]
    [False, False, True]
    >>> runs = np.array([3.0, 1.0, 0.0])
    >>> [gradual.due(runs, outcome * runs) for outcome in (-1.0, 1.0)]  # all cost nothing, all timed out
    [False, True]
    >>> [gradual.due(np.array([runs, 1.0])) for runs in (1.0, 2.0, 3.0)]
    [False, False, True]
    """

    pace: Positive = math.inf
    again: NonNegative = 0.0
    in_order: bool = True
    """Whether the first of those that have run least is next, instead of a random one."""

    def due(self, runs: Array, excess: Array | None = None) -> bool:
        """Return whether an algorithm that has run least is due, after so many `runs` of each, shape (K,).

        A run whose outcome is not known counts as half a timeout. `excess` (K,) is what the known ones add to
        twice that: 1 for a timeout, -1 for a run that cost nothing.
        """
        counts: list[float] = runs.tolist()  # of a few numbers, faster than numpy
        least, step = min(counts), sum(counts) + 1.0
        if least == 0.0:
            lost = step if excess is None else max(step + sum(excess.tolist()), 1.0)
            return len(counts) - counts.count(0.0) < self.pace * math.sqrt(lost)
        return len(counts) * least < self.again * math.log2(step)

    def next(self, runs: Array, rng: np.random.Generator) -> int:
        """Return which algorithm is due."""
        counts: list[float] = runs.tolist()
        least = min(counts)
        if self.in_order:
            return counts.index(least)
        places = [place for place, count in enumerate(counts) if count == least]
        return places[int(rng.integers(len(places)))]
