"""Features of a program's matrix, and solutions as CBC prints them, verified.

A solution is a headline with the objective, then a line per variable that is not zero:

    Optimal - objective value 14.00000000
          3 x3                     2                       7

The fields are number, name, value and, by CBC only, reduced cost.

Verified are bounds, integrality, rows and the objective. That no solution is better, or that there is none,
would be too expensive to check. If solvers claim different objectives, the code that ran them reports it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.mip.mps import Floats, IntegerProgram, read_program
from tailcut.domains.programs import entry_point, print_features, print_verdict, read_to_check
from tailcut.errors import InputError

TOLERANCE = 1e-5
"""Relative to the size of what is compared: solvers compute with floating-point numbers."""
_HEADLINE = re.compile(r"Optimal - objective value (\S+)")


def one_word(name: str) -> str:
    """Return a variable's name as solutions have it: old MPS files have names with blanks."""
    return name.replace(" ", "_")


def solution_text(names: Sequence[str], values: Sequence[float], objective: float) -> str:
    r"""Return an optimal solution as text.

    >>> solution_text(["x", "y"], [0.0, 2.0], 14.0)
    'Optimal - objective value 14\n      1 y 2\n'
    """
    lines = [f"Optimal - objective value {objective:.12g}"]
    named = zip(names, values, strict=True)
    lines += [
        f"{number:7} {one_word(name)} {value:.15g}" for number, (name, value) in enumerate(named) if value
    ]
    return "\n".join(lines) + "\n"


def parse_solution(text: str) -> tuple[float, dict[str, float]]:
    r"""Return the objective and the variables that are not zero; an error says what cannot be read.

    >>> parse_solution("Optimal - objective value 14.00000000\n  3 x3  2  7\n")
    (14.0, {'x3': 2.0})
    """
    headline, _, rest = text.partition("\n")
    found = _HEADLINE.match(headline)
    if found is None:
        raise InputError(f"the first line must state the objective, got {headline[:80]!r}")
    values = {}
    for line in rest.splitlines():
        fields = [word for word in line.split() if word != "**"]  # CBC's mark of a value out of its bounds
        if not fields:
            continue
        try:
            values[fields[1]] = float(fields[2])
        except (IndexError, ValueError):
            raise InputError(f"a line must have a number, a name and a value, got {line[:80]!r}") from None
    return float(found[1]), values


def refuted(file: Path, output: str, _: str = "") -> str | None:
    if not output.startswith("Optimal"):
        return None
    try:
        claimed, values = parse_solution(output)
    except InputError as error:
        return f"cannot be read: {error}"
    program = read_to_check(read_program, file)
    names = [one_word(name) for name in program.names]
    strange = values.keys() - set(names)
    if strange:
        return f"there is no variable {min(strange)}"
    return _fault(program, np.array([values.get(name, 0.0) for name in names]), claimed)


def _fault(program: IntegerProgram, x: Floats, claimed: float) -> str | None:
    if not np.isfinite([*x, claimed]).all():
        return "every value and the objective must be a finite number"
    outside = np.maximum(program.lower - x, x - program.upper) > TOLERANCE * (1 + np.abs(x))
    if outside.any():
        return f"{program.names[outside.argmax()]} is out of its bounds"
    broken = program.whole & (np.abs(x - x.round()) > TOLERANCE)
    if broken.any():
        return f"{program.names[broken.argmax()]} must be a whole number"
    activity = program.activity(x)
    violation = np.maximum(program.row_lower - activity, activity - program.row_upper)
    # What was added up counts, not the sum: where large terms cancel, it has their rounding errors.
    size = replace(program, values=np.abs(program.values)).activity(np.abs(x))
    excess = violation - TOLERANCE * (1 + size)
    if (excess > 0).any():
        row = int(excess.argmax())
        return f"row {program.row_name(row)} is violated by {violation[row]:g}"
    objective = program.objective(x)
    if abs(objective - claimed) > TOLERANCE * (1 + abs(objective)):
        return f"the objective is {objective:.8g}, not {claimed:.8g}"
    return None


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
    values = values if len(values) else np.zeros(1)
    return {
        f"{name}_mean": float(values.mean()),
        f"{name}_spread": float(values.std()),
        f"{name}_max": float(values.max()),
    }


features = partial(print_features, __name__, extract, "MPS or LP file")
verify = entry_point(__name__, print_verdict, "MPS or LP file", refuted)
