"""Runs that are due regardless of scores, so that no algorithm is ruled out untried or by one bad run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tailcut.numerics.ranges import NonNegative, Positive
from tailcut.types import Array


@dataclass(frozen=True, slots=True)
class FirstRuns:
    """By step t, `pace` sqrt(t) of K algorithms are tried; when all are, each `again` log2(t) / K times.

    An infinite pace tries all of them first; a pace of 0 leaves it to the scores. With a large portfolio and
    a short stream, sqrt(t) leaves some untried, which pays off: first runs of thirty algorithms may cost more
    than they ever gain. The logarithm ensures, at almost no cost, that no algorithm is given up for good
    because it failed on the one instance it was tried on.

    >>> gradual = FirstRuns(pace=1.0, again=1.0)
    >>> [gradual.due(np.array([runs, 0.0])) for runs in (0.0, 1.0)]
    [True, True]
    >>> [gradual.due(np.array([runs, 1.0, 0.0])) for runs in (1.0, 2.0, 3.0)]
    [False, False, True]
    >>> [gradual.due(np.array([runs, 1.0])) for runs in (1.0, 2.0, 3.0)]
    [False, False, True]
    """

    pace: Positive = math.inf
    again: NonNegative = 0.0
    in_order: bool = True
    """Whether the first of those that have run least is next, instead of a random one."""

    def due(self, runs: Array) -> bool:
        """Return whether an algorithm that has run least is due, after so many `runs` of each, shape (K,)."""
        counts: list[float] = runs.tolist()  # of a few numbers, faster than numpy
        least, step = min(counts), sum(counts) + 1.0
        if least == 0.0:
            return len(counts) - counts.count(0.0) < self.pace * math.sqrt(step)
        return len(counts) * least < self.again * math.log2(step)

    def next(self, runs: Array, rng: np.random.Generator) -> int:
        """Return which algorithm is due."""
        if self.in_order:
            return int(runs.argmin())
        (least,) = (runs == runs.min()).nonzero()
        return int(least[int(rng.integers(len(least)))])
