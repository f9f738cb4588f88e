"""Random k-SAT: m clauses, each of k different variables with random signs."""

from __future__ import annotations

import numpy as np

from tailcut.domains.sat.formula import Formula


def uniform(rng: np.random.Generator, *, n: int, k: int, ratio: float) -> Formula:
    """Return a formula of n variables and round(ratio n) clauses of length k <= n.

    >>> formula = uniform(np.random.Generator(np.random.PCG64(0)), n=10, k=3, ratio=4.26)
    >>> formula.n_clauses, set(formula.lengths.tolist())
    (43, {3})
    """
    m = round(ratio * n)
    variables = rng.integers(1, n + 1, size=(m, k))
    while True:  # draw clauses with a variable twice once more, until there is none
        ordered = np.sort(variables, axis=1)
        again = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not again.any():
            break
        variables[again] = rng.integers(1, n + 1, size=(int(again.sum()), k))
    signs = 2 * rng.integers(0, 2, size=(m, k)) - 1
    return Formula(n, (variables * signs).astype(np.int32).ravel(), np.arange(0, m * k + 1, k))
