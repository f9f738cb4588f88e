"""The favourite: an algorithm known to be good, which others must beat.

With one nearly perfect algorithm, trying the others costs more than it can ever gain. So at first the
favourite runs alone. Others are allowed on an instance only if the loss so far, plus the possible loss on
this instance, stays within (1 + margin) times what the favourite alone would have lost. That is the rule of
conservative bandits (Wu, Shariff, Lattimore and Szepesvari, ICML 2016), with the favourite's mean in place of
its bound. Where others do better, the room grows by what they save, and soon they are always let in.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailcut.numerics.ranges import NonNegative, Penalty
from tailcut.policies.pending import PendingRun
from tailcut.state import Stateful, expect
from tailcut.types import PENALTY, Outcome

MARGIN = 0.2
"""The share by which the loss may exceed what the favourite alone would have lost."""
_HEAD_START = 4
"""The prior: the favourite's mean starts as if it had solved so many instances immediately."""


class Favourite(Stateful):
    """Decides on which instances the favourite runs alone. Losses are shares of a timeout's PARk.

    >>> guard = Favourite("highs")
    >>> guard.goes_alone(["highs", "cbc"])
    True
    >>> guard.alone, guard.alone_loss = 20, 10.0  # it fails on every other instance: there is much to gain
    >>> guard.goes_alone(["highs", "cbc"])
    False
    >>> guard.alone_loss = 0.02  # it is nearly perfect
    >>> guard.goes_alone(["highs", "cbc"])
    True
    """

    STATE = ("alone", "alone_loss", "begun", "over", "loss")

    def __init__(
        self, favourite: str = "", favourite_margin: NonNegative = MARGIN, penalty: Penalty = PENALTY
    ) -> None:
        self.favourite, self.margin, self.penalty = favourite, favourite_margin, penalty
        self.alone = 0
        """Instances on which it ran alone and whose outcome is known."""
        self.alone_loss = 0.0
        self.begun = self.over = 0
        """Instances on which others were allowed, and how many of them are completed."""
        self.loss = 0.0

    def restored(self) -> None:
        expect(0 <= self.over <= self.begun, "over: more instances are over than were begun")
        expect(
            0.0 <= self.alone_loss <= self.alone and 0.0 <= self.loss <= self.over,
            "loss: is no sum of shares",
        )

    def goes_alone(self, offered: Sequence[str]) -> bool:
        """Return whether the favourite runs alone on the next instance, given who may run on it."""
        if self.favourite not in offered or len(offered) == 1:
            return False
        mean = self.alone_loss / (self.alone + _HEAD_START)
        # Of one more instance with others; at first, the worst:
        likely = (self.loss + 1.0) / (self.over + 1.0)
        under_way = self.begun - self.over
        planned = self.loss + (under_way + 1) * likely
        others, all_ = self.begun + 1, self.alone + self.begun + 1
        return planned > (others + self.margin * all_) * mean

    def recognised(self, run: PendingRun) -> PendingRun:
        """Return a run as version 0.2 kept it, which took the favourite alone for all that might run."""
        alone = bool(self.favourite) and run.among == (self.favourite,)
        return run._replace(among=None, alone=True) if alone else run

    def began(self, run: PendingRun) -> None:
        """Count an instance on which others were allowed."""
        if self._counts(run):
            self.begun += 1

    def observed(self, run: PendingRun, outcome: Outcome, *, last: bool) -> None:
        """Learn the outcome of a run; `last`: no run follows it, solved or not."""
        if not self.favourite:
            return
        solved = outcome.answered
        took = 0.0 if outcome.time is None else outcome.time
        loss = min((run.spent + took) / (self.penalty * run.cutoff), 1.0) if solved else 1.0
        loss = loss if outcome.loss is None else outcome.loss
        if run.alone:
            if run.stage == 0:
                self.alone += 1
                self.alone_loss += loss
        elif (solved or last) and self._counts(run):
            self._end(loss)

    def given_up(self, run: PendingRun) -> None:
        """Learn that no run follows on an unsolved instance."""
        if self._counts(run):
            self._end(1.0)

    def _counts(self, run: PendingRun) -> bool:
        among = run.among
        others = among is None or (len(among) > 1 and self.favourite in among)
        return bool(self.favourite) and others and not run.alone

    def _end(self, loss: float) -> None:
        if self.over < self.begun:
            self.over += 1
            self.loss += loss
