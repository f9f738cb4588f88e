"""Small formulas, and what is true of them by trying everything."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from tailcut.domains.domain import is_installed
from tailcut.domains.sat.cnf import Formula
from tailcut.domains.sat.solvers import SOLVERS

ABSENT = () if is_installed("pycryptosat") else ("cryptominisat",)
"""The solver that there is no wheel of for Python 3.14."""
SOLVERS_HERE = tuple(name for name in SOLVERS if name not in ABSENT)
COMPLETE_HERE = tuple(name for name in SOLVERS_HERE if name != "local_search")
"""Those that can prove unsatisfiability."""
UNSATISFIABLE = Formula.of([[1, 2], [-1, 2], [1, -2], [-1, -2]])
SATISFIABLE = Formula.of([[1, 2, 3], [-1, -2], [-3], [4, -1]], n_variables=5)


def has_model(formula: Formula) -> bool:
    """Say whether one of all assignments satisfies every clause."""
    clauses = formula.clauses()
    return any(
        all(any((literal > 0) == values[abs(literal) - 1] for literal in clause) for clause in clauses)
        for values in product((False, True), repeat=formula.n_variables)
    )


def formulas(*, shortest: int = 0) -> st.SearchStrategy[Formula]:
    """Draw formulas of up to 6 variables: also tautologies, repeated literals, unused variables."""
    literal = st.integers(1, 6).flatmap(lambda v: st.sampled_from([v, -v]))
    clause = st.lists(literal, min_size=shortest, max_size=4)
    return st.lists(clause, max_size=24).map(lambda clauses: Formula.of(clauses, 6))
