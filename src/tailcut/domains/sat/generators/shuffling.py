"""Rename the variables, flip their signs, and mix the clauses of a formula.

What is left is what the formula means; solvers and features get no help from the order it was made in.
"""

from __future__ import annotations

import numpy as np

from tailcut.domains.sat.formula import Formula


def shuffle(formula: Formula, rng: np.random.Generator) -> Formula:
    """Return an equally satisfiable formula with everything that does not matter drawn again.

    >>> mixed = shuffle(Formula.of([[1, 2], [3]]), np.random.Generator(np.random.PCG64(0)))
    >>> sorted(len(clause) for clause in mixed.clauses()), mixed.n_variables
    ([1, 2], 3)
    """
    n, m = formula.n_variables, formula.n_clauses
    names = rng.permutation(n).astype(np.int64) + 1
    signs = 2 * rng.integers(0, 2, size=n) - 1
    variable = np.abs(formula.literals).astype(np.int64) - 1
    literals = np.sign(formula.literals) * names[variable] * signs[variable]
    order = rng.permutation(m)
    rank = np.empty(m, dtype=np.int64)
    rank[order] = np.arange(m)
    row = np.repeat(rank, formula.lengths)
    within = rng.random(len(literals))
    offsets = np.concatenate([[0], np.cumsum(formula.lengths[order])]).astype(np.int64)
    return Formula(n, literals[np.lexsort((within, row))].astype(np.int32), offsets)
