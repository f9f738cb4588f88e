"""The domain ``maxsat``: maximum satisfiability, formulas in WCNF, old format and new."""

from __future__ import annotations

import re
from functools import partial

from tailcut.domains.domain import AnswerRule, Domain, DomainSolver, as_program, bundled, in_python
from tailcut.domains.programs import endings

_OPTIMUM = rb"\A(?=[\s\S]*^s OPTIMUM FOUND\s*$)[\s\S]*^o (?P<cost>\d+)\s*$"
"""The last `o` line, if the status is the right one."""
_wheel = partial(in_python, "tailcut.domains.maxsat.solve:main", extra="maxsat")
_rc2 = partial(_wheel, module="pysat.examples.rc2")
_fm = _wheel("fm", module="pysat.examples.fm")
_lsu = _wheel("lsu", module="pysat.examples.lsu")
_highs = _wheel("highs", module="highspy")

DOMAIN = bundled(
    "maxsat",
    Domain(
        what="maximum satisfiability: WCNF files, old format and new",
        solvers=(
            DomainSolver("rc2", "cores relaxed by totalizers, as in RC2", (_rc2("rc2"),)),
            DomainSolver("rc2_stratified", "RC2, heavy clauses first", (_rc2("rc2_stratified"),)),
            DomainSolver("fm", "cores relaxed one by one, after Fu and Malik", (_fm,)),
            DomainSolver("lsu", "models improved step by step; clauses of one weight", (_lsu,)),
            DomainSolver("highs", "integer programs, on the clauses as inequalities", (_highs,)),
            DomainSolver("open-wbo", "cores and linear search", (as_program("open-wbo"),)),
            DomainSolver("uwrmaxsat", "cores and linear search", (as_program("uwrmaxsat"),)),
            DomainSolver("evalmaxsat", "cores", (as_program("EvalMaxSAT"),)),
        ),
        answers=(
            AnswerRule("OPTIMUM FOUND {cost}", pattern=re.compile(_OPTIMUM, re.M)),
            AnswerRule("UNSATISFIABLE", pattern=re.compile(rb"^s UNSATISFIABLE\s*$", re.M)),
        ),
        instances=endings("wcnf"),
        preload=("numpy", "pysat.examples.rc2", "pysat.examples.fm", "pysat.examples.lsu", "highspy"),
    ),
    {"optimum.wcnf": "OPTIMUM FOUND 3", "unsat.wcnf": "UNSATISFIABLE"},
)
