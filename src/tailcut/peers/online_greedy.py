"""The online greedy schedule of Streeter and Golovin: a bandit for each slot of the schedule.

Streeter, Golovin, "An online algorithm for maximizing submodular functions", NIPS 2008. The best schedule is
hard to find, but the greedy one is nearly as good: next comes the run, an algorithm for a duration, that
solves most further instances per second. Online, the schedule has as many slots as the shortest duration fits
into the cutoff. A bandit stands at each slot and draws a run. It takes place with a probability, the shortest
duration over its own, so that a slot takes one shortest duration on average and earns what its run solves per
second. The bandits are Exp3, as only what was run is seen. Features are not looked at.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tailcut.numerics import randomness
from tailcut.numerics.ranges import Count, Share
from tailcut.policies.policy import Choice, Offered, Policy
from tailcut.state import expect_finite
from tailcut.types import Array, Outcome, Progress, Quantity, Status

DURATIONS = 2.0 ** -np.arange(6.0)
"""How long a run may be, as shares of the cutoff."""
SHARES = DURATIONS[-1] / DURATIONS
"""How probable it is that a drawn run takes place, by its duration."""
OUT_OF_REACH = 1e6
"""The score of an algorithm that cannot run."""


class OnlineGreedy(Policy):
    """Draws the run of each slot from its Exp3; a run that takes place and solves the instance earns 1.

    Time left behind the last slot goes to further runs of its bandit, which take place for certain and earn
    the shortest duration over their own.
    """

    STATE: ClassVar[tuple[str, ...]] = ("gains", "stream")
    quantity = Quantity("minus the log-probability of the run, and luck", "")

    def __init__(self, *, n_algorithms: int, seed: int, gamma: Share = 0.1, slots: Count = 32) -> None:
        self.gamma = gamma
        self.gains = np.zeros((slots, n_algorithms, len(DURATIONS)))
        """The logarithms of the weights, by slot, algorithm, duration."""
        self.stream = randomness.stream(seed, "exploration")

    def restored(self) -> None:
        """Check the gains."""
        expect_finite(gains=self.gains)

    def probabilities(self, slot: int) -> Array:
        """Return with which probability each run is drawn in a slot, shape (K, durations)."""
        gains = self.gains[slot]
        weights = np.exp(gains - gains.max())
        found: Array = (1.0 - self.gamma) * weights / weights.sum() + self.gamma / weights.size
        return found

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:  # noqa: ARG002
        """Return the first run on an instance."""
        first = self._drawn(0, offered, progress, self.stream)
        assert first is not None, "on a new instance everyone may run"
        return first

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the next run; None if no algorithm could run longer than before."""
        return self._drawn(int(x[0]) + 1 if len(x) else 1, offered, progress, self.stream)

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the run that most probably takes place in the slot, by the time used so far if not known."""
        slot = int(x[0]) if len(x) else int(progress.used / (DURATIONS[-1] * progress.cutoff))
        return self._drawn(slot, offered, progress, randomness.Still(), pass_on=False)

    def _drawn(
        self,
        slot: int,
        offered: Offered,
        progress: Progress,
        rng: np.random.Generator,
        *,
        pass_on: bool = True,
    ) -> Choice | None:
        """Return the run of the first slot, from the given one on, in which one takes place.

        Unless slots may `pass_on`, one takes place in the given slot.
        """
        assert progress.failed is not None
        seconds = np.minimum(DURATIONS * progress.cutoff, progress.left)
        possible = progress.failed[:, None] < seconds
        if offered is not None:
            barred = np.ones(len(possible), dtype=bool)
            barred[offered] = False
            possible[barred] = False
        if not possible.any():
            return None
        for current in range(slot, len(self.gains)):
            probability = self.probabilities(current)
            if offered is not None:
                probability[barred] = 0.0
                probability /= probability.sum()
            runs = probability * SHARES
            runs[~possible] = 0.0
            if not pass_on or rng.random() < runs.sum():
                return self._choice(current, _raced(runs, rng), probability, seconds)
        probability = np.where(possible, self.probabilities(-1), 0.0)
        probability /= probability.sum()
        return self._choice(len(self.gains), _raced(probability, rng), probability, seconds)

    @staticmethod
    def _choice(slot: int, values: Array, probability: Array, seconds: Array) -> Choice:
        """Return the run with the lowest value, with its slot, duration and probability to be drawn."""
        algorithm, duration = divmod(int(values.argmin()), len(DURATIONS))
        x = np.array([float(slot), float(duration), probability[algorithm, duration]])
        return Choice(algorithm, "drawn", values.min(axis=1), x, float(seconds[duration]))

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:  # noqa: ARG002
        """Credit the run with what it earned, over the probability that it had; recorded runs, see below.

        For a recorded run, it is known for each duration whether it was long enough.
        """
        solved = outcome.status is Status.SOLVED
        if not len(x):
            taken = progress.cutoff if outcome.time is None else outcome.time
            earned = SHARES * (solved & (taken <= DURATIONS * progress.cutoff))
            self.gains[0, algorithm] += self.gamma * earned / self.gains[0].size
        elif solved:
            slot, duration = int(x[0]), int(x[1])
            earned = 1.0 if slot < len(self.gains) else SHARES[duration]
            slot = min(slot, len(self.gains) - 1)
            self.gains[slot, algorithm, duration] += self.gamma * earned / (x[2] * self.gains[0].size)

    def add(self) -> None:
        """Make room for one more algorithm; its runs begin with the mean weight."""
        self.gains = np.concatenate([self.gains, self.gains.mean(axis=1, keepdims=True)], axis=1)

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""
        self.gains = np.delete(self.gains, algorithm, axis=1)


def _raced(weights: Array, rng: np.random.Generator) -> Array:
    """Return values of which each is the lowest with a probability in proportion to its weight."""
    uniform = np.clip(rng.random(weights.size), 1e-300, 1.0 - 1e-16).reshape(weights.shape)
    values = np.full(weights.shape, OUT_OF_REACH)
    some = weights > 0.0
    values[some] = np.log(-np.log(uniform[some])) - np.log(weights[some])
    return values
