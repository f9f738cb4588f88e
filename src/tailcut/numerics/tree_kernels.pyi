"""Types of the compiled kernels; what they do is said in tree_kernels.pyx."""

import numpy as np
from numpy.typing import NDArray

_Reals = NDArray[np.float64]
_Numbers = NDArray[np.int64]
_Small = NDArray[np.int32]

RUN: np.dtype[np.void]

def grow_trees(
    x: _Reals,
    columns: _Reals,
    runs: NDArray[np.void],
    root: _Reals,
    candidates: int,
    min_leaf: int,
    max_depth: int,
    shrinkage: float,
    seeds: list[int],
) -> tuple[_Numbers, _Numbers, _Small, _Reals, _Small, _Reals, _Small, _Small]: ...
def reach(roots: _Numbers, feature: _Small, threshold: _Reals, child: _Small, x: _Reals) -> _Numbers: ...
def mean_leaf(
    roots: _Numbers, feature: _Small, threshold: _Reals, child: _Small, loss: _Reals, x: _Reals
) -> _Reals: ...
