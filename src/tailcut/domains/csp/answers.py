"""Features of a constraint model's text and data, and solutions as MiniZinc prints them, verified.

To verify one, every printed variable is fixed to its value, and a solver must still find a solution with the
same objective. FlatZinc files, and models without an available solver, are not verified. Optimality is not
verified.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from tailcut.domains.csp import DOMAIN
from tailcut.domains.csp.solve import model_files, solved
from tailcut.domains.domain import domain_table, find_solvers
from tailcut.domains.file_features import extract as describe_file
from tailcut.domains.programs import entry_point, print_features, print_verdict, read_bytes

_WORD = re.compile(rb"[A-Za-z_]\w*")
_WORDS = {name: words.encode().split() for name, words in domain_table("csp")["words"].items()}


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
    claimed = parse_solution_lines(text)
    available = find_solvers(DOMAIN)
    if not claimed or file.suffix == ".fzn" or not available:
        return None
    solver, way = next(iter(available.items()))
    objective = claimed.pop("_objective", None)
    with tempfile.NamedTemporaryFile("w", suffix=".mzn") as extra:
        extra.write("".join(f"constraint {name} = {value};\n" for name, value in claimed.items()))
        extra.flush()
        again = parse_solution_lines(solved(solver, way.program, file, extra.name))
    if not again:
        return "no solution has these values"
    if again.get("_objective") != objective:
        return f"the objective is {again.get('_objective')}, not {objective}"
    return None


def extract(path: str | Path) -> dict[str, float | None]:
    """Return what a model's words are, and what is known about the instance's own file as of any file."""
    text = b"\n".join(read_bytes(file, 4 * 2**20) for file in model_files(Path(path)))
    counts = Counter(_WORD.findall(re.sub(rb"%[^\n]*", b"", text)))
    named = {f"log_{name}": sum(counts[word] for word in group) for name, group in _WORDS.items()}
    return {**{name: math.log1p(count) for name, count in named.items()}, **describe_file(path)}


features = partial(print_features, __name__, extract, "MiniZinc or FlatZinc file")
verify = entry_point(__name__, print_verdict, "model or its data (.mzn, .dzn, .fzn)", refuted)
