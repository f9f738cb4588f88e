"""What a trace cost: PARk with feature costs, against the virtual best and the single best solver."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.replay import Replayable, Trace, replay_baseline
from tailcut.types import PENALTY, Array


def paid(runs: Replayable, trace: Trace, penalty: float = PENALTY) -> tuple[Array, NDArray[np.bool_]]:
    """Return the PARk loss of each step and whether it was solved, shapes (n,).

    The loss is the runtime, for a schedule that of all its runs, plus the cost of features. If the sum
    exceeds the cutoff C, the instance is unsolved and the loss is penalty C.
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
class ReferenceCosts:
    """Mean PARk of a scenario's virtual best and single best solver; neither pays for features."""

    vbs: float
    sbs: float

    @staticmethod
    def of(runs: Replayable, penalty: float = PENALTY) -> ReferenceCosts:
        """Return the costs of a scenario."""
        means = (
            float(paid(runs, replay_baseline(runs, name, seed=0, penalty=penalty), penalty)[0].mean())
            for name in ("oracle", "sbs")
        )
        return ReferenceCosts(*means)


def relative(par: float, reference: ReferenceCosts) -> float:
    """Return rePAR = PAR / PAR of the virtual best; 1 is perfect.

    >>> relative(30.0, ReferenceCosts(vbs=10.0, sbs=20.0))
    3.0
    """
    return par / reference.vbs if reference.vbs > 0.0 else math.nan


def normalised(par: float, reference: ReferenceCosts) -> float:
    """Return nPAR = (PAR - VBS) / (SBS - VBS): 0 is perfect, 1 the best single algorithm in hindsight.

    >>> normalised(30.0, ReferenceCosts(vbs=10.0, sbs=20.0))
    2.0
    """
    gap = reference.sbs - reference.vbs
    return (par - reference.vbs) / gap if gap > 0.0 else math.nan
