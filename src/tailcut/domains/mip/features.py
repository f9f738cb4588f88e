"""Features of a mixed-integer program's matrix: ``python -m tailcut.domains.mip.features FILE``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.mip.mps import Floats, read_program
from tailcut.domains.programs import entry_point, print_features


def extract(path: str | Path) -> dict[str, float | None]:
    """Return sizes, kinds of rows and variables, and how coefficients, costs and degrees vary."""
    program = read_program(path)
    n, m, k = len(program.names), len(program.row_lower), len(program.values)
    binary = program.whole & (program.lower == 0) & (program.upper == 1)
    equal = program.row_lower == program.row_upper
    ones = np.bincount(program.rows, np.abs(program.values) == 1, minlength=m)
    length = np.bincount(program.rows, minlength=m)
    side = np.where(np.isfinite(program.row_upper), program.row_upper, program.row_lower)
    return {
        "log_variables": float(np.log1p(n)),
        "log_rows": float(np.log1p(m)),
        "log_coefficients": float(np.log1p(k)),
        "density": k / max(n * m, 1),
        "binary": _mean(binary),
        "integer": _mean(program.whole & ~binary),
        "continuous": _mean(~program.whole),
        "unbounded": _mean(~np.isfinite(program.upper)),
        "equalities": _mean(equal),
        "both_sides": _mean(np.isfinite(program.row_lower) & np.isfinite(program.row_upper) & ~equal),
        "unit_rows": _mean((ones == length) & (length > 0)),
        "set_rows": _mean((ones == length) & (length > 1) & (side == 1)),
        "whole_coefficients": _mean(program.values == program.values.round()),
        "negative_coefficients": _mean(program.values < 0),
        "maximise": float(program.maximise),
        "costed": _mean(program.cost != 0),
        **_shape("coefficient", np.log(np.abs(program.values[program.values != 0]))),
        **_shape("cost", np.log(np.abs(program.cost[program.cost != 0]))),
        **_shape("side", np.log1p(np.abs(side[np.isfinite(side)]))),
        **_shape("row_length", np.log1p(length)),
        **_shape("column_length", np.log1p(np.bincount(program.columns, minlength=n))),
    }


def _mean(kind: NDArray[np.bool_]) -> float:
    return float(kind.mean()) if len(kind) else 0.0


def _shape(name: str, values: Floats) -> dict[str, float | None]:
    if not len(values):
        return {f"{name}_mean": 0.0, f"{name}_spread": 0.0, f"{name}_max": 0.0}
    return {
        f"{name}_mean": float(values.mean()),
        f"{name}_spread": float(values.std()),
        f"{name}_max": float(values.max()),
    }


main = entry_point(__name__, print_features, extract, "MPS or LP file")
