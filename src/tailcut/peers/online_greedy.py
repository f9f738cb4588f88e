"""The online greedy schedule of Streeter and Golovin: a bandit for each place of the schedule.

Streeter, Golovin, "An online algorithm for maximizing submodular functions", NIPS 2008. The best schedule is
hard to find, but the greedy one is nearly as good: at each place the run, an algorithm for a duration, that
solves most further instances per second. Online, a bandit stands at each place and learns which run that is,
by the instances so far that were unsolved when it was reached; here Exp3, as only what was run is seen (the
paper's opaque feedback). Features are not looked at.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tailcut.numerics import randomness
from tailcut.numerics.ranges import Count, Share
from tailcut.policies.policy import Choice, Offered, Policy
from tailcut.state.stateful import expect_finite
from tailcut.types import Array, Outcome, Progress, Quantity, Status

DURATIONS = 2.0 ** -np.arange(6.0)
"""How long a run may be, as shares of the cutoff."""
OUT_OF_REACH = 1e6
"""The score of an algorithm that cannot run."""


class OnlineGreedy(Policy):
    """Draws each run from the Exp3 of its place; a solved run earns the shortest duration over its own."""

    STATE: ClassVar[tuple[str, ...]] = ("gains", "stream")
    quantity = Quantity("minus the log-probability of the run, and luck", "")

    def __init__(self, *, n_algorithms: int, seed: int, gamma: Share = 0.1, places: Count = 8) -> None:
        self.gamma = gamma
        self.gains = np.zeros((places, n_algorithms, len(DURATIONS)))
        """The logarithms of the weights, by place, algorithm, duration; later runs share the last place."""
        self.stream = randomness.stream(seed, "exploration")

    def restored(self) -> None:
        """Check the gains."""
        expect_finite(gains=self.gains)

    def probabilities(self, place: int) -> Array:
        """Return with which probability each run is drawn at a place, shape (K, durations)."""
        gains = self.gains[place]
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
        return self._drawn(self._place(x) + 1, offered, progress, self.stream)

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the most probable run."""
        assert progress.failed is not None
        place = int((progress.failed > 0.0).sum()) if not len(x) else self._place(x)
        return self._drawn(place, offered, progress, randomness.Still())

    @staticmethod
    def _place(x: Array) -> int:
        return int(x[0]) if len(x) else 0

    def _drawn(
        self, place: int, offered: Offered, progress: Progress, rng: np.random.Generator
    ) -> Choice | None:
        """Return a run of those that are possible, drawn by their probabilities."""
        assert progress.failed is not None
        place = min(place, len(self.gains) - 1)
        seconds = np.minimum(DURATIONS * progress.cutoff, progress.left)
        possible = progress.failed[:, None] < seconds
        if offered is not None:
            barred = np.ones(len(possible), dtype=bool)
            barred[offered] = False
            possible[barred] = False
        if not possible.any():
            return None
        probability = np.where(possible, self.probabilities(place), 0.0)
        probability /= probability.sum()
        uniform = np.clip(rng.random(probability.size), 1e-300, 1.0 - 1e-16).reshape(probability.shape)
        values = np.full(probability.shape, OUT_OF_REACH)
        values[possible] = np.log(-np.log(uniform[possible])) - np.log(probability[possible])
        algorithm, duration = divmod(int(values.argmin()), len(DURATIONS))
        x = np.array([float(place), float(duration), probability[algorithm, duration]])
        return Choice(algorithm, "drawn", values.min(axis=1), x, float(seconds[duration]))

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:  # noqa: ARG002
        """Credit the run with what it earned, over the probability that it had; recorded runs, see below.

        For a recorded run, it is known for each duration whether it was long enough.
        """
        solved = outcome.status is Status.SOLVED
        if not len(x):
            taken = progress.cutoff if outcome.time is None else outcome.time
            earned = DURATIONS[-1] / DURATIONS * (solved & (taken <= DURATIONS * progress.cutoff))
            self.gains[0, algorithm] += self.gamma * earned / self.gains[0].size
        elif solved:
            place, duration = int(x[0]), int(x[1])
            earned = DURATIONS[-1] / DURATIONS[duration]
            self.gains[place, algorithm, duration] += self.gamma * earned / (x[2] * self.gains[0].size)

    def add(self) -> None:
        """Make room for one more algorithm; its runs begin with the mean weight."""
        self.gains = np.concatenate([self.gains, self.gains.mean(axis=1, keepdims=True)], axis=1)

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""
        self.gains = np.delete(self.gains, algorithm, axis=1)
