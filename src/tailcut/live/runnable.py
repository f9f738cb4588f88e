"""Checks that the programs of a portfolio can be started here, before any instance runs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tailcut.errors import InputError
from tailcut.live.limits import Call, Command
from tailcut.live.portfolio import Portfolio, Program

if TYPE_CHECKING:
    from tailcut.live.engine import ProgramExecutor

_FORMATS = Path("/proc/sys/fs/binfmt_misc")
"""Where Linux lists additional executable formats."""


def programs_of(portfolio: Portfolio) -> dict[str, Command | Call]:
    """Return all programs of a portfolio by the names of their tables, with placeholders."""
    tables: dict[str, Program | None] = {
        "features": portfolio.features,
        "verify": portfolio.verify,
        **{f"solvers.{name}": solver.program for name, solver in portfolio.solvers.items()},
    }
    return {name: program.filled() for name, program in tables.items() if program is not None}


def check_runnable(portfolio: Portfolio, executor: ProgramExecutor | None) -> None:
    """Raise unless all programs of a portfolio can be started where they are to run; None: here."""
    programs = programs_of(portfolio)
    problems = problems_of(programs) if executor is None else executor.problems(programs)
    if problems:
        raise InputError(f"{portfolio.file}: {'; '.join(problems)}. Nothing was run")


def problems_of(programs: Mapping[str, Command | Call]) -> list[str]:
    """Return why some programs cannot be started here, a sentence each."""
    return [f"{name}: {why}" for name, program in programs.items() if (why := why_not(program)) is not None]


def why_not(program: Command | Call) -> str | None:
    """Return why a program cannot be started here, None if it can.

    >>> why_not(Command(("sh", "-c", "exit 0"))) is None
    True
    >>> why_not(Command(("no-such-solver", "i1.cnf"))), why_not(Call("no_such_module:main"))
    ('there is no program no-such-solver', 'there is no module no_such_module')
    """
    if program.folder is not None and not program.folder.is_dir():
        return f"there is no folder {program.folder}, where the portfolio's programs run"
    if isinstance(program, Call):
        package = program.entry.partition(":")[0].partition(".")[0]  # importing nothing
        return None if _is_there(package, program.folder) else f"there is no module {package}"
    name = program.argv[0]
    if "{" in name:  # a placeholder: the program depends on the instance
        return None
    return _why_not_file(name, program)


def _is_there(package: str, folder: Path | None) -> bool:
    """Return whether a package can be found, also in the folder where the portfolio's programs run."""
    beside = [] if folder is None else [str(folder)]
    return find_spec(package) is not None or PathFinder.find_spec(package, [*sys.path, *beside]) is not None


def _why_not_file(name: str, program: Command) -> str | None:
    path = (program.environment or {}).get("PATH")
    named = (program.folder or Path.cwd()) / name if "/" in name else None
    found = shutil.which(name if named is None else named, path=path)
    if found is None:
        if named is None or not named.exists():
            return f"there is no program {name}"
        return f"{name} is a folder" if named.is_dir() else f"{name} is not executable (chmod +x)"
    return _why_not_started(Path(found), name)


def _why_not_started(file: Path, name: str) -> str | None:
    """Return why the system would not start an executable file, judging by its first bytes."""
    try:
        with file.open("rb") as opened:
            start = opened.read(256)
    except OSError:
        return None  # an executable need not be readable
    if start.startswith(b"#!"):
        found = re.match(rb"#![ \t]*([^\s]+)", start)
        interpreter = Path(os.fsdecode(found[1])) if found else None
        if interpreter is None or not os.access(interpreter, os.X_OK):
            return f"{name} needs the interpreter {interpreter or ''}, which is missing".replace("  ", " ")
        return None
    if start.startswith(b"\x7fELF") or _further_formats():
        return None
    return f"{name} is not a program, and a script without '#!' in its first line"


def _further_formats() -> bool:
    try:
        return any(one.name not in ("register", "status") for one in _FORMATS.iterdir())
    except OSError:
        return False
