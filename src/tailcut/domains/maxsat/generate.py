"""Formulas to try the domain on: ``python -m tailcut.domains.maxsat.generate FOLDER --count 60 --seed 0``.

Weighted random formulas, independent sets, colourings with the fewest conflicts, and set covers
in the old format.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

from tailcut.domains.maxsat.answers import WeightedFormula, dump_wcnf
from tailcut.domains.programs import entry_point, print_generated


def random(chance: Random) -> str:
    """Return random clauses of three literals, some hard, some with weights."""
    n = chance.randint(8, 11)

    def clause() -> list[int]:
        return [chance.choice((-1, 1)) * variable for variable in chance.sample(range(1, n + 1), 3)]

    hard = [clause() for _ in range(2 * n)]
    return dump_wcnf(WeightedFormula(n, hard, [(chance.randint(1, 9), clause()) for _ in range(3 * n)]))


def independent(chance: Random) -> str:
    """Return the largest set of nodes of a graph no two of which are joined; all weights are 1."""
    n = chance.randint(10, 14)
    hard = [[-a, -b] for a, b in combinations(range(1, n + 1), 2) if chance.random() < 0.2]
    return dump_wcnf(WeightedFormula(n, hard, [(1, [node]) for node in range(1, n + 1)]))


def colours(chance: Random) -> str:
    """Return the three-colouring of a graph with the lightest edges between nodes of one colour."""
    n = chance.randint(5, 7)
    colour = {(node, c): 3 * node + c + 1 for node in range(n) for c in range(3)}
    hard = [[colour[node, c] for c in range(3)] for node in range(n)]
    hard += [[-colour[v, a], -colour[v, b]] for v in range(n) for a, b in combinations(range(3), 2)]
    soft = []
    for a, b in combinations(range(n), 2):
        if chance.random() < 0.6:
            weight = chance.randint(1, 20)
            soft += [(weight, [-colour[a, c], -colour[b, c]]) for c in range(3)]
    return dump_wcnf(WeightedFormula(3 * n, hard, soft))


def cover(chance: Random) -> str:
    """Return the cheapest sets that cover everything, in the old format; some cannot be had."""
    n, m = 15, chance.randint(12, 18)
    weights = [chance.randint(1, 30) for _ in range(n)]
    top = sum(weights) + 1
    rows = [chance.sample(range(1, n + 1), 4) for _ in range(m)]
    if chance.random() < 0.2:
        rows += [[1], [-1]]
    lines = [f"p wcnf {n} {n + len(rows)} {top}"]
    lines += [" ".join(map(str, [top, *row, 0])) for row in rows]
    lines += [f"{weight} -{variable} 0" for variable, weight in enumerate(weights, 1)]
    return "\n".join(lines) + "\n"


main = entry_point(__name__, print_generated, (random, independent, colours, cover), "wcnf")
