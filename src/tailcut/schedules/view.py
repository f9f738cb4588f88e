"""What is expected of one instance: survival curves of all algorithms, in each class that it may belong to.

The first classes are those of hardness, the others are one for each past instance that is like it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailcut.numerics.survival_kernels import intervals_passed, run_likelihood, weigh_outcome, weigh_run
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


class Weighed(NamedTuple):
    """What an outcome says of the classes of an instance."""

    hardness_before: Array
    """How likely each class of hardness was before the outcome, shape (M',)."""
    hardness_after: Array
    """And after it."""
    by_near: float
    """How likely the outcome was if the instance is like a past one."""
    by_hardness: float
    """And by the classes of hardness alone."""


class Said(NamedTuple):
    """What a run says: a `Passage` and what it makes of the classes, `Weighed`."""

    start: int
    solved: Array
    weights: Array
    hardness_before: Array
    hardness_after: Array
    by_near: float
    by_hardness: float


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
        joint = self.classes * likelihood
        total = joint.sum()
        return np.asarray(joint / total) if total > 0.0 else self.classes

    def after(self, failed: Array, algorithm: int, end: float, solved: bool) -> Said | None:
        """Return what a run to `end` says after these failures (K,); None if nothing."""
        curves = self.curves
        said = weigh_run(
            self.odds,
            curves.tables[0],
            curves.cuts,
            self.classes,
            self.n_hardness,
            failed,
            algorithm,
            end,
            solved,
            TRACE,
        )
        return None if said is None else Said(*said)

    def answered(self, algorithm: int, passage: Passage) -> Array:
        """Return the likelihood of what a run did in each class, shape (M,)."""
        return run_likelihood(self.odds, algorithm, *passage)

    def weighed(self, before: Array, after: Array) -> Weighed:
        """Return what an outcome says of the classes, whose likelihoods were `before` and are `after` it."""
        return Weighed(*weigh_outcome(self.classes, before, after, self.n_hardness))


def passed(known: float, end: float, solved: bool, cuts: Array) -> Passage:
    """Return what a run from scratch to `end` says of the intervals between `cuts`.

    Up to `known` seconds it was known to fail.

    >>> cuts = np.array([1.0, 3.0, 10.0])
    >>> passed(0.0, 5.0, True, cuts)  # through the first two, solved in the third
    Passage(start=0, solved=array([0., 0., 1.]), weights=array([1., 1., 1.]))
    >>> passed(1.0, 2.0, False, cuts)  # half of the second
    Passage(start=1, solved=array([0.]), weights=array([0.5]))
    """
    return Passage(*intervals_passed(known, end, solved, cuts, TRACE))
