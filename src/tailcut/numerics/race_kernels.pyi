"""Types of the compiled kernels; what they do is said in race_kernels.pyx."""

import numpy as np
from numpy.typing import NDArray

_Reals = NDArray[np.float64]

def run_on(
    survival: _Reals,
    cuts: _Reals,
    grid: _Reals,
    unsolved: _Reals,
    algorithm: int,
    start: float,
    known: float,
    stop: float,
) -> None: ...
def best_for_the_rest(
    survival: _Reals,
    integral: _Reals,
    cuts: _Reals,
    grid: _Reals,
    others: _Reals,
    weights: _Reals,
    failed: _Reals,
    barred: NDArray[np.uint8],
    unsolved: float,
    start: int,
) -> int: ...
