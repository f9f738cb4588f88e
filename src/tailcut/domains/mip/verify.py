"""The program that verifies a solution: ``python -m tailcut.domains.mip.verify FILE OUTPUT``.

OUTPUT is what a solver printed. Bounds, integrality, rows and the objective are verified. That no solution
is better, or that there is none, would be too expensive to check. If solvers claim different objectives, the
code that ran them reports it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tailcut.domains.mip.answers import one_word, parse_solution
from tailcut.domains.mip.mps import Floats, IntegerProgram, read_program
from tailcut.domains.verification import print_verdict, read_to_check
from tailcut.errors import InputError

TOLERANCE = 1e-5
"""Relative to the size of what is compared: solvers compute with floating-point numbers."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the answer of a solver to a program; return 0 if it is confirmed, 1 if refuted."""

    def check(file: Path, output: str, _: str) -> str | None:
        if not output.startswith("Optimal"):
            return None
        return refuted(read_to_check(read_program, file), output)

    return print_verdict("tailcut.domains.mip.verify", "MPS or LP file", check, arguments)


def refuted(program: IntegerProgram, text: str) -> str | None:
    """Return what is wrong with a printed solution, None if nothing is."""
    try:
        claimed, values = parse_solution(text)
    except InputError as error:
        return f"cannot be read: {error}"
    names = [one_word(name) for name in program.names]
    strange = values.keys() - set(names)
    if strange:
        return f"there is no variable {min(strange)}"
    return fault(program, np.array([values.get(name, 0.0) for name in names]), claimed)


def fault(program: IntegerProgram, x: Floats, claimed: float) -> str | None:
    """Return what is wrong with a solution and its claimed objective, None if nothing is."""
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
    size = program.activity(np.abs(x)) if (program.values >= 0).all() else np.abs(activity)
    if (violation > TOLERANCE * (1 + size)).any():
        return f"row {violation.argmax()} is violated by {violation.max():g}"
    objective = program.objective(x)
    if abs(objective - claimed) > TOLERANCE * (1 + abs(objective)):
        return f"the objective is {objective:.8g}, not {claimed:.8g}"
    return None


if __name__ == "__main__":
    sys.exit(main())
