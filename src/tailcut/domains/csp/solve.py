"""The program that solves one model: ``python -m tailcut.domains.csp.solve SOLVER [PROGRAM] FILE``.

FILE is a MiniZinc model (.mzn), data for the only model beside it (.dzn), or FlatZinc (.fzn). MiniZinc
flattens with its standard library, so that every solver gets the same constraints. It prints the best
solution and ``_objective``, then ``----------`` and, if it is optimal, ``==========``; or
``=====UNSATISFIABLE=====``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.csp.answers import solution_lines
from tailcut.domains.csp.flatzinc import FlatModel, parse_flatzinc
from tailcut.domains.files import ScratchFile
from tailcut.domains.found import find_program
from tailcut.errors import InputError, MissingExtraError, TailcutError


def main(arguments: Sequence[str] | None = None) -> int:
    """Solve a model and print the result; return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) not in (2, 3):
        sys.stderr.write("tailcut.domains.csp.solve: expected SOLVER [PROGRAM] FILE\n")
        return 2
    try:
        said = solved(words[0], words[1] if len(words) == 3 else None, Path(words[-1]))
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"tailcut.domains.csp.solve: {error}\n")
        return 2
    sys.stdout.write(said)
    sys.stdout.flush()
    return 0


def solved(solver: str, program: str | None, file: Path, *more: Path | str) -> str:
    """Return what a solver prints on a model; `more` are further files for MiniZinc."""
    if file.suffix == ".fzn":
        return _answered(solver, program, file.read_bytes())
    with ScratchFile() as flat, ScratchFile() as output:
        options = ["-c", "-G", "std", "--output-mode", "dzn", "--output-objective", "-o", flat.path]
        command = [_minizinc(), *options, "--ozn", output.path, *map(str, (*model_files(file), *more))]
        files = [flat.descriptor, output.descriptor]
        ended = subprocess.run(command, pass_fds=files, capture_output=True, text=True, check=False)
        if ended.returncode or "=====ERROR=====" in ended.stdout:
            lines = (ended.stderr or ended.stdout).strip().splitlines() or ["nothing"]
            raise InputError(f"{file}: MiniZinc says: {next((x for x in lines if 'rror' in x), lines[0])}")
        if "=====UNSATISFIABLE=====" in ended.stdout + ended.stderr:
            return "=====UNSATISFIABLE=====\n"
        said = _answered(solver, program, flat.read())
        if "----------" not in said:
            return said
        translated = subprocess.run(
            [_minizinc(), "--ozn-file", output.path],
            input=said,
            pass_fds=files,
            capture_output=True,
            text=True,
            check=False,
        )
        return translated.stdout


def model_files(file: Path) -> list[Path]:
    """Return the model and the data that an instance consists of."""
    if file.suffix != ".dzn":
        return [file]
    models = sorted(file.parent.glob("*.mzn"))
    if len(models) != 1:
        raise InputError(f"{file}: its model must be the only .mzn file beside it, there are {len(models)}")
    return [models[0], file]


def _minizinc() -> str:
    found = find_program("minizinc")
    if found is None:
        raise MissingExtraError("models are flattened by MiniZinc: apt install minizinc")
    return found


def _answered(solver: str, program: str | None, flat: bytes) -> str:
    if program is not None:
        with ScratchFile(flat) as file:
            ended = subprocess.run(
                [program, file.path], pass_fds=[file.descriptor], stdout=subprocess.PIPE, check=False
            )
        return ended.stdout.decode("utf-8", "replace")
    if solver != "cp-sat":
        raise InputError(f"{solver} is a program: expected SOLVER PROGRAM FILE")
    return cp_sat(parse_flatzinc(flat.decode("utf-8", "replace")))


def cp_sat(flat: FlatModel) -> str:
    """Return what CP-SAT finds, as a FlatZinc solver prints it."""
    try:
        from tailcut.domains.csp.cp_sat import CpSat

        status, found = CpSat(flat).solve()
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"CP-SAT needs {error.name}, of the extra 'csp': pip install 'tailcut[csp]'"
        ) from None
    if status in ("=====UNSATISFIABLE=====", "=====UNKNOWN====="):
        return f"{status}\n"
    return f"{solution_lines(flat, found)}----------\n" + (f"{status}\n" if status else "")


if __name__ == "__main__":
    sys.exit(main())
