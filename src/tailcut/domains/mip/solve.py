"""The program that solves one program: ``python -m tailcut.domains.mip.solve SOLVER [PROGRAM] FILE``.

It prints an optimal solution as CBC does (`tailcut.domains.mip.answers`), Infeasible or Unbounded, and
nothing else; exit code 3 where the solver found out neither. HiGHS and SCIP read the file themselves. CBC and
GLPK, which ignore or refuse parts of MPS, get it rewritten. Gaps are zero: the default of HiGHS would call
optimal what may be 0.01% off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from tailcut.domains.mip.answers import parse_solution, solution_text
from tailcut.domains.mip.mps import IntegerProgram, dump_mps, read_program, uncompressed
from tailcut.domains.programs import ScratchFile, entry_point, needs_extra, print_answer, run
from tailcut.errors import InputError

NOT_SOLVED = 3
INFEASIBLE, UNBOUNDED = "Infeasible\n", "Unbounded\n"


def _highs(_: str | None, file: str) -> str | None:
    import highspy

    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
        solver.setOptionValue(option, value)
    with uncompressed(file) as path:
        if solver.readModel(path) == highspy.HighsStatus.kError:
            raise InputError(f"{file}: HiGHS cannot read it")
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return INFEASIBLE
    if status == highspy.HighsModelStatus.kUnbounded:
        return UNBOUNDED
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
        return None
    values = list(solver.getSolution().col_value)
    return _stated(solver.getLp().col_names_, values, solver.getObjectiveValue())


def _scip(_: str | None, file: str) -> str | None:
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    with uncompressed(file) as path:
        try:
            model.readProblem(path)
        except OSError as error:
            raise InputError(f"{file}: SCIP cannot read it: {error}") from None
    model.setParam("limits/gap", 0.0)
    variables = model.getVars()
    try:
        model.optimize()
    except Exception as error:  # it has no class of its own
        raise InputError(f"{file}: {error}") from None
    status = model.getStatus()
    if status in ("infeasible", "unbounded"):
        return INFEASIBLE if status == "infeasible" else UNBOUNDED
    if status != "optimal":
        return None
    values = [model.getVal(variable) for variable in variables]
    return _stated([variable.name for variable in variables], values, model.getObjVal())


def _cbc_of_pulp() -> str:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it announces its next version
        import pulp

        return str(pulp.PULP_CBC_CMD().path)


def _cbc(program: str | None, file: str) -> str | None:
    program, problem = program or _cbc_of_pulp(), read_program(file)
    with ScratchFile(dump_mps(problem).encode()) as given, ScratchFile() as solution, ScratchFile() as exact:
        options = ["solve", "solution", solution.path, "saveSolution", exact.path]
        run([program, given.path, *options], given, solution, exact)
        text, saved = solution.read().decode("utf-8", "replace"), exact.read()
    if text.startswith(("Integer infeasible", "Infeasible")):
        return INFEASIBLE
    if text.startswith("Unbounded"):
        return UNBOUNDED
    if not text.startswith("Optimal"):
        return None
    listed = _saved_values(saved, len(problem.names))
    if listed is None:  # as text they have 8 digits, which is too few for some rows
        _, printed = parse_solution(text)
        listed = [printed.get(f"x{number}", 0.0) for number in _by_place(problem)]
    return _found(problem, listed)


def _saved_values(saved: bytes, n: int) -> list[float] | None:
    """Return the values of CBC's variables in all their digits, as they come in the file; None: not saved.

    The file has the numbers of rows and columns, the objective, activities and duals of the rows, then values
    and reduced costs of the columns.
    """
    if len(saved) < 16:
        return None
    rows, columns = (int(count) for count in np.frombuffer(saved, np.int32, 2))
    if columns != n or len(saved) != 16 + 16 * (rows + columns):
        return None
    values: list[float] = np.frombuffer(saved, np.float64, columns, offset=16 + 16 * rows).tolist()
    return values


def _glpk(program: str | None, file: str) -> str | None:
    """Ask GLPK, which writes numbers: a head, then a line per row and per column."""
    problem = read_program(file)
    with ScratchFile(dump_mps(problem).encode()) as given, ScratchFile() as solution:
        if program is None:
            infeasible = _ask_library(given.path, solution.path)
        else:
            ended = run([program, "--freemps", given.path, "--write", solution.path], given, solution)
            infeasible = re.search(rb"HAS NO (PRIMAL|INTEGER) FEASIBLE", ended.stdout) is not None
        lines = [line.split() for line in solution.read().decode("ascii", "replace").splitlines()]
    head = next((words for words in lines if words[0] == "s"), None)
    if infeasible or head is None:
        return INFEASIBLE if infeasible else None
    status = head[4] if head[1] == "mip" else head[4] + head[5]
    if status in ("n", "nn", "nu", "un"):
        return INFEASIBLE
    if status not in ("o", "ff"):
        return None
    place = 2 if head[1] == "mip" else 3
    values = {int(words[1]): float(words[place]) for words in lines if words[0] == "j"}
    listed = [values.get(number, 0.0) for number in range(1, len(problem.names) + 1)]
    return _found(problem, listed)


def _ask_library(file: str, solution: str) -> bool:
    """Have the library of GLPK write what its program would; return whether there is no solution."""
    import swiglpk as glpk

    glpk.glp_term_out(glpk.GLP_OFF)
    model = glpk.glp_create_prob()
    if glpk.glp_read_mps(model, glpk.GLP_MPS_FILE, None, file):
        return False
    options = glpk.glp_iocp()
    glpk.glp_init_iocp(options)
    options.presolve = glpk.GLP_ON
    ended = glpk.glp_intopt(model, options)
    if not ended:
        glpk.glp_write_mip(model, solution)
    return bool(ended == glpk.GLP_ENOPFS)


def _stated(names: Sequence[str], values: Sequence[float], objective: float) -> str | None:
    """Return an optimal solution as text; None if its numbers are none."""
    return solution_text(names, values, objective) if np.isfinite([*values, objective]).all() else None


def _by_place(problem: IntegerProgram) -> list[int]:
    """Return the variables as they come in the rewritten file: whole ones first."""
    return [*np.flatnonzero(problem.whole).tolist(), *np.flatnonzero(~problem.whole).tolist()]


def _found(problem: IntegerProgram, listed: Sequence[float]) -> str | None:
    """Return a solution of a rewritten program, listed as in its file, in its own names and its own sense."""
    x = np.zeros(len(problem.names))
    x[_by_place(problem)] = listed
    return _stated(problem.names, x.tolist(), problem.objective(x))


_SOLVERS: dict[str, Callable[[str | None, str], str | None]] = {
    "highs": _highs,
    "scip": _scip,
    "cbc": _cbc,
    "glpk": _glpk,
}


def _answer(solver: str, program: str | None, file: str) -> tuple[bytes, int]:
    if solver not in _SOLVERS:
        raise InputError(f"there is no solver {solver!r}; there are {', '.join(_SOLVERS)}")
    with needs_extra(f"the solver {solver}", "mip"):
        text = _SOLVERS[solver](program, file)
    return (b"", NOT_SOLVED) if text is None else (text.encode(), 0)


main = entry_point(__name__, print_answer, _answer)
