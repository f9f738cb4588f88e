"""The solvers: a table of all of them, and one function that calls one.

Each is imported only when it is called.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.domain import domain_table
from tailcut.domains.programs import needs_extra
from tailcut.domains.sat.answers import Answer
from tailcut.domains.sat.cnf import Formula, tidy
from tailcut.errors import InputError, TailcutError

SOLVERS: dict[str, str] = domain_table("sat")["wheels"]
"""Name of a solver -> what it is, in one line."""


def answer(solver: str, formula: Formula, *, seed: int = 1) -> Answer:
    """Return a solver's answer to a formula, unverified, however long that takes.

    `seed` is used by local_search and highs; the others are deterministic or have a fixed seed.

    >>> answer("minisat22", Formula.of([[1, 2], [-1]])).model.tolist()
    [-1, 2]
    """
    if solver not in SOLVERS:
        raise InputError(f"there is no solver {solver!r}; there are {', '.join(SOLVERS)}")
    if (formula.lengths == 0).any():
        return Answer.of(False)  # not every solver supports the empty clause
    if formula.n_clauses == 0:
        return Answer.of(True)
    with needs_extra(f"the solver {solver}", "sat"):
        if solver == "local_search":
            from tailcut.domains.sat.local_search import search

            return Answer.of(True, search(formula, seed=seed))
        if solver == "highs":
            return solve_as_integer_program(formula, seed=seed)
        if solver == "cryptominisat":
            return _ask_cryptominisat(formula)
        return _ask_pysat(solver, formula)


def _ask_pysat(name: str, formula: Formula) -> Answer:
    from pysat.solvers import Solver

    with Solver(name=name, bootstrap_with=formula.clauses()) as solver:
        satisfiable = solver.solve()
        return Answer.of(satisfiable, solver.get_model() if satisfiable else None)


def _ask_cryptominisat(formula: Formula) -> Answer:
    import pycryptosat

    solver = pycryptosat.Solver(threads=1)
    solver.add_clauses(formula.clauses())
    satisfiable, values = solver.solve()
    if not satisfiable:
        return Answer.of(satisfiable)
    return Answer.of(True, [v if value else -v for v, value in enumerate(values) if value is not None])


def solve_as_integer_program(
    formula: Formula, costs: NDArray[np.float64] | None = None, *, seed: int = 1
) -> Answer:
    """Return what HiGHS says, on one thread; with `costs` of true variables, a model that costs the least.

    A variable x is 0 or 1, and a clause says that its literals sum to at least 1, where the literal of a
    negated variable is 1 - x. The relaxation to fractions knows how to count, which is what clause learning
    cannot do: a pigeonhole formula is infeasible before the first branching, given the right cuts.

    A model is rounded and then checked in integers, so a wrong one is noticed. That there is none rests on
    floating-point arithmetic (docs/reference/sat.md).

    >>> solve_as_integer_program(Formula.of([[1, 2], [-1, 2], [1, -2], [-1, -2]])).status.value
    'UNSATISFIABLE'
    >>> solve_as_integer_program(Formula.of([[1, 2]]), np.array([3.0, 1.0])).model.tolist()
    [-1, 2]
    """
    import highspy

    formula = tidy(formula)
    n, m = formula.n_variables, formula.n_clauses
    row = np.repeat(np.arange(m), formula.lengths)
    negated = np.bincount(row[formula.literals < 0], minlength=m)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n, m
    program.col_cost_ = np.zeros(n) if costs is None else costs
    program.col_lower_, program.col_upper_ = np.zeros(n), np.ones(n)
    program.row_lower_, program.row_upper_ = (1 - negated).astype(np.float64), np.full(m, highspy.kHighsInf)
    program.integrality_ = [highspy.HighsVarType.kInteger] * n
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = formula.offsets.astype(np.int32)
    program.a_matrix_.index_ = np.abs(formula.literals) - 1
    program.a_matrix_.value_ = np.sign(formula.literals).astype(np.float64)
    solver = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "parallel": "off", "random_seed": seed % 2**31}
    for option, value in {**options, "mip_rel_gap": 0.0, "mip_abs_gap": 0.0}.items():
        solver.setOptionValue(option, value)
    solver.passModel(program)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Answer.of(False)
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
        raise TailcutError(f"HiGHS ended with status {solver.modelStatusToString(status)!r}")
    numbers = np.arange(1, n + 1, dtype=np.int32)
    return Answer.of(True, np.where(np.asarray(solver.getSolution().col_value) > 0.5, numbers, -numbers))
