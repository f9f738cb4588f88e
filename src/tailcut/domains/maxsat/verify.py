"""The program that verifies an optimum: ``python -m tailcut.domains.maxsat.verify FILE OUTPUT``.

The model must satisfy every hard clause and have the cost that is claimed. That none is cheaper is not
checked: solvers that claim different costs are found by whoever ran them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.maxsat.answers import parse_optimum
from tailcut.domains.maxsat.wcnf import WeightedFormula, read_wcnf
from tailcut.domains.oneline import OneLineParser
from tailcut.errors import InputError, TailcutError


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify what a solver printed about a formula; return 0 if it holds, 1 if it does not."""
    parser = OneLineParser(
        prog="python -m tailcut.domains.maxsat.verify",
        description="Verify the model and the cost that a solver printed: exit code 1 refutes them.",
    )
    parser.add_argument("file", metavar="FILE", help="the formula (WCNF)")
    parser.add_argument("output", metavar="OUTPUT", help="a file with what the solver printed")
    try:
        given = parser.parse_args(arguments)
        problem = refuted(read_wcnf(given.file), Path(given.output).read_text(errors="replace"))
    except SystemExit:  # --help has been printed
        return 0
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"tailcut.domains.maxsat.verify: {error}\n")
        return 2
    if problem is not None:
        sys.stderr.write(f"{problem}\n")
    return 0 if problem is None else 1


def refuted(formula: WeightedFormula, text: str) -> str | None:
    """Return what is wrong with a printed optimum, None if nothing is."""
    try:
        claimed = parse_optimum(text)
    except InputError as error:
        return str(error)
    if claimed is None:
        return None
    cost = formula.cost(claimed.model)
    if cost is None:
        return "the model breaks a hard clause"
    return None if cost == claimed.cost else f"the model costs {cost}, not {claimed.cost}"


if __name__ == "__main__":
    sys.exit(main())
