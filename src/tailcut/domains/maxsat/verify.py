"""The program that verifies an optimum: ``python -m tailcut.domains.maxsat.verify FILE OUTPUT``.

The model must satisfy every hard clause and have the cost that is claimed. Optimality is not verified:
contradictions between solvers are found elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.maxsat.answers import parse_optimum
from tailcut.domains.maxsat.wcnf import WeightedFormula, read_wcnf
from tailcut.domains.verification import print_verdict, read_to_check
from tailcut.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the answer of a solver to a formula; return 0 if it is confirmed, 1 if refuted."""

    def check(file: Path, output: str, _: str) -> str | None:
        return refuted(read_to_check(read_wcnf, file), output)

    return print_verdict("tailcut.domains.maxsat.verify", "WCNF file", check, arguments)


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
