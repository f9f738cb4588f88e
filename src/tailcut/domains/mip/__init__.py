"""The domain ``mip``: mixed-integer linear programs, files in MPS or LP format."""

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
_SOLVE = "tailcut.domains.mip.solve:main"


def _wheel(solver: str, module: str) -> SolverWay:
    return in_python(_SOLVE, solver, module=module, extra="mip")


def _program(solver: str, program: str, install: str) -> SolverWay:
    return as_program(program, solver, "{program}", entry=_SOLVE, install=install)


DOMAIN = Domain(
    what="mixed-integer linear programs: MPS and LP files",
    solvers=(
        DomainSolver("highs", "branch and cut", (_wheel("highs", "highspy"),)),
        DomainSolver("scip", "constraint integer programming", (_wheel("scip", "pyscipopt"),)),
        DomainSolver(
            "cbc", "branch and cut", (_wheel("cbc", "pulp"), _program("cbc", "cbc", "apt install coinor-cbc"))
        ),
        DomainSolver(
            "glpk",
            "branch and bound",
            (_program("glpk", "glpsol", "apt install glpk-utils"), _wheel("glpk", "swiglpk")),
        ),
    ),
    answers=(
        AnswerRule(
            "optimal {objective}",
            exit_code=0,
            pattern=re.compile(rb"^Optimal - objective value (?P<objective>\S+)", re.M),
        ),
        AnswerRule(
            "infeasible", exit_code=0, pattern=re.compile(rb"^(?:Integer infeasible|Infeasible)", re.M)
        ),
        AnswerRule("unbounded", exit_code=0, pattern=re.compile(rb"^Unbounded", re.M)),
    ),
    features=EntryProgram("tailcut.domains.mip.features:main", ("{instance}",)),
    verify=EntryProgram("tailcut.domains.mip.verify:main", ("{instance}", "{output}")),
    instances=endings("mps", "lp"),
    preload=(
        "numpy",
        "highspy",
        "pyscipopt",
        "swiglpk",
        "tailcut.domains.mip.solve",
        "tailcut.domains.mip.features",
        "tailcut.domains.mip.verify",
    ),
    extra="mip",
    check=(
        TinyInstance(_TINY / "optimal.mps", "optimal 19"),
        TinyInstance(_TINY / "infeasible.mps", "infeasible"),
    ),
)
