"""The program that solves one formula with one solver: ``python -m tailcut.domains.sat.solve SOLVER FILE``.

It prints the answer as SAT competitions want it (`tailcut.domains.sat.answers`) and exits with 10, 20 or 0. A
model is checked before it is printed: a wrong one becomes ``s UNKNOWN`` and exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tailcut.domains.oneline import OneLineParser
from tailcut.domains.sat.answers import Answer, SatStatus
from tailcut.domains.sat.dimacs import read
from tailcut.domains.sat.formula import Formula, satisfies
from tailcut.domains.sat.solvers import SOLVERS, answer
from tailcut.errors import TailcutError

WRONG_MODEL = 1
"""Exit code of a solver that called a formula satisfiable and gave no model of it."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Solve a formula, print the answer, return the exit code."""
    try:
        given = _parser().parse_args(arguments)
        formula = read(given.file)
        found = answer(given.solver, formula, seed=given.seed)
    except SystemExit:  # --help has been printed
        return 0
    except TailcutError as error:
        sys.stderr.write(f"tailcut.domains.sat.solve: {error}\n")
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return report(formula, found)


def report(formula: Formula, found: Answer) -> int:
    """Print an answer, unless its model is wrong; return the exit code."""
    wrong = found.status is SatStatus.SATISFIABLE and (
        found.model is None or not satisfies(formula, found.model)
    )
    if wrong:
        sys.stderr.write("c wrong model\n")
        found = Answer(SatStatus.UNKNOWN)
    sys.stdout.write(found.text())
    sys.stdout.flush()
    return WRONG_MODEL if wrong else found.status.exit_code


def _parser() -> OneLineParser:
    parser = OneLineParser(
        prog="python -m tailcut.domains.sat.solve",
        description="Solve a DIMACS CNF file (plain, .gz or .xz) with one solver. Exit code 10: "
        "satisfiable, 20: unsatisfiable, 0: unknown, 1: the solver's model was wrong, 2: wrong call or file.",
        epilog="solvers: " + "; ".join(f"{name}: {what}" for name, what in SOLVERS.items()),
    )
    parser.add_argument("solver", metavar="SOLVER", help="name of the solver, see below")
    parser.add_argument("file", metavar="FILE", help="the formula")
    parser.add_argument("--seed", type=int, default=1, help="for solvers that draw (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
