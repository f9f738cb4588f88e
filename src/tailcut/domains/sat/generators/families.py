"""The families of formulas: how each draws its size and its content from a random stream.

They were chosen to be complementary, so that each kind of solver has formulas it is best at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailcut.domains.sat.formula import Formula
from tailcut.domains.sat.generators.factoring import factoring, random_prime
from tailcut.domains.sat.generators.ordering import ordering
from tailcut.domains.sat.generators.pigeonhole import pigeonhole
from tailcut.domains.sat.generators.quasigroup import quasigroup
from tailcut.domains.sat.generators.tseitin import tseitin
from tailcut.domains.sat.generators.uniform import uniform


@dataclass(frozen=True)
class Family:
    """A way to draw formulas."""

    draw: Callable[[np.random.Generator], Formula]
    what: str
    """What the formulas say, in one line."""
    suits: str
    """The kind of solver that is best at them."""


def _large_random(rng: np.random.Generator) -> Formula:
    u = float(rng.random())
    n = 1500 + round(8500 * u * u)  # more small than large; no logarithm, which machines round differently
    return uniform(rng, n=n, k=3, ratio=float(rng.uniform(3.9, 4.15)))


def _long_random(rng: np.random.Generator) -> Formula:
    return uniform(rng, n=int(rng.integers(200, 401)), k=5, ratio=float(rng.uniform(18.0, 19.5)))


def _threshold(rng: np.random.Generator) -> Formula:
    return uniform(rng, n=int(rng.integers(200, 251)), k=3, ratio=4.26)


def _quasigroup(rng: np.random.Generator) -> Formula:
    return quasigroup(rng, order=int(rng.integers(26, 35)), holes=float(rng.uniform(0.41, 0.50)))


def _pigeonhole(rng: np.random.Generator) -> Formula:
    holes = int(rng.integers(9, 23))
    pigeons = holes + int(rng.integers(1, 3))
    return pigeonhole(holes=holes, pigeons=pigeons, functional=bool(rng.integers(2)))


# With an even sum of charges every solver is done in milliseconds, so both draw odd ones only.
def _tseitin_cubic(rng: np.random.Generator) -> Formula:
    return tseitin(rng, vertices=2 * int(rng.integers(30, 46)), degree=3)


def _tseitin_quartic(rng: np.random.Generator) -> Formula:
    return tseitin(rng, vertices=int(rng.integers(26, 35)), degree=4)


def _ordering(rng: np.random.Generator) -> Formula:
    return ordering(things=int(rng.integers(24, 37)))


def _factoring(rng: np.random.Generator) -> Formula:
    if rng.random() < 0.3:
        bits = int(rng.integers(23, 29))
        return factoring(random_prime(rng, 2 ** (bits - 1), 2**bits))
    half = 2 ** int(rng.integers(13, 18))
    return factoring(random_prime(rng, half // 2, half) * random_prime(rng, half // 2, half))


FAMILIES: dict[str, Family] = {
    "random3": Family(
        _large_random,
        "large random 3-SAT below the threshold: 1,500 to 10,000 variables, 3.9 to 4.15 clauses per variable",
        "local search",
    ),
    "random5": Family(
        _long_random,
        "random 5-SAT below the threshold: 200 to 400 variables, 18 to 19.5 clauses per variable",
        "local search",
    ),
    "threshold": Family(
        _threshold,
        "random 3-SAT at the threshold: 200 to 250 variables, 4.26 clauses per variable",
        "clause learning",
    ),
    "quasigroup": Family(
        _quasigroup,
        "complete a Latin square of order 26 to 34 with 41 to 50% holes; there is a model",
        "clause learning, plain",
    ),
    "pigeonhole": Family(
        _pigeonhole, "9 to 22 holes and one or two more pigeons; there is no model", "integer programming"
    ),
    "tseitin3": Family(
        _tseitin_cubic,
        "parities on a random 3-regular graph of 60 to 90 vertices; there is no model",
        "Gauss elimination",
    ),
    "tseitin4": Family(
        _tseitin_quartic,
        "parities on a random 4-regular graph of 26 to 34 vertices; there is no model",
        "clause learning with simplification",
    ),
    "ordering": Family(
        _ordering, "an order of 24 to 36 things without a smallest; there is no model", "clause learning"
    ),
    "factoring": Family(
        _factoring,
        "factor a number: a semiprime with factors of 13 to 17 bits, or (no model) a prime of 23 to 28 bits",
        "clause learning",
    ),
}
"""Name of a family -> how to draw from it, what it is, and what kind of solver suits it."""
