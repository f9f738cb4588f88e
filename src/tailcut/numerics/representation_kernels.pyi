"""Types of the compiled kernels; what they do is said in representation_kernels.pyx."""

from tailcut.types import Array

def squared_length(x: Array) -> float: ...
def impute(x: Array, seen: Array, total: Array, largest: float, learn: bool) -> Array: ...
def unit_norm(x: Array) -> Array: ...
def appended(x: Array, value: float) -> Array: ...
def signed_log(x: Array) -> Array: ...
def standardise(
    x: Array,
    seen: Array,
    mean: Array,
    squares: Array,
    clip: float,
    scale: float,
    largest: float,
    learn: bool,
) -> Array: ...
def twofold(
    x: Array,
    seen: Array,
    mean: Array,
    squares: Array,
    clip: float,
    scale: float,
    largest: float,
    learn: bool,
    intercept: float,
    missing: float,
) -> Array: ...
