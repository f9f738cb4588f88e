"""What is known about every solver on every instance of a run: solved, watched for a while, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailcut.types import PENALTY, Array

ENOUGH = 0.95
"""A run that was watched for this share of its cutoff counts as a timeout: features take the rest."""


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """K solvers on n instances; recorded instances help to predict but are not averaged over.

    >>> table = OutcomeTable(("a", "b"), np.full(2, 10.0), np.zeros((2, 0)),
    ...     seconds=np.array([[1.0, 2.0], [10.0, 3.0]]), solved=np.array([[True, False], [False, True]]),
    ...     served=np.ones(2, bool))
    >>> table.known.tolist()
    [[True, False], [True, True]]
    >>> table.lowest.tolist(), table.highest.tolist()
    ([50.5, 2.5], [50.5, 51.5])
    """

    algorithms: tuple[str, ...]
    cutoffs: Array
    """Seconds that a solver alone would have had, shape (n,)."""
    features: Array
    """nan where missing, shape (n, d)."""
    seconds: Array
    """The runtime, or how long it was watched unsolved; 0 if it did not run, shape (n, K)."""
    solved: NDArray[np.bool_]
    """Whether it solved the instance, within its cutoff or later, shape (n, K)."""
    served: NDArray[np.bool_]
    """Which instances the run was asked for, shape (n,)."""

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which are known to be solved within the cutoff, shape (n, K)."""
        return np.asarray(self.solved & (self.seconds <= self.cutoffs[:, None]))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which costs are known: solved, or watched for as good as the whole cutoff, shape (n, K)."""
        return np.asarray(self.solved | (self.seconds >= ENOUGH * self.cutoffs[:, None]))

    @property
    def least(self) -> Array:
        """The least that each solver may cost: what is known, else the time watched, shape (n, K)."""
        unsolved = np.where(self.known, PENALTY * self.cutoffs[:, None], self.seconds)
        return np.where(self.answered, self.seconds, unsolved)

    @property
    def most(self) -> Array:
        """The most that each solver may cost on each instance, shape (n, K)."""
        return np.where(self.answered, self.seconds, PENALTY * self.cutoffs[:, None])

    @property
    def lowest(self) -> Array:
        """The least that each solver may have cost per instance served, whatever is assumed, shape (K,)."""
        return np.asarray(self.least[self.served].mean(axis=0))

    @property
    def highest(self) -> Array:
        """The most that each solver may have cost per instance served, whatever is assumed, shape (K,)."""
        return np.asarray(self.most[self.served].mean(axis=0))
