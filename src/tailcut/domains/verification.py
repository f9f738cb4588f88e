"""The programs that verify answers, in any domain, from an instance and a solver's output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tailcut.domains.oneline import OneLineParser
from tailcut.errors import InputError, TailcutError

Instance = TypeVar("Instance")


class UncheckableError(TailcutError):
    """An instance that our reader does not accept, although a solver may."""


def print_verdict(
    module: str,
    what: str,
    refuted: Callable[[Path, str, str], str | None],
    arguments: Sequence[str] | None,
) -> int:
    """Check an output with `refuted`: instance, output and solver -> what is wrong, or None.

    Return 0 if the answer is confirmed or cannot be verified, 1 if it is refuted, 2 for a wrong call; the
    last line on standard error is the reason.
    """
    parser = OneLineParser(
        prog=f"python -m {module}",
        description=f"Check what a solver printed about a {what}: exit code 1 refutes it.",
    )
    parser.add_argument("file", metavar="FILE", help=f"the {what}; plain, .gz, .xz or .bz2")
    parser.add_argument("output", metavar="OUTPUT", help="a file with what the solver printed")
    parser.add_argument("solver", metavar="SOLVER", nargs="?", default="", help="who printed it")
    try:
        given = parser.parse_args(arguments)
        if not Path(given.file).is_file():
            raise InputError(f"{given.file}: cannot be read: there is no such file")
        output = Path(given.output).read_text(errors="replace")
        problem = refuted(Path(given.file), output, given.solver)
    except SystemExit:  # --help has been printed
        return 0
    except UncheckableError as error:
        sys.stderr.write(f"{module}: not checked: {error}\n")
        return 0
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"{module}: {error}\n")
        return 2
    if problem is not None:
        sys.stderr.write(f"{problem}\n")
    return 0 if problem is None else 1


def read_to_check(read: Callable[[Path], Instance], file: Path) -> Instance:
    """Return the instance that a reader returns; raise if it does not accept the file."""
    try:
        return read(file)
    except TailcutError as error:
        raise UncheckableError(str(error)) from None
