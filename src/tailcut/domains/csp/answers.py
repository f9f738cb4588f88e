"""Solutions as MiniZinc prints them, and the program that verifies one.

``python -m tailcut.domains.csp.answers FILE OUTPUT``: every printed variable is fixed to its value, and a
solver must still find a solution with the same objective. FlatZinc files, and models without an available
solver, are not verified. Optimality is not verified.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tailcut.domains.csp import DOMAIN
from tailcut.domains.csp.solve import solved
from tailcut.domains.domain import find_solvers
from tailcut.domains.programs import entry_point, print_verdict


def parse_solution_lines(text: str) -> dict[str, str]:
    r"""Return the last solution that was printed, by name; empty if there is none.

    >>> parse_solution_lines("x = 1;\n----------\nx = 2;\n_objective = 2;\n----------\n==========\n")
    {'x': '2', '_objective': '2'}
    """
    solutions = re.split(r"^----------\s*$", text, flags=re.M)
    if len(solutions) < 2:
        return {}
    return dict(re.findall(r"^(\w+) = (.*?);\s*$", solutions[-2], flags=re.M | re.S))


def refuted(file: Path, text: str, _: str = "") -> str | None:
    """Return what is wrong with a printed solution, None if nothing is."""
    claimed = parse_solution_lines(text)
    available = next((found for found in find_solvers(DOMAIN) if found.way is not None), None)
    if not claimed or file.suffix == ".fzn" or available is None:
        return None
    objective = claimed.pop("_objective", None)
    with tempfile.NamedTemporaryFile("w", suffix=".mzn") as extra:
        extra.write("".join(f"constraint {name} = {value};\n" for name, value in claimed.items()))
        extra.flush()
        again = parse_solution_lines(solved(available.solver.name, available.program, file, extra.name))
    if not again:
        return "no solution has these values"
    if again.get("_objective") != objective:
        return f"the objective is {again.get('_objective')}, not {objective}"
    return None


verify = entry_point(__name__, print_verdict, "model or its data (.mzn, .dzn, .fzn)", refuted)
