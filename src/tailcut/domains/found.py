"""Which of a domain's solvers are on this machine: Python modules and programs."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from typing import NamedTuple

from tailcut.domains.domain import Domain, DomainSolver, SolverWay


class FoundSolver(NamedTuple):
    """A solver that a domain knows, and how it can be called here."""

    solver: DomainSolver
    way: SolverWay | None = None
    """None: it is not installed."""
    program: str | None = None
    """The path of its program, if it is one."""

    @property
    def where(self) -> str:
        """The program or the module that was found; empty if nothing was."""
        if self.way is None:
            return ""
        return self.program or f"Python: {self.way.module}"

    @property
    def words(self) -> tuple[str, ...]:
        """The command, or the arguments of the entry point."""
        assert self.way is not None
        return tuple(word.replace("{program}", self.program or "") for word in self.way.arguments)


def find_solvers(domain: Domain) -> list[FoundSolver]:
    """Return every solver that a domain knows, with how it can be called here."""
    return [find_solver(solver) for solver in domain.solvers]


def find_solver(solver: DomainSolver) -> FoundSolver:
    """Return the first available way to run a solver."""
    for way in solver.ways:
        program = None if way.program is None else find_program(way.program)
        there = (way.module is None or is_installed(way.module)) and (way.program is None or program)
        if there:
            return FoundSolver(solver, way, program)
    return FoundSolver(solver)


def is_installed(module: str) -> bool:
    """Return whether a module can be found; nothing but its parents is imported.

    >>> is_installed("json.decoder"), is_installed("no_such_module.at_all")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def find_program(name: str) -> str | None:
    """Return the path of a program: installed by a wheel for this Python, or on the PATH.

    >>> find_program("no-such-program") is None
    True
    """
    own = [sysconfig.get_path("scripts"), *(f"{folder}/bin" for folder in sys.path if folder)]
    return shutil.which(name, path=os.pathsep.join([*own, os.environ.get("PATH", os.defpath)]))
