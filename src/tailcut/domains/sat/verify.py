"""The program that verifies an answer: ``python -m tailcut.domains.sat.verify FILE OUTPUT``.

OUTPUT is what a solver printed. A model is verified clause by clause. Unsatisfiability is not verified:
contradictions between solvers are found elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.sat.answers import SatStatus, parse_output
from tailcut.domains.sat.dimacs import read
from tailcut.domains.sat.formula import satisfies
from tailcut.domains.verification import print_verdict, read_to_check


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the answer of a solver to a formula; return 0 if it is confirmed, 1 if refuted."""
    return print_verdict(
        "tailcut.domains.sat.verify", "DIMACS CNF file", lambda file, said, _: refuted(file, said), arguments
    )


def refuted(formula: Path, output: str) -> str | None:
    """Return what is wrong with an answer, None if nothing is."""
    answer = parse_output(output)
    if answer.status is not SatStatus.SATISFIABLE:
        return None
    if answer.model is None:
        return "there is no model (v lines of whole numbers)"
    satisfied = satisfies(read_to_check(read, formula), answer.model)
    return None if satisfied else "the model does not satisfy every clause"


if __name__ == "__main__":
    sys.exit(main())
