"""The solver ``highs``: a formula as an integer program without an objective.

A variable x is 0 or 1, and a clause says that its literals sum to at least 1, where the literal of a
negated variable is 1 - x. The relaxation to fractions knows how to count, which is what clause learning
cannot do: a pigeonhole formula is infeasible before the first branching, given the right cuts.

HiGHS computes with tolerances (1e-6 for rows and for integrality). A model is rounded and then checked in
integers, so a wrong one is noticed. That there is no model rests on floating-point arithmetic: the rows
have coefficients 1 and -1 and small right-hand sides, so a true model violates no row at all and the rows
as such exclude none, but cuts are computed from them with rounding, and no proof is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tailcut.domains.sat.answers import Answer
from tailcut.domains.sat.formula import Formula, tidy
from tailcut.errors import TailcutError


def solve_as_integer_program(formula: Formula, *, seed: int = 1) -> Answer:
    """Return what HiGHS says, on one thread.

    >>> solve_as_integer_program(Formula.of([[1, 2], [-1, 2], [1, -2], [-1, -2]])).status.value
    'UNSATISFIABLE'
    """
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("parallel", "off")
    solver.setOptionValue("random_seed", seed % 2**31)
    solver.passModel(_program(tidy(formula)))
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Answer.of(False)
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
        raise TailcutError(f"HiGHS ended with status {solver.modelStatusToString(status)!r}")
    numbers = np.arange(1, formula.n_variables + 1, dtype=np.int32)
    return Answer.of(True, np.where(np.asarray(solver.getSolution().col_value) > 0.5, numbers, -numbers))


def _program(formula: Formula) -> Any:
    """Return the integer program of a tidy formula: n columns, m rows, no objective."""
    import highspy

    n, m = formula.n_variables, formula.n_clauses
    row = np.repeat(np.arange(m), formula.lengths)
    negated = np.bincount(row[formula.literals < 0], minlength=m)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n, m
    program.col_cost_ = np.zeros(n)
    program.col_lower_, program.col_upper_ = np.zeros(n), np.ones(n)
    program.row_lower_, program.row_upper_ = (1 - negated).astype(np.float64), np.full(m, highspy.kHighsInf)
    program.integrality_ = [highspy.HighsVarType.kInteger] * n
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = formula.offsets.astype(np.int32)
    program.a_matrix_.index_ = np.abs(formula.literals) - 1
    program.a_matrix_.value_ = np.sign(formula.literals).astype(np.float64)
    return program
