"""Types of the compiled kernels; what they do is said in plan_kernels.pyx."""

import numpy as np
from numpy.typing import NDArray

_Reals = NDArray[np.float64]

def curve_tables(log_odds: _Reals, cuts: _Reals) -> tuple[_Reals, _Reals]: ...
def curve_values(
    survival: _Reals, integral: _Reals, cuts: _Reals, times: _Reals
) -> tuple[_Reals, _Reals]: ...
def failure_likelihood(survival: _Reals, cuts: _Reals, failed: _Reals) -> _Reals: ...
def best_plan(
    survival: _Reals,
    integral: _Reals,
    cuts: _Reals,
    weights: _Reals,
    failed: _Reals,
    barred: NDArray[np.uint8],
    left: float,
    unsolved: float,
    nearly_all: float,
    longer: float,
    whole: bool,
    before_failures: bool = False,
) -> tuple[int, float, _Reals] | None: ...
