"""Quasigroup with holes: complete a Latin square some of whose cells were emptied, so there is a model.

Source of the family: Achlioptas, Gomes, Kautz and Selman, "Generating satisfiable problem instances",
AAAI 2000.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.sat.formula import Formula


def quasigroup(rng: np.random.Generator, *, order: int, holes: float) -> Formula:
    """Return the completion of a random Latin square of which the share `holes` of cells was emptied.

    A variable says that an empty cell has a symbol which its row and column do not have yet. Each cell
    has a symbol, and no row or column has one twice; that is all, so what follows from it must be found.
    """
    square = latin_square(rng, order)
    empty = (rng.permutation(order * order) < round(holes * order * order)).reshape(order, order)
    in_row = [{int(square[i, j]) for j in range(order) if empty[i, j]} for i in range(order)]
    in_column = [{int(square[i, j]) for i in range(order) if empty[i, j]} for j in range(order)]
    variable = 0
    in_cell: dict[tuple[int, int], list[int]] = {}
    in_line: dict[tuple[str, int, int], list[int]] = {}
    for i, j in np.argwhere(empty).tolist():
        for symbol in sorted(in_row[i] & in_column[j]):
            variable += 1
            in_cell.setdefault((i, j), []).append(variable)
            in_line.setdefault(("row", i, symbol), []).append(variable)
            in_line.setdefault(("column", j, symbol), []).append(variable)
    clauses: list[tuple[int, ...]] = [tuple(members) for members in in_cell.values()]
    for members in in_line.values():
        clauses += [(-one, -other) for one, other in combinations(members, 2)]
    return Formula.of(clauses, variable)


def latin_square(rng: np.random.Generator, order: int) -> NDArray[np.int64]:
    """Return a Latin square, shape (order, order), by the random walk of Jacobson and Matthews.

    Seen as a cube of zeros and ones with one 1 per line, a step adds 1 to four cells and takes it from
    four others; the square may be improper (a single -1) on the way, but not at the end. Source: "Generating
    uniformly distributed random Latin squares", Journal of Combinatorial Designs 4 (1996).

    >>> square = latin_square(np.random.Generator(np.random.PCG64(0)), 5)
    >>> all(len(set(line)) == 5 for line in [*square.tolist(), *square.T.tolist()])
    True
    """
    cube = np.zeros((order, order, order), dtype=np.int8)
    rows, columns = np.indices((order, order))
    cube[rows, columns, (rows + columns) % order] = 1
    improper: tuple[int, int, int] | None = None
    steps = order**3
    while steps > 0 or improper:
        steps -= 1
        if improper is None:
            i, j, k = (int(x) for x in rng.integers(0, order, size=3))
            if cube[i, j, k]:
                continue
        else:
            i, j, k = improper
        # Where the three lines through the cell have their 1 (two of them through an improper cell).
        a = _one_of(np.flatnonzero(cube[:, j, k] == 1), rng)
        b = _one_of(np.flatnonzero(cube[i, :, k] == 1), rng)
        c = _one_of(np.flatnonzero(cube[i, j, :] == 1), rng)
        for cell in ((i, j, k), (i, b, c), (a, j, c), (a, b, k)):
            cube[cell] += 1
        for cell in ((a, j, k), (i, b, k), (i, j, c), (a, b, c)):
            cube[cell] -= 1
        improper = (a, b, c) if cube[a, b, c] < 0 else None
    return np.asarray(cube.argmax(axis=2), dtype=np.int64)


def _one_of(places: NDArray[np.int64], rng: np.random.Generator) -> int:
    return int(places[0] if len(places) == 1 else places[rng.integers(len(places))])
