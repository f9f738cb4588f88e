"""The domain ``mip``: mixed-integer linear programs, files in MPS or LP format."""

from __future__ import annotations

import re
from functools import partial

from tailcut.domains.domain import AnswerRule, Domain, DomainSolver, as_program, bundled, in_python
from tailcut.domains.programs import endings

_SOLVE = "tailcut.domains.mip.solve:main"
_wheel = partial(in_python, _SOLVE, extra="mip")
_program = partial(as_program, entry=_SOLVE)
_cbc = (_wheel("cbc", module="pulp"), _program("cbc", "cbc", "{program}", install="apt install coinor-cbc"))
_glpk = (
    _program("glpsol", "glpk", "{program}", install="apt install glpk-utils"),
    _wheel("glpk", module="swiglpk"),
)

DOMAIN = bundled(
    "mip",
    Domain(
        what="mixed-integer linear programs: MPS and LP files",
        solvers=(
            DomainSolver("highs", "branch and cut", (_wheel("highs", module="highspy"),)),
            DomainSolver("scip", "constraint integer programming", (_wheel("scip", module="pyscipopt"),)),
            DomainSolver("cbc", "branch and cut", _cbc),
            DomainSolver("glpk", "branch and bound", _glpk),
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
        instances=endings("mps", "lp"),
        preload=("numpy", "highspy", "pyscipopt", "swiglpk"),
    ),
    {"optimal.mps": "optimal 19", "infeasible.mps": "infeasible"},
)
