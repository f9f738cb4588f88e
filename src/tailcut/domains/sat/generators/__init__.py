"""Generated formulas: families that differ in which solver is best at them, and a mixed stream.

Everything is drawn from NumPy's PCG64 by seed and name, so a formula is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tailcut.domains.sat.formula import Formula
from tailcut.domains.sat.generators.families import FAMILIES, Family
from tailcut.domains.sat.generators.shuffling import shuffle
from tailcut.errors import InputError
from tailcut.numerics.randomness import stream as random_stream

__all__ = ["FAMILIES", "Family", "generate", "plan", "stream"]


def generate(family: str, seed: int) -> Formula:
    """Return formula number `seed` of a family: its size is drawn, and everything is shuffled.

    >>> generate("pigeonhole", 3) == generate("pigeonhole", 3)
    True
    """
    _check([family])
    if seed < 0:
        raise InputError(f"a seed must be 0 or more, not {seed}")
    rng = random_stream(seed, f"sat family {family}")
    return shuffle(FAMILIES[family].draw(rng), rng)


def stream(n: int, seed: int, families: Sequence[str] | None = None) -> Iterator[tuple[str, Formula]]:
    """Yield n formulas with names such as ``pigeonhole-000017``, the families (all, if None) well mixed.

    The number in the name is the place in the stream, from 0. Every family comes n / len(families) times,
    give or take one, in an order drawn by `seed`. A shorter stream is not the beginning of a longer one.

    >>> [name for name, _ in stream(3, seed=0, families=["ordering", "pigeonhole"])]
    ['ordering-000000', 'pigeonhole-000001', 'ordering-000002']
    """
    return ((name, generate(family, number)) for name, family, number in plan(n, seed, families))


def plan(n: int, seed: int, families: Sequence[str] | None = None) -> list[tuple[str, str, int]]:
    """Return name, family and seed of every formula of `stream`, without making any.

    >>> name, family, number = plan(1, seed=0, families=["ordering"])[0]
    >>> name, generate(family, number).n_clauses > 1000
    ('ordering-000000', True)
    """
    names = list(FAMILIES if families is None else dict.fromkeys(families))
    _check(names)
    if n < 0 or seed < 0 or not names:
        raise InputError("a stream needs a length and a seed of 0 or more, and at least one family")
    rng = random_stream(seed, "sat stream")
    turns = [names[place % len(names)] for place in range(n)]
    order = rng.permutation(n).tolist()
    seeds = rng.integers(0, 2**63, size=n).tolist()
    return [(f"{turns[turn]}-{place:06d}", turns[turn], seeds[place]) for place, turn in enumerate(order)]


def _check(families: Sequence[str]) -> None:
    for family in families:
        if family not in FAMILIES:
            raise InputError(f"there is no family {family!r}; there are {', '.join(FAMILIES)}")
