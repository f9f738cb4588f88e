"""The program that verifies a solution: ``python -m tailcut.domains.csp.verify FILE OUTPUT``.

Every printed variable is fixed to its value, and a solver must still find a solution with the same objective.
FlatZinc files, and models without an available solver, are not verified. Optimality is not verified.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.csp import DOMAIN
from tailcut.domains.csp.answers import parse_solution_lines
from tailcut.domains.csp.solve import solved
from tailcut.domains.found import find_solvers
from tailcut.domains.verification import print_verdict


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the answer of a solver to a model; return 0 if it is confirmed, 1 if refuted."""
    return print_verdict(
        "tailcut.domains.csp.verify",
        "model or its data (.mzn, .dzn, .fzn)",
        lambda file, said, _: refuted(file, said),
        arguments,
    )


def refuted(file: Path, text: str) -> str | None:
    """Return what is wrong with a printed solution, None if nothing is."""
    claimed = parse_solution_lines(text)
    found = next((one for one in find_solvers(DOMAIN) if one.way is not None), None)
    if not claimed or file.suffix == ".fzn" or found is None:
        return None
    objective = claimed.pop("_objective", None)
    fixed = "".join(f"constraint {name} = {value};\n" for name, value in claimed.items())
    again = parse_solution_lines(_fixed(found.solver.name, found.program, file, fixed))
    if not again:
        return "no solution has these values"
    if again.get("_objective") != objective:
        return f"the objective is {again.get('_objective')}, not {objective}"
    return None


def _fixed(solver: str, program: str | None, file: Path, constraints: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".mzn") as extra:
        extra.write(constraints)
        extra.flush()
        return solved(solver, program, file, extra.name)


if __name__ == "__main__":
    sys.exit(main())
