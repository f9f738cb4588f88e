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
    """The instance that began last, if any: what is expected of it, and what its runs are planned with.

    Plans are made with skills that were drawn once for the instance (Thompson sampling), so that its runs
    follow one plan. What is learned from them goes by what was expected.
    """

    STATE = ("x", "odds", "drawn_odds", "classes")
    GROWING = STATE

    def __init__(self, *, cuts: Array, n_hardness: int) -> None:
        self._cuts, self._n_hardness = cuts, n_hardness
        self._key = b""
        self._view: View | None = None
        self._drawn: View | None = None
        self.forget()

    def forget(self) -> None:
        """Have no instance at hand."""
        self.x, self.classes = np.zeros(0), np.zeros(0)
        self.odds, self.drawn_odds = np.zeros((0, 0, 0)), np.zeros((0, 0, 0))
        self._key, self._view, self._drawn = b"", None, None

    def begin(self, x: Array, view: View, drawn: View) -> None:
        """Take in a new instance; its classes are as likely in both views."""
        self.x, self.odds, self.drawn_odds, self.classes = x, view.odds, drawn.odds, view.classes
        self._key, self._view, self._drawn = x.tobytes(), view, drawn

    def view(self, x: Array) -> View | None:
        """Return what was expected of the instance `x` when it began; None if another began since."""
        return self._view if self._is(x) else None

    def drawn(self, x: Array) -> View | None:
        """Return what the runs on the instance `x` are planned with; None if another began since."""
        return self._drawn if self._is(x) else None

    def _is(self, x: Array) -> bool:
        return x is self.x or self._key == x.tobytes()

    def restored(self) -> None:
        """Draw the curves again."""
        x, classes = self.x, self.classes
        if not len(classes):
            self.forget()
            return
        expect(len(classes) >= self._n_hardness, "at_hand: odds of other intervals or classes")
        expect_finite(x=x, odds=self.odds, drawn_odds=self.drawn_odds, classes=classes)
        expect((classes >= 0.0).all(), "at_hand: classes: expected at least 0")
        self.begin(x, self._restored_view(self.odds), self._restored_view(self.drawn_odds))

    def _restored_view(self, odds: Array) -> View:
        fine = odds.shape == (len(self.odds), len(self._cuts), len(self.classes))
        expect(fine, "at_hand: odds of other intervals or classes")
        odds = np.ascontiguousarray(odds)
        return View(odds, self.classes, Curves(odds, cuts=self._cuts), self._n_hardness)
