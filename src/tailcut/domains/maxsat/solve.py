"""The program that solves one formula: ``python -m tailcut.domains.maxsat.solve SOLVER FILE``.

It prints the optimum as MaxSAT Evaluations have it (`tailcut.domains.maxsat.answers`) and exits with 30, or
20 if the hard clauses have no model, or 3 if the formula is not of the solver's kind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tailcut.domains.maxsat.answers import OPTIMUM_FOUND, UNSATISFIABLE, Optimum, optimum_text
from tailcut.domains.maxsat.wcnf import WeightedFormula, read_wcnf
from tailcut.errors import InputError, MissingExtraError, TailcutError

NOT_MY_KIND = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Solve a formula and print the optimum; return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 2:
        sys.stderr.write("tailcut.domains.maxsat.solve: expected SOLVER FILE\n")
        return 2
    try:
        formula = read_wcnf(words[1])
        if words[0] == "lsu" and len({weight for weight, _ in formula.soft}) > 1:
            return NOT_MY_KIND
        found = optimum(words[0], formula)
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"tailcut.domains.maxsat.solve: {error}\n")
        return 2
    text = "s UNSATISFIABLE\n" if found is None else optimum_text(*found, formula.n_variables)
    sys.stdout.write(text)
    sys.stdout.flush()
    return UNSATISFIABLE if found is None else OPTIMUM_FOUND


def optimum(solver: str, formula: WeightedFormula) -> Optimum | None:
    """Return the least cost and a model that has it; None if the hard clauses have no model.

    The cost is that of the model: what a solver has added up itself is not asked.
    """
    if solver not in SOLVERS:
        raise InputError(f"there is no solver {solver!r}; there are {', '.join(SOLVERS)}")
    if [] in formula.hard:
        return None
    softs = [(weight, clause) for weight, clause in formula.soft if clause]
    try:
        model = SOLVERS[solver](WeightedFormula(formula.n_variables, formula.hard, softs))
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the solver {solver} needs {error.name}, of the extra 'maxsat': pip install 'tailcut[maxsat]'"
        ) from None
    if model is None:
        return None
    cost = formula.cost(model)
    if cost is None:
        raise InputError(f"{solver} gave a model that breaks a hard clause")
    return Optimum(cost, model)


def _pysat(formula: WeightedFormula) -> Any:
    from pysat.formula import WCNF

    made = WCNF()
    made.extend(formula.hard)
    made.extend([clause for _, clause in formula.soft], weights=[weight for weight, _ in formula.soft])
    return made


def _rc2(formula: WeightedFormula) -> list[int] | None:
    from pysat.examples.rc2 import RC2

    with RC2(_pysat(formula)) as solver:
        return _list(solver.compute())


def _rc2_stratified(formula: WeightedFormula) -> list[int] | None:
    from pysat.examples.rc2 import RC2Stratified

    with RC2Stratified(_pysat(formula)) as solver:
        return _list(solver.compute())


def _fm(formula: WeightedFormula) -> list[int] | None:
    from pysat.examples.fm import FM

    solver = FM(_pysat(formula), verbose=0)
    return _list(solver.model) if solver.compute() else None


def _lsu(formula: WeightedFormula) -> list[int] | None:
    from pysat.examples.lsu import LSU

    unweighted = formula._replace(soft=[(1, clause) for _, clause in formula.soft])
    solver = LSU(_pysat(unweighted))
    return _list(solver.model) if solver.solve() else None


def _list(model: Sequence[int] | None) -> list[int] | None:
    return None if model is None else list(model)


def _highs(formula: WeightedFormula) -> list[int] | None:
    """Return a model by integer programming: a column per variable and per soft clause."""
    import highspy

    n = formula.n_variables
    clauses = [*formula.hard, *(clause for _, clause in formula.soft)]
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0)):
        solver.setOptionValue(option, value)
    costs = np.array([0.0] * n + [float(weight) for weight, _ in formula.soft])
    total = len(costs)
    solver.addCols(total, costs, np.zeros(total), np.ones(total), 0, [0] * total, [], [])
    solver.changeColsIntegrality(total, np.arange(total), [highspy.HighsVarType.kInteger] * total)
    for number, clause in enumerate(clauses):
        literals = set(clause)
        if any(-literal in literals for literal in literals):
            continue
        columns = [abs(literal) - 1 for literal in literals]
        values = [1.0 if literal > 0 else -1.0 for literal in literals]
        if number >= len(formula.hard):
            columns.append(n + number - len(formula.hard))
            values.append(1.0)
        side = 1.0 - sum(literal < 0 for literal in literals)
        solver.addRow(side, highspy.kHighsInf, len(columns), np.array(columns), np.array(values))
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
        raise InputError(f"HiGHS ended with status {solver.modelStatusToString(status)!r}")
    values = list(solver.getSolution().col_value)[:n]
    return [number if value > 0.5 else -number for number, value in enumerate(values, 1)]


SOLVERS: dict[str, Callable[[WeightedFormula], list[int] | None]] = {
    "rc2": _rc2,
    "rc2_stratified": _rc2_stratified,
    "fm": _fm,
    "lsu": _lsu,
    "highs": _highs,
}

if __name__ == "__main__":
    sys.exit(main())
