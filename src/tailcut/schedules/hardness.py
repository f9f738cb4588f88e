"""How hard an instance is, beyond what its features tell: a few classes, learned as the stream continues.

Algorithms that fail on the same instances fail together. A class of hardness shifts the log-odds of a
solution equally for all algorithms; how common each class is, is learned; and the failures on an instance say
which classes it may belong to (a discrete frailty, in the language of survival analysis).
"""

from __future__ import annotations

import numpy as np

from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array


class Hardness(Stateful):
    """M classes of instances, from hard to easy, with learned frequencies.

    `spread` is the deviation of the log-odds over instances that is expected at first, and `weight` how
    many instances that expectation counts for.

    >>> Hardness().frequencies().argmax()
    np.int64(3)
    """

    STATE = ("counts",)

    def __init__(
        self, *, classes: int = 7, reach: float = 5.0, spread: float = 2.5, weight: float = 10.0
    ) -> None:
        self.shift = np.linspace(-reach, reach, classes) if classes > 1 else np.zeros(1)
        """What each class adds to the log-odds of a solution, shape (M,)."""
        prior = np.exp(-0.5 * (self.shift / spread) ** 2)
        self.least = prior / prior.sum() * weight * 0.1
        """No class is ever thought rarer than this, shape (M,)."""
        self.counts = self.least * 10.0
        """How many instances of each class were seen, in expectation, shape (M,)."""

    def restored(self) -> None:
        """Check the counts."""
        expect_finite(counts=self.counts)
        expect((self.counts > 0.0).all(), "counts: expected more than 0")

    def frequencies(self) -> Array:
        """Return how common the classes are, shape (M,)."""
        return np.asarray(self.counts / self.counts.sum())

    def given(self, likelihood: Array) -> Array:
        """Return the probabilities of the classes, given the likelihood of what was seen in each."""
        joint = self.frequencies() * likelihood
        total = joint.sum()
        return np.asarray(joint / total) if total > 0.0 else self.frequencies()

    def learn(self, before: Array | None, after: Array) -> None:
        """Count one instance as `after`; where it was counted as `before` already, that is taken back."""
        self.counts += after if before is None else after - before
        np.maximum(self.counts, self.least, out=self.counts)

    def forget(self, share: float) -> None:
        """Let the instances counted so far count less, by this share."""
        self.counts += share * (10.0 * self.least - self.counts)
