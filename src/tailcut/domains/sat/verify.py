"""The program that verifies an answer: ``python -m tailcut.domains.sat.verify FILE OUTPUT``.

OUTPUT is what a solver printed. A model is checked clause by clause. That there is none cannot be checked
here, so it is let pass: solvers that contradict each other are found by whoever ran them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.oneline import OneLineParser
from tailcut.domains.sat.answers import SatStatus, parse_output
from tailcut.domains.sat.dimacs import read
from tailcut.domains.sat.formula import satisfies
from tailcut.errors import TailcutError


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify what a solver printed about a formula; return 0 if it holds, 1 if it does not."""
    parser = OneLineParser(
        prog="python -m tailcut.domains.sat.verify",
        description="Verify the model that a solver printed: exit code 0 if it satisfies the formula, or 1.",
    )
    parser.add_argument("file", metavar="FILE", help="the formula (DIMACS CNF; plain, .gz or .xz)")
    parser.add_argument("output", metavar="OUTPUT", help="a file with what the solver printed")
    try:
        given = parser.parse_args(arguments)
        problem = refuted(Path(given.file), Path(given.output).read_text(errors="replace"))
    except SystemExit:  # --help has been printed
        return 0
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"tailcut.domains.sat.verify: {error}\n")
        return 2
    if problem is not None:
        sys.stderr.write(f"{problem}\n")
    return 0 if problem is None else 1


def refuted(formula: Path, output: str) -> str | None:
    """Return what is wrong with an answer, None if nothing is."""
    answer = parse_output(output)
    if answer.status is not SatStatus.SATISFIABLE:
        return None
    if answer.model is None:
        return "there is no whole model (v lines that end in 0)"
    return None if satisfies(read(formula), answer.model) else "the model does not satisfy every clause"


if __name__ == "__main__":
    sys.exit(main())
