"""How hard an instance is, beyond what its features tell: a few classes, learned as the stream continues.

Algorithms that fail on the same instances fail together, in one of two ways:

    odds    In some classes the log-odds of a solution are shifted equally at all times: an algorithm that
            fails quickly says that the others will take longer or fail, but not when they would solve (a
            discrete frailty, in the language of survival analysis).
    times   In others every algorithm takes about the same time, up to a factor: where one has run for a
            while unsuccessfully, no other is likely to solve within less, but may soon after. Its log-runtime
            is logistic around that of the class (accelerated failure times).

Similar solvers are more of the second kind: running one after the other for short times gains little, and a
long run is worth more than the first kind would say. How common each class is, is learned, and the failures
on an instance say which classes it may belong to.
"""

from __future__ import annotations

import numpy as np

from tailcut.schedules.curves import CUTS
from tailcut.schedules.hazards import FIRST_LEVELS
from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array

REACH, SPREAD = 5.0, 2.5
"""The largest shift of the log-odds, and the deviation over instances that is expected at first."""
N_SHIFTS = 5
"""How many classes of the first kind there are."""
TIMES = np.array([0.005, 0.05, 0.25, 0.6, 1.6])
"""What runs take in the classes of the second kind, as fractions of the cutoff."""
SCALE = 0.7
"""The scale of log-runtimes around these."""
LARGEST = 6.0
"""No class shifts log-odds by more."""
WEIGHT = 10.0
"""How many instances it counts for that classes are as common as expected at first."""


class Hardness(Stateful):
    """M classes of instances with learned frequencies; each kind has half of the instances at first.

    >>> hardness = Hardness()
    >>> hardness.shift.shape == (len(hardness.frequencies()), len(CUTS))
    True
    """

    STATE = ("counts",)

    def __init__(self) -> None:
        equal = np.linspace(-REACH, REACH, N_SHIFTS)
        usual = np.exp(-0.5 * (equal / SPREAD) ** 2)
        same_time = np.clip(log_odds_around(TIMES, SCALE) - FIRST_LEVELS, -LARGEST, LARGEST)
        self.shift = np.vstack([np.repeat(equal[:, None], len(CUTS), axis=1), same_time])
        """What each class adds to the log-odds of a solution in each interval, shape (M, J)."""
        prior = np.concatenate([usual / usual.sum(), np.full(len(TIMES), 1.0 / len(TIMES))]) / 2.0
        self.least = 0.1 * WEIGHT * prior
        """No class is ever thought rarer than this, shape (M,)."""
        self.counts = WEIGHT * prior
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


def log_odds_around(times: Array, scale: float) -> Array:
    """Return the log-odds of a solution in each interval if runtimes are log-logistic around `times`, (M, J).

    With u = log(cut / time) / scale, a run is longer than a cut with probability 1 / (1 + exp u), so the odds
    of a solution between two cuts, given none before, are (exp u' - exp u) / (1 + exp u).

    >>> log_odds_around(np.array([1.0]), 0.7)[0, -1].round(3)  # 1 is the last cut, 0.7 the one before
    np.float64(-1.389)
    """
    ends = np.exp(np.log(CUTS / times[:, None]) / scale)
    starts = np.hstack([np.zeros((len(times), 1)), ends[:, :-1]])
    return np.asarray(np.log(ends - starts) - np.log1p(starts))
