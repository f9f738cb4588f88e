"""The program that solves one formula: ``python -m tailcut.domains.maxsat.solve SOLVER FILE``.

It prints the optimum as MaxSAT Evaluations have it (`tailcut.domains.maxsat.answers`) and exits with 30, or
20 if the hard clauses have no model, or 3 if the formula is not of the solver's kind.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tailcut.domains.maxsat.answers import Optimum, WeightedFormula, optimum_text, read_wcnf
from tailcut.domains.programs import entry_point, needs_extra, print_answer
from tailcut.domains.sat.cnf import Formula
from tailcut.domains.sat.solvers import solve_as_integer_program
from tailcut.errors import InputError

SOLVERS = ("rc2", "rc2_stratified", "fm", "lsu", "highs")
OPTIMUM_FOUND, UNSATISFIABLE, NOT_MY_KIND = 30, 20, 3
"""Exit codes, the first two as in MaxSAT Evaluations."""


def optimum(solver: str, formula: WeightedFormula) -> Optimum | None:
    """Return the least cost and a model that has it; None if the hard clauses have no model.

    The cost is that of the model: what a solver has added up itself is not asked.
    """
    if solver not in SOLVERS:
        raise InputError(f"there is no solver {solver!r}; there are {', '.join(SOLVERS)}")
    if [] in formula.hard:
        return None
    soft = [(weight, clause) for weight, clause in formula.soft if clause]
    ask = _highs if solver == "highs" else partial(_pysat, solver)
    with needs_extra(f"the solver {solver}", "maxsat"):
        model = ask(formula._replace(soft=soft))
    if model is None:
        return None
    cost = formula.cost(model)
    if cost is None:
        raise InputError(f"{solver} gave a model that breaks a hard clause")
    return Optimum(cost, model)


def _pysat(solver: str, formula: WeightedFormula) -> list[int] | None:
    from pysat.formula import WCNF

    wcnf = WCNF()
    wcnf.extend(formula.hard)
    weights = [1 if solver == "lsu" else weight for weight, _ in formula.soft]
    wcnf.extend([clause for _, clause in formula.soft], weights=weights)
    if solver == "fm":
        from pysat.examples.fm import FM

        fm = FM(wcnf, verbose=0)
        model = fm.model if fm.compute() else None
    elif solver == "lsu":
        from pysat.examples.lsu import LSU

        lsu = LSU(wcnf)
        model = lsu.model if lsu.solve() else None
    else:
        from pysat.examples.rc2 import RC2, RC2Stratified

        with (RC2 if solver == "rc2" else RC2Stratified)(wcnf) as rc2:
            model = rc2.compute()
    return None if model is None else list(model)


def _highs(formula: WeightedFormula) -> list[int] | None:
    """Return a model by integer programming: a soft clause may instead make a variable true that costs."""
    n = formula.n_variables
    soft = [[*clause, n + number] for number, (_, clause) in enumerate(formula.soft, 1)]
    costs = np.array([0.0] * n + [float(weight) for weight, _ in formula.soft])
    model = solve_as_integer_program(Formula.of([*formula.hard, *soft], len(costs)), costs, seed=0).model
    return None if model is None else model[:n].tolist()


def _answer(solver: str, program: str | None, file: str) -> tuple[bytes, int]:
    if program is not None:
        raise InputError("expected SOLVER FILE")
    formula = read_wcnf(file)
    if solver == "lsu" and len({weight for weight, _ in formula.soft}) > 1:
        return b"", NOT_MY_KIND
    best = optimum(solver, formula)
    if best is None:
        return b"s UNSATISFIABLE\n", UNSATISFIABLE
    return optimum_text(*best, formula.n_variables).encode(), OPTIMUM_FOUND


main = entry_point(__name__, print_answer, _answer)
