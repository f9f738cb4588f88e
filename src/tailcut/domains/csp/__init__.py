"""The domain ``csp``: constraint satisfaction and optimisation, models in MiniZinc or FlatZinc.

MiniZinc flattens a model with its standard decompositions; Gecode and CP-SAT solve the result.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from tailcut.domains.domain import (
    AnswerRule,
    Domain,
    DomainSolver,
    EntryProgram,
    TinyInstance,
    as_program,
    in_python,
)

_TINY = Path(__file__).parent / "tiny"
_SOLVE = "tailcut.domains.csp.solve:main"
_program = partial(as_program, entry=_SOLVE)
_gecode = _program("fzn-gecode", "gecode", "{program}", install="apt install minizinc flatzinc")
_chuffed = _program("fzn-chuffed", "chuffed", "{program}")
_cp_sat = in_python(_SOLVE, "cp-sat", module="ortools", extra="csp")
_OPTIMAL = rb"\A(?=[\s\S]*^==========\s*$)[\s\S]*^_objective = (?P<objective>-?\d+);"

DOMAIN = Domain(
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
    features=EntryProgram("tailcut.domains.csp.features:main", ("{instance}",)),
    verify=EntryProgram("tailcut.domains.csp.answers:verify", ("{instance}", "{output}")),
    instances=("*.mzn", "*.dzn", "*.fzn"),
    models={"*.mzn": "*.dzn"},
    preload=(
        "ortools.sat.python.cp_model",
        "tailcut.domains.csp.solve",
        "tailcut.domains.csp.features",
        "tailcut.domains.csp.answers",
    ),
    extra="csp",
    check=(
        TinyInstance(_TINY / "optimal.mzn", "optimal 8"),
        TinyInstance(_TINY / "unsatisfiable.mzn", "unsatisfiable"),
    ),
)
