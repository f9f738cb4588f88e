"""What a trace cost: PARk with feature costs, against the hindsight lines."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.replay import Runs, Trace, look_back
from tailcut.types import Array


def paid(runs: Runs, trace: Trace, penalty: float = 10.0) -> tuple[Array, NDArray[np.bool_]]:
    """Return the PARk loss of each step and whether it was solved, shapes (n,).

    The loss is the runtime, of a schedule that of all its runs, plus what was paid for
    features; where that sum exceeds the cutoff C the instance is unsolved and the loss is penalty C.
    """
    rows, choices, slices = trace.order, trace.choices, trace.slices
    total = runs.runtimes[rows, choices] if slices is None else slices.total
    total = total + trace.feature_cost
    if slices is None:
        solved = runs.solved[rows, choices] & (total <= runs.cutoff)
    else:  # its budgets fit the cutoff; the sum of the parts may be off by a rounding
        solved = slices.solved & (total <= runs.cutoff * (1.0 + 1e-9))
    return np.where(solved, total, penalty * runs.cutoff), solved


@dataclass(frozen=True)
class Lines:
    """Mean PARk of the two hindsight lines of a scenario; neither pays for features."""

    vbs: float
    sbs: float

    @staticmethod
    def of(runs: Runs, penalty: float = 10.0) -> Lines:
        """Return the lines of a scenario."""
        means = (
            float(paid(runs, look_back(runs, line, seed=0, penalty=penalty), penalty)[0].mean())
            for line in ("oracle", "sbs")
        )
        return Lines(*means)


def relative(par: float, lines: Lines) -> float:
    """Return rePAR = PAR / PAR of the virtual best; 1 is perfect.

    >>> relative(30.0, Lines(vbs=10.0, sbs=20.0))
    3.0
    """
    return par / lines.vbs if lines.vbs > 0.0 else math.nan


def normalised(par: float, lines: Lines) -> float:
    """Return nPAR = (PAR - VBS) / (SBS - VBS): 0 is perfect, 1 the best single algorithm in hindsight.

    >>> normalised(30.0, Lines(vbs=10.0, sbs=20.0))
    2.0
    """
    gap = lines.sbs - lines.vbs
    return (par - lines.vbs) / gap if gap > 0.0 else math.nan
