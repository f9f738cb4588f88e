"""The ordering principle, denied: a total order on n things in which none is the smallest. No model.

Short proofs by resolution exist (Stålmarck 1996), but they must be found.
"""

from __future__ import annotations

from itertools import combinations, permutations

from tailcut.domains.sat.formula import Formula


def ordering(*, things: int) -> Formula:
    """Return a formula with a variable for every pair: the first comes before the second.

    >>> ordering(things=2).clauses()
    [[-1], [1]]
    """
    number = {pair: place for place, pair in enumerate(combinations(range(things), 2), start=1)}

    def before(one: int, other: int) -> int:
        return number[one, other] if one < other else -number[other, one]

    clauses = [[before(other, one) for other in range(things) if other != one] for one in range(things)]
    for one, two, three in permutations(range(things), 3):
        if one < two and one < three:  # each circle of three once in each direction
            clauses.append([-before(one, two), -before(two, three), -before(three, one)])
    return Formula.of(clauses, len(number))
