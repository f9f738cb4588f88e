"""The domain ``csp``: constraint satisfaction and optimisation, models in MiniZinc or FlatZinc.

MiniZinc flattens a model with its standard decompositions; Gecode and CP-SAT solve the result.
"""

from __future__ import annotations

import re
from functools import partial

from tailcut.domains.domain import AnswerRule, Domain, DomainSolver, as_program, bundled, in_python

_SOLVE = "tailcut.domains.csp.solve:main"
_program = partial(as_program, entry=_SOLVE)
_gecode = _program("fzn-gecode", "gecode", "{program}", install="apt install minizinc flatzinc")
_chuffed = _program("fzn-chuffed", "chuffed", "{program}")
_cp_sat = in_python(_SOLVE, "cp-sat", module="ortools", extra="csp")
_OPTIMAL = rb"\A(?=[\s\S]*^==========\s*$)[\s\S]*^_objective = (?P<objective>-?\d+);"

DOMAIN = bundled(
    "csp",
    Domain(
        what="constraint programs: MiniZinc models, with data or without, and FlatZinc",
        solvers=(
            DomainSolver("gecode", "propagation and search", (_gecode,)),
            DomainSolver("cp-sat", "clause learning on integers; FlatZinc is read by Tailcut", (_cp_sat,)),
            DomainSolver("chuffed", "lazy clause generation", (_chuffed,)),
        ),
        answers=(
            AnswerRule("unsatisfiable", pattern=re.compile(rb"^=====UNSATISFIABLE=====", re.M)),
            AnswerRule("optimal {objective}", pattern=re.compile(_OPTIMAL, re.M)),
            AnswerRule(
                "satisfiable",
                pattern=re.compile(rb"^----------", re.M),
                unless=re.compile(rb"^_objective = ", re.M),
            ),
        ),
        instances=("*.mzn", "*.dzn", "*.fzn"),
        models={"*.mzn": "*.dzn"},
        preload=("ortools.sat.python.cp_model",),
    ),
    {"optimal.mzn": "optimal 8", "unsatisfiable.mzn": "unsatisfiable"},
)
