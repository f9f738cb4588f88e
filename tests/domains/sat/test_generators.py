"""Generated formulas: the same everywhere, and known to have a model or none."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest

from tailcut.domains.sat.answers import SatStatus
from tailcut.domains.sat.cnf import Formula, dump, satisfies
from tailcut.domains.sat.generators import (
    FAMILIES,
    factoring,
    generate,
    is_prime,
    latin_square,
    ordering,
    pigeonhole,
    plan,
    quasigroup,
    regular_graph,
    shuffle,
    stream,
    tseitin,
    uniform,
)
from tailcut.domains.sat.solvers import answer
from tailcut.errors import InputError
from tests.domains.sat.small import SATISFIABLE, UNSATISFIABLE, has_model

DIGESTS: dict[str, str] = {
    "random3": "fb6d589b63ef746c",
    "random5": "8073ad71d4521891",
    "threshold": "e0fe3780e70ec3f6",
    "quasigroup": "72676b5f465c8d4c",
    "pigeonhole": "222a4d86d5a52929",
    "tseitin3": "be49c56949e8d42c",
    "tseitin4": "2de10b009dce3730",
    "ordering": "260057eada3202aa",
    "factoring": "6cc0e897a9ee903f",
}
"""The first 16 digits of SHA-256 of formula 7 of each family as a file: the same on every machine."""


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _satisfiable(formula: Formula) -> bool:
    found = answer("cadical300", formula)
    assert found.model is None or satisfies(formula, found.model)
    return found.status is SatStatus.SATISFIABLE


@pytest.mark.parametrize("family", FAMILIES)
def test_formulas_are_the_same_everywhere(family: str) -> None:
    formula = generate(family, 7)
    assert hashlib.sha256(dump(formula)).hexdigest()[:16] == DIGESTS[family]
    assert formula != generate(family, 8)
    assert (formula.lengths > 0).all()


def test_the_table_of_digests_is_of_the_families() -> None:
    assert DIGESTS.keys() == FAMILIES.keys()


@pytest.mark.parametrize("functional", [False, True])
def test_pigeonholes(functional: bool) -> None:
    assert not _satisfiable(pigeonhole(holes=5, pigeons=6, functional=functional))
    assert _satisfiable(pigeonhole(holes=5, pigeons=5, functional=functional))


@pytest.mark.parametrize(("vertices", "degree"), [(12, 3), (11, 4)])
def test_tseitin_has_a_model_if_the_charges_are_even(vertices: int, degree: int) -> None:
    for seed in range(4):
        odd, even = (tseitin(_rng(seed), vertices=vertices, degree=degree, odd=odd) for odd in (True, False))
        assert not _satisfiable(odd)
        # Seeds whose graph is connected, which nearly all are.
        assert _satisfiable(even)
        assert odd.n_variables == vertices * degree // 2
        assert odd.n_clauses == vertices * 2 ** (degree - 1)


def test_a_graph_that_cannot_be() -> None:
    for vertices, degree in ((5, 3), (3, 3)):
        with pytest.raises(ValueError, match="a regular graph needs"):
            regular_graph(_rng(), vertices=vertices, degree=degree)


def test_orders_without_a_smallest_thing() -> None:
    assert not _satisfiable(ordering(things=6))
    without_first = Formula.of(ordering(things=6).clauses()[1:])
    assert _satisfiable(without_first)  # one thing may be the smallest now


@pytest.mark.parametrize("number", [4, 6, 9, 15, 35, 49, 77, 121, 143, 2 * 101, 5, 7, 13, 97, 127])
def test_factoring_has_a_model_if_the_number_is_composite(number: int) -> None:
    formula = factoring(number)
    found = answer("minisat22", formula)
    assert (found.status is SatStatus.SATISFIABLE) != is_prime(number)
    if found.model is not None:  # the first variables are the bits of the two factors
        bits = (found.model > 0).tolist()
        size = number.bit_length()
        x = sum(bit << place for place, bit in enumerate(bits[: size - 1]))
        y = sum(bit << place for place, bit in enumerate(bits[size - 1 : size - 1 + (size + 1) // 2]))
        assert x * y == number


def test_numbers_too_small_to_factor() -> None:
    with pytest.raises(ValueError, match="below 4"):
        factoring(3)


def test_squares_with_holes_can_be_completed() -> None:
    for seed in range(3):
        assert _satisfiable(quasigroup(_rng(seed), order=8, holes=0.5))


def test_latin_squares() -> None:
    squares = [latin_square(_rng(seed), 7) for seed in range(5)]
    for square in squares:
        for line in [*square, *square.T]:
            assert sorted(line.tolist()) == list(range(7))
    assert len({square.tobytes() for square in squares}) == 5


def test_all_latin_squares_of_order_three_are_drawn() -> None:
    """There are 12."""
    seen = Counter(latin_square(_rng(seed), 3).tobytes() for seed in range(300))
    assert len(seen) == 12


def test_random_clauses_have_no_variable_twice() -> None:
    formula = uniform(_rng(), n=6, k=5, ratio=50)
    assert all(len({abs(literal) for literal in clause}) == 5 for clause in formula.clauses())
    assert np.bincount(np.abs(formula.literals), minlength=7)[1:].min() > 150


@pytest.mark.parametrize("formula", [SATISFIABLE, UNSATISFIABLE])
def test_shuffling_keeps_what_matters(formula: Formula) -> None:
    for seed in range(5):
        mixed = shuffle(formula, _rng(seed))
        assert has_model(mixed) == has_model(formula)
        assert sorted(mixed.lengths.tolist()) == sorted(formula.lengths.tolist())
        uses = [sorted(np.bincount(np.abs(f.literals), minlength=6).tolist()) for f in (mixed, formula)]
        assert uses[0] == uses[1]


def test_a_stream_is_mixed_and_repeats() -> None:
    names = [name for name, _, _ in plan(90, seed=3)]
    families = [name.rsplit("-", 1)[0] for name in names]
    assert Counter(families) == dict.fromkeys(FAMILIES, 10)
    assert families != sorted(families)
    assert [name.rsplit("-", 1)[1] for name in names] == [f"{place:06d}" for place in range(90)]
    assert plan(90, seed=3) == plan(90, seed=3) != plan(90, seed=4)
    chosen = ["pigeonhole", "tseitin4"]
    first, second = (dict(stream(4, seed=0, families=chosen)) for _ in range(2))
    assert first == second
    assert len(set(first.values())) == 4


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match="no family 'nothing'; there are random3"):
        generate("nothing", 0)
    with pytest.raises(InputError, match="no family 'nothing'"):
        stream(3, 0, ["ordering", "nothing"])
    with pytest.raises(InputError, match="0 or more"):
        generate("ordering", -1)
    for n, seed, families in ((-1, 0, None), (1, -1, None), (1, 0, [])):
        with pytest.raises(InputError, match="a stream needs"):
            stream(n, seed, families)
