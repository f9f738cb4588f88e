"""What is at stake on an instance, so that runs that are due are made where there is little to lose.

A first or a repeated run of an algorithm costs what the best one would have gained. Where even that one is
expected to time out, it costs nothing, so such a run waits for one of the hardest instances.
"""

from __future__ import annotations

import numpy as np

from tailcut.state.stateful import Stateful, expect_finite

RECENT = 200
"""An instance is hard or easy beside so many before it."""
FEWEST = 5
"""Beside fewer, none is known to be easy."""
PATIENCE = 10
"""A run that is due waits for so many instances at most."""


class Stakes(Stateful):
    """The lowest expected losses on recent instances.

    >>> stakes = Stakes()
    >>> [stakes.admits(due=False, loss=loss, hardest=0.2) for loss in (0.1, 0.3, 0.5, 0.7, 0.9)]
    [False, False, False, False, False]
    >>> [stakes.admits(due=True, loss=loss, hardest=0.2) for loss in (0.2, 0.95)]
    [False, True]
    """

    STATE = ("losses", "noted", "waited")

    def __init__(self) -> None:
        self.losses = np.zeros(RECENT)
        """In a ring, the oldest overwritten."""
        self.noted = 0
        """How many there were."""
        self.waited = 0
        """For how many instances a run that is due has waited."""

    def restored(self) -> None:
        """Check the losses."""
        expect_finite(losses=self.losses)

    def admits(self, *, due: bool, loss: float, hardest: float) -> bool:
        """Return whether a run that is due is made now, where the best is expected to lose `loss`.

        The instance is one of the `hardest` share of recent instances, or the one after the longest wait.
        """
        now = due and (self.waited >= PATIENCE or self._is_hard(loss, hardest))
        self.waited = self.waited + 1 if due and not now else 0
        self.losses[self.noted % RECENT] = loss
        self.noted += 1
        return now

    def _is_hard(self, loss: float, hardest: float) -> bool:
        known = min(self.noted, RECENT)
        if known < FEWEST:
            return True
        place = min(int((1.0 - hardest) * known), known - 1)
        return loss >= float(np.partition(self.losses[:known], place)[place])
