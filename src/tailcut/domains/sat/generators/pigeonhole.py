"""Pigeonhole formulas: more pigeons than holes, no two in one hole; there is no model.

Clause learning needs exponentially long proofs (Haken 1985); one who can count needs a line.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tailcut.domains.sat.formula import Formula


def pigeonhole(*, holes: int, pigeons: int, functional: bool = False) -> Formula:
    """Return that every pigeon has a hole and no hole two pigeons; `functional`: and no pigeon two holes.

    >>> pigeonhole(holes=1, pigeons=2).clauses()
    [[1], [2], [-1, -2]]
    """
    variable = np.arange(1, pigeons * holes + 1).reshape(pigeons, holes).tolist()
    clauses: list[tuple[int, ...]] = [tuple(row) for row in variable]
    for hole in zip(*variable, strict=True):
        clauses += [(-one, -other) for one, other in combinations(hole, 2)]
    if functional:
        for row in variable:
            clauses += [(-one, -other) for one, other in combinations(row, 2)]
    return Formula.of(clauses, pigeons * holes)
