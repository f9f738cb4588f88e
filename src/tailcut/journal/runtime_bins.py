"""An algorithm's runtimes in a fixed number of bins, enough for its survival curve."""

from __future__ import annotations

import math
from typing import NamedTuple

from tailcut.state import Stateful

BINS = 64
_DECADES = 5.0
"""The bins reach from the cutoff down to this many powers of ten below it."""


class SurvivalStep(NamedTuple):
    """The share of runs that are still unsolved after some time, among those that ran that long."""

    time: float
    survival: float
    at_risk: int


class RuntimeBins(Stateful):
    """Counts of runs by when they ended, in bins of equal width on a logarithmic scale up to the cutoff.

    >>> bins = RuntimeBins(cutoff=100.0)
    >>> for seconds in (1.0, 10.0, 10.0):
    ...     bins.add(seconds, solved=True)
    >>> bins.add(100.0, solved=False)
    >>> [(round(point.time), point.survival, point.at_risk) for point in bins.curve()]
    [(0, 1.0, 4), (1, 0.75, 4), (12, 0.25, 3), (100, 0.25, 1)]
    """

    STATE = ("solved", "censored")

    def __init__(self, cutoff: float) -> None:
        self.cutoff = cutoff
        self.solved = [0] * BINS
        self.censored = [0] * BINS

    def add(self, seconds: float, *, solved: bool) -> None:
        """Count a run that was solved, or stopped, after so many seconds."""
        share = seconds / self.cutoff
        place = 0 if share <= 0.0 else math.ceil(BINS * (1.0 + math.log10(share) / _DECADES)) - 1
        counts = self.solved if solved else self.censored
        counts[min(max(place, 0), BINS - 1)] += 1

    def curve(self) -> list[SurvivalStep]:
        """Return the Kaplan-Meier estimate at the end of every bin in which a run was solved.

        The first point is the beginning, the last the end of the last bin in which any run ended.
        """
        at_risk = sum(self.solved) + sum(self.censored)
        if not at_risk:
            return []
        survival, points = 1.0, [SurvivalStep(0.0, 1.0, at_risk)]
        last = max(place for place in range(BINS) if self.solved[place] or self.censored[place])
        for place, (solved, censored) in enumerate(zip(self.solved, self.censored, strict=True)):
            survival *= 1.0 - solved / at_risk if solved else 1.0
            if solved or place == last:
                points.append(SurvivalStep(self._end(place), survival, at_risk))
            at_risk -= solved + censored
        return points

    def _end(self, place: int) -> float:
        return float(self.cutoff * 10.0 ** (_DECADES * ((place + 1) / BINS - 1.0)))
