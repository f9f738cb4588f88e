"""Lessons: runs made only to learn from, on instances that are already answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tailcut.types import Array

UNIFORM_SHARE = 0.1
"""How long a lesson chosen by chance runs, as a share of the cutoff."""


class Answered(NamedTuple):
    """An instance that needs no answer any more, and on which algorithms may still be run."""

    instance: str
    features: Array | None
    """As the selector got them, shape (d,); None if it got none."""
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

    >>> latest = Answered("i2", None, {"a": float("inf"), "b": 6.0})
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
