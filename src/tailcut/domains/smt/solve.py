"""The program that answers one script: ``python -m tailcut.domains.smt.solve SOLVER [PROGRAM] FILE``.

SOLVER is one of those of the domain; without PROGRAM it is the wheel of that name. It prints sat, unsat or
unknown and, after sat, a model, whether the script asks for it or not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from tailcut.domains.files import ScratchFile, read_bytes
from tailcut.domains.smt.answers import is_incremental, plain_output, with_model
from tailcut.errors import InputError, MissingExtraError, TailcutError

OPTIONS = {
    "z3": ("-smt2",),
    "cvc5": ("--lang=smt2",),
    "bitwuzla": ("--lang", "smt2"),
    "yices": ("--smt2-model-format",),
}
"""Solver -> the arguments of its program besides the file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer a script; return 0 if there is an answer."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) not in (2, 3):
        sys.stderr.write("tailcut.domains.smt.solve: expected SOLVER [PROGRAM] FILE\n")
        return 2
    try:
        script = with_model(read_bytes(words[-1]))
        output = ask(words[0], words[1] if len(words) == 3 else None, script.text)
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"tailcut.domains.smt.solve: {error}\n")
        return 2
    sys.stdout.buffer.write(plain_output(output, script.checks))
    sys.stdout.flush()
    return 0


def ask(solver: str, program: str | None, script: bytes) -> bytes:
    """Return what a solver prints on a script."""
    if program is not None:
        if solver not in OPTIONS:
            raise InputError(f"there is no program of the solver {solver!r}; there are {', '.join(OPTIONS)}")
        with ScratchFile(script) as file:
            command = [program, *OPTIONS[solver], file.path]
            return subprocess.run(
                command, pass_fds=[file.descriptor], stdout=subprocess.PIPE, check=False
            ).stdout
    if solver not in _WHEELS:
        raise InputError(f"there is no wheel of the solver {solver!r}; there are {', '.join(_WHEELS)}")
    try:
        with ScratchFile(script) as file:
            return _printed(lambda: _WHEELS[solver](file.path))
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the solver {solver} needs {error.name}, of the extra 'smt': pip install 'tailcut[smt]'"
        ) from None


def _printed(run: Callable[[], None]) -> bytes:
    """Return what a function prints, also from C: standard output is a file for as long as it runs."""
    sys.stdout.flush()
    before = os.dup(1)
    with ScratchFile() as output:
        os.dup2(output.descriptor, 1)
        try:
            run()
        except TailcutError:
            raise
        except Exception as error:  # every wheel has its own
            raise InputError(f"not supported, or not a script: {error}") from None
        finally:
            _flush()
            os.dup2(before, 1)
            os.close(before)
        return output.read()


def _flush() -> None:
    import ctypes

    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def _cvc5(path: str) -> None:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    with open(path, "rb") as script:  # noqa: PTH123 - not a path of a file but of a descriptor
        solver.setOption("incremental", "true" if is_incremental(script.read()) else "false")
    parser = cvc5.InputParser(solver)
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, path)
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        os.write(1, str(command.invoke(solver, symbols)).encode())


def _bitwuzla(path: str) -> None:
    import bitwuzla

    bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options()).parse(path)


def _boolector(path: str) -> None:
    import pyboolector

    with open(path, "rb") as script:  # noqa: PTH123 - not a path of a file but of a descriptor
        incremental = is_incremental(script.read())
    solver = pyboolector.Boolector()
    if incremental:
        solver.Set_opt(pyboolector.BtorOption.BTOR_OPT_INCREMENTAL, 1)
    solver.Parse(path)


_WHEELS: dict[str, Callable[[str], None]] = {"cvc5": _cvc5, "bitwuzla": _bitwuzla, "boolector": _boolector}

if __name__ == "__main__":
    sys.exit(main())
