"""Types of the compiled kernels; what they do is said in survival_kernels.pyx."""

import numpy as np
from numpy.typing import NDArray

_Reals = NDArray[np.float64]
_Numbers = NDArray[np.int64]
_Small = NDArray[np.int32]
_Bytes = NDArray[np.uint8]

def intervals_passed(
    known: float, end: float, solved: bool, cuts: _Reals, trace: float
) -> tuple[int, _Reals, _Reals]: ...
def run_likelihood(odds: _Reals, algorithm: int, start: int, solved: _Reals, weights: _Reals) -> _Reals: ...
def weigh_outcome(
    classes: _Reals, before: _Reals, after: _Reals, n_hardness: int
) -> tuple[_Reals, _Reals, float, float]: ...
def weigh_run(
    odds: _Reals,
    survival: _Reals,
    cuts: _Reals,
    classes: _Reals,
    n_hardness: int,
    failed: _Reals,
    algorithm: int,
    end: float,
    solved: bool,
    trace: float,
) -> tuple[int, _Reals, _Reals, _Reals, _Reals, float, float] | None: ...
def learn_intervals(
    level: _Reals,
    level_variance: _Reals,
    common: _Reals,
    skill: _Reals,
    skill_variance: _Reals,
    turn: _Reals,
    turn_variance: _Reals,
    algorithm: int,
    start: int,
    solved: _Reals,
    weights: _Reals,
    hardness: _Reals,
    classes: _Reals,
) -> None: ...
def slopes(
    odds: _Reals,
    end: _Reals,
    solved: _Bytes,
    order: _Small,
    cuts: _Reals,
    shift: _Reals,
    frequency: _Reals,
    least: float,
) -> tuple[_Reals, _Reals, _Reals]: ...
def share_paths(
    roots: _Numbers,
    feature: _Small,
    threshold: _Reals,
    child: _Small,
    spans: _Small,
    members: _Small,
    x: _Reals,
    shrinkage: float,
    largest: int,
    weight: _Reals,
) -> None: ...
def past_classes(
    end: _Reals, rows: _Numbers, weight: _Reals, trust: float, least: float
) -> tuple[_Numbers, _Reals]: ...
def keep_run(
    ends: _Reals,
    solutions: _Bytes,
    orders: _Small,
    classes: _Reals,
    row: int,
    algorithm: int,
    end: float,
    solved: bool,
    recorded: bool,
    known: _Reals,
) -> None: ...
def odds_by_class(
    base: _Reals,
    shift: _Reals,
    end: _Reals,
    solved: _Bytes,
    hardness: _Reals,
    rows: _Numbers,
    cuts: _Reals,
    scale: float,
    doubt: float,
    tail: float,
) -> _Reals: ...
