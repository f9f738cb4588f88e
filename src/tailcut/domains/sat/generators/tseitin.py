"""Tseitin formulas: the edges of a graph are variables, and each vertex says whether an odd number is true.

Every edge is counted at two vertices, so if an odd number of vertices asks for an odd number, there is no
model. Resolution needs exponentially long proofs on random regular graphs (Urquhart 1987); Gauss
elimination modulo 2 sees it at once.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.sat.formula import Formula


def tseitin(rng: np.random.Generator, *, vertices: int, degree: int, odd: bool = True) -> Formula:
    """Return a formula on a random regular graph; without a model if the sum of the charges is `odd`.

    On a connected graph there is a model if the sum is even; on one in pieces, there may be none.
    """
    edges = regular_graph(rng, vertices=vertices, degree=degree)
    charges = rng.integers(0, 2, size=vertices)
    charges[0] ^= (int(charges.sum()) + odd) % 2
    clauses: list[list[int]] = []
    for vertex in range(vertices):
        around = [number + 1 for number, edge in enumerate(edges.tolist()) if vertex in edge]
        # A clause forbids that its negated edges are true and the others false: a wrong parity, each time.
        clauses += [
            [sign * edge for sign, edge in zip(signs, around, strict=True)]
            for signs in product((1, -1), repeat=degree)
            if signs.count(-1) % 2 != charges[vertex]
        ]
    return Formula.of(clauses, len(edges))


def regular_graph(rng: np.random.Generator, *, vertices: int, degree: int) -> NDArray[np.int64]:
    """Return the edges of a random regular graph without loops or double edges, shape (n, 2).

    By the pairing model: pair up `degree` copies of every vertex until no pair is a loop or comes twice.

    >>> edges = regular_graph(np.random.Generator(np.random.PCG64(0)), vertices=6, degree=3)
    >>> np.bincount(edges.ravel()).tolist()
    [3, 3, 3, 3, 3, 3]
    """
    if vertices * degree % 2 or vertices <= degree:
        raise ValueError("a regular graph needs more vertices than its degree and an even product of the two")
    copies = np.repeat(np.arange(vertices), degree)
    while True:
        edges = np.sort(rng.permutation(copies).reshape(-1, 2), axis=1)
        proper = bool((edges[:, 0] != edges[:, 1]).all())
        if proper and len(np.unique(edges[:, 0] * vertices + edges[:, 1])) == len(edges):
            return edges
