"""What is expected of one instance: survival curves of all algorithms, in each class that it may belong to.

The first classes are those of hardness, the others are one for each past instance that is like it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailcut.schedules.curves import Curves
from tailcut.types import Array

TRACE = 0.05
"""An interval of which less was passed teaches nothing."""


class Passage(NamedTuple):
    """The intervals that a run passed and that teach something."""

    start: int
    """Number of the first of them."""
    solved: Array
    """1 where the run solved the instance within the interval, else 0, shape (j,)."""
    weights: Array
    """How much of each interval was passed, shape (j,)."""


class View(NamedTuple):
    """What is expected of an instance."""

    odds: Array
    """Log-odds of a solution within an interval, given none before, shape (K, J, M)."""
    classes: Array
    """How likely each class is before any run, shape (M,)."""
    curves: Curves
    n_hardness: int
    """How many of the classes are those of hardness."""

    def given(self, likelihood: Array) -> Array:
        """Return the probabilities of the classes, given the likelihood of what was seen in each."""
        return _shares(self.classes * likelihood, self.classes)

    def hardness_given(self, likelihood: Array) -> Array:
        """Return the probabilities of the classes of hardness alone."""
        prior = self.classes[: self.n_hardness]
        return _shares(prior * likelihood[: self.n_hardness], prior / prior.sum())

    def answered(self, algorithm: int, passage: Passage) -> Array:
        """Return the likelihood of what a run did in each class, shape (M,)."""
        start, solved, weights = passage
        odds = self.odds[algorithm, start : start + len(solved)]
        logs = -np.logaddexp(0.0, np.where(solved[:, None] > 0.0, -odds, odds))
        return np.asarray(np.exp(weights @ logs))

    def chance_of(self, likelihood: Array, before: Array) -> tuple[float, float]:
        """Return the likelihood of an outcome by similar instances, and by the classes of hardness."""
        joint, known = self.classes * likelihood, self.classes * before
        near, hard = slice(self.n_hardness, None), slice(0, self.n_hardness)
        by_near, by_hardness = (
            float(joint[part].sum()) / max(float(known[part].sum()), 1e-300) for part in (near, hard)
        )
        return by_near, by_hardness


def _shares(joint: Array, otherwise: Array) -> Array:
    total = joint.sum()
    return np.asarray(joint / total) if total > 0.0 else otherwise


def passed(known: float, end: float, solved: bool, cuts: Array) -> Passage:
    """Return what a run from scratch to `end` says of the intervals between `cuts`.

    Up to `known` seconds it was known to fail.

    >>> cuts = np.array([1.0, 3.0, 10.0])
    >>> passed(0.0, 5.0, True, cuts)  # through the first two, solved in the third
    Passage(start=0, solved=array([0., 0., 1.]), weights=array([1., 1., 1.]))
    >>> passed(1.0, 2.0, False, cuts)  # half of the second
    Passage(start=1, solved=array([0.]), weights=array([0.5]))
    """
    lows = np.concatenate(([0.0], cuts[:-1]))
    last = min(int(np.searchsorted(cuts, end)), len(cuts) - 1)
    weights = np.clip((np.minimum(cuts, end) - np.maximum(lows, known)) / (cuts - lows), 0.0, 1.0)
    answers = np.zeros(len(cuts))
    if solved:
        weights[last] = answers[last] = 1.0
    seen = np.flatnonzero(weights[: last + 1] >= TRACE)
    if not len(seen):
        return Passage(0, np.zeros(0), np.zeros(0))
    inside = slice(int(seen[0]), int(seen[-1]) + 1)
    return Passage(inside.start, answers[inside], weights[inside])
