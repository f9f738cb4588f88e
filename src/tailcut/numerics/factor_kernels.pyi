"""Types of the compiled kernels; what they do is said in factor_kernels.pyx."""

from tailcut.types import Array

def add_row(factor_: Array, row_: Array) -> None: ...
