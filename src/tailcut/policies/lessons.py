"""Lessons: runs made only to learn from, on instances that are already answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import randomness

SHARES = (0.1, 0.3, 1.0)
"""The lengths of lessons, as shares of the cutoff: short ones first, longer ones only after those."""
UNIFORM_SHARE = 0.1
"""The length of a randomly chosen lesson, as a share of the cutoff."""


class Answered(NamedTuple):
    """An answered instance on which algorithms may still run."""

    instance: str
    tried: Mapping[str, float]
    """The longest that each algorithm has run on it, in seconds; inf if it solved it."""


class Lesson(NamedTuple):
    """One run to learn from."""

    instance: str
    algorithm: str
    budget: float
    """Seconds after which it is stopped."""


def uniform_lesson(
    candidates: Sequence[Answered], algorithms: Sequence[str], cutoff: float, stream: np.random.Generator
) -> Lesson | None:
    """Return a random other algorithm on the latest of the answered instances, for a tenth of the cutoff.

    None if every algorithm has run there for that long. The baseline for choosing by worth.

    >>> latest = Answered("i2", {"a": float("inf"), "b": 6.0})
    >>> uniform_lesson([latest], ["a", "b", "c"], 60.0, np.random.default_rng(0))
    Lesson(instance='i2', algorithm='c', budget=6.0)
    >>> uniform_lesson([latest], ["a", "b"], 60.0, np.random.default_rng(0)) is None
    True
    """
    if not candidates:
        return None
    latest, budget = candidates[-1], UNIFORM_SHARE * cutoff
    others = [name for name in algorithms if latest.tried.get(name, 0.0) < budget]
    return Lesson(latest.instance, others[int(stream.integers(len(others)))], budget) if others else None


def next_lesson(
    candidates: Sequence[Answered],
    algorithms: Sequence[str],
    cutoff: float,
    *,
    may_be_best: NDArray[np.bool_] | None,
    seed: int,
) -> Lesson | None:
    """Return a run of an algorithm that may be the best, on the latest of the answered instances.

    All that may be the best (all algorithms, if None) are equally likely: a model that uses features needs
    runs of each of them, and the promising ones run anyway. Runs are short; longer ones follow only when no
    short one is left. The result is deterministic.

    >>> latest = Answered("i2", {"a": float("inf")})
    >>> next_lesson([latest], ["a", "b", "c"], 60.0, may_be_best=np.array([True, False, True]), seed=0)
    Lesson(instance='i2', algorithm='c', budget=6.0)
    """
    possible = np.ones(len(algorithms), dtype=np.bool_) if may_be_best is None else may_be_best
    for share in SHARES:
        for one in reversed(candidates):
            tried = np.array([one.tried.get(name, 0.0) for name in algorithms])
            open_ = np.flatnonzero(tried < share * cutoff)
            if len(open_):
                worth = open_[possible[open_]]
                worth = worth if len(worth) else open_
                made = sum(len(other.tried) for other in candidates)
                chance = randomness.stream(seed, f"lesson {made} {one.instance}")
                number = worth[int(chance.integers(len(worth)))]
                return Lesson(one.instance, algorithms[int(number)], share * cutoff)
    return None
