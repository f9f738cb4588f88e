"""The program that solves one formula with one solver: ``python -m tailcut.domains.sat.solve SOLVER FILE``.

It prints the answer as SAT competitions want it (`tailcut.domains.sat.answers`) and exits with 10, 20 or 0. A
model is checked before it is printed: a wrong one becomes ``s UNKNOWN`` and exit code 1.

`run_program`, with the arguments NAME PROGRAM [OPTION...] FILE, is for solvers that are programs. MiniSat
writes its model into a file: its output is translated. Other programs take this process's place.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from tailcut.domains.programs import COMPRESSED, Program, ScratchFile, exit_code, read_bytes, run
from tailcut.domains.sat.answers import Answer, SatStatus
from tailcut.domains.sat.cnf import Formula, read, satisfies
from tailcut.domains.sat.solvers import SOLVERS, answer
from tailcut.errors import InputError

WRONG_MODEL = 1
"""Exit code of a solver that called a formula satisfiable and gave no model of it."""
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    program = Program(
        "tailcut.domains.sat.solve",
        "Solve a DIMACS CNF file (plain, .gz or .xz) with one solver. Exit code 10: satisfiable, "
        "20: unsatisfiable, 0: unknown, 1: the solver's model was wrong, 2: wrong call or file.",
        epilog="solvers: " + "; ".join(f"{name}: {what}" for name, what in SOLVERS.items()),
    )
    program.add_argument("solver", metavar="SOLVER", help="name of the solver, see below")
    program.add_argument("file", metavar="FILE", help="the formula")
    program.add_argument("--seed", type=int, default=1, help="for solvers that draw (default: %(default)s)")

    def solve(given: argparse.Namespace) -> int:
        formula = read(given.file)
        return report(formula, answer(given.solver, formula, seed=given.seed))

    try:
        return program.call(solve, arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


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


def run_program(arguments: Sequence[str]) -> int:
    return exit_code("tailcut.domains.sat.solve", lambda: _run_program(arguments))


def _run_program(arguments: Sequence[str]) -> int:
    if len(arguments) < 3:
        raise InputError("expected NAME PROGRAM [OPTION...] FILE")
    name, *command, file = arguments
    packed = file.endswith(COMPRESSED)
    if name != "minisat" and not packed:
        os.execv(command[0], [*command, file])
    with ScratchFile(read_bytes(file) if packed else b"") as scratch:
        command.append(scratch.path if packed else file)
        if name == "minisat":
            return _minisat(command, scratch)
        return subprocess.call(command, pass_fds=[scratch.descriptor])


def _minisat(command: list[str], formula: ScratchFile) -> int:
    """Print what MiniSat says as SAT competitions have it."""
    with ScratchFile() as result:
        ended = run([*command, result.path], formula, result)
        model = result.read().decode("ascii", "replace").split("\n")[1:]
    code = ended.returncode
    if code not in (10, 20):
        sys.stderr.buffer.write(ended.stdout[-2000:])
        return code if code > 0 else 1
    sys.stdout.write("s UNSATISFIABLE\n" if code == 20 else f"s SATISFIABLE\nv {model[0] if model else ''}\n")
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
