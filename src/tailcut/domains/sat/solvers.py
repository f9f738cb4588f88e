"""The solvers: a table of all of them, and one function that calls one.

Each is imported only when it is called.
"""

from __future__ import annotations

from tailcut.domains.sat.answers import Answer
from tailcut.domains.sat.formula import Formula
from tailcut.errors import InputError, MissingExtraError

SOLVERS: dict[str, str] = {
    "kissat404": "Kissat 4.0.4: clause learning with much pre- and inprocessing",
    "cadical300": "CaDiCaL 3.0.0: clause learning with much inprocessing",
    "minisat22": "MiniSat 2.2: plain clause learning",
    "lingeling": "Lingeling bbc: clause learning with inprocessing, including Gaussian elimination",
    "ergo": "Ergo, as bundled with PySAT",
    "cryptominisat": "CryptoMiniSat 5: clause learning with Gauss-Jordan elimination on XOR constraints",
    "highs": "HiGHS: an integer programming solver, on the clauses as inequalities",
    "local_search": "probSAT-like local search in C: finds models of large random formulas, proves nothing",
}
"""Name of a solver -> what it is, in one line."""

COMPLETE = tuple(name for name in SOLVERS if name != "local_search")
"""The solvers that can prove unsatisfiability."""


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
    try:
        return _ask(solver, formula, seed)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the solver {solver} needs {error.name}, of the extra 'sat': pip install 'tailcut[sat]'"
        ) from None


def _ask(solver: str, formula: Formula, seed: int) -> Answer:
    if solver == "local_search":
        from tailcut.domains.sat.local_search import search

        return Answer.of(True, search(formula, seed=seed))
    if solver == "highs":
        from tailcut.domains.sat.highs import solve_as_integer_program

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
