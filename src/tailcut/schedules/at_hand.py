"""What was expected of the instance that began last, kept until the next one begins.

A failed run makes the hard classes of instances more likely, by Bayes' rule. The hazards learn from the same
failure; to expect less of its algorithm on this very instance for that reason, too, would count it twice. It
would also take a new view of the instance after every run.
"""

from __future__ import annotations

import numpy as np

from tailcut.schedules.curves import Curves
from tailcut.schedules.view import View
from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array


class InstanceAtHand(Stateful):
    """The instance that began last, if any, and its view."""

    STATE = ("x", "odds", "classes")
    GROWING = STATE

    def __init__(self, *, cuts: Array, n_hardness: int) -> None:
        self._cuts, self._n_hardness = cuts, n_hardness
        self._key = b""
        self._view: View | None = None
        self.forget()

    def forget(self) -> None:
        """Have no instance at hand."""
        self.x, self.odds, self.classes = np.zeros(0), np.zeros((0, 0, 0)), np.zeros(0)
        self._key, self._view = b"", None

    def begin(self, x: Array, view: View) -> None:
        """Take in a new instance."""
        self.x, self.odds, self.classes = x, view.odds, view.classes
        self._key, self._view = x.tobytes(), view

    def view(self, x: Array) -> View | None:
        """Return what was expected of the instance `x` when it began; None if another began since."""
        return self._view if x is self.x or self._key == x.tobytes() else None

    def restored(self) -> None:
        """Draw the curves again."""
        x, odds, classes = self.x, self.odds, self.classes
        if not len(classes):
            self.forget()
            return
        fine = odds.shape[1:] == (len(self._cuts), len(classes)) and len(classes) >= self._n_hardness
        expect(fine, "at_hand: odds of other intervals or classes")
        expect_finite(x=x, odds=odds, classes=classes)
        expect((classes >= 0.0).all(), "at_hand: classes: expected at least 0")
        odds = self.odds = np.ascontiguousarray(odds)
        self.begin(x, View(odds, classes, Curves(odds, cuts=self._cuts), self._n_hardness))
