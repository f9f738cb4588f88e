"""Types of the compiled kernels; what they do is said in arm_kernels.pyx."""

from tailcut.types import Array

def posterior(
    runs: Array, total: Array, middle: float, spread: float, noise: float
) -> tuple[Array, Array]: ...
def population(
    runs: Array,
    total: Array,
    noise: float,
    middle: float,
    middle_weight: float,
    spread: float,
    spread_weight: float,
    steps: int,
) -> tuple[float, float]: ...
