"""Other people's schedules: MedleySolver's, and the online greedy schedule of Streeter and Golovin.

MedleySolver: after Pimpalkhare, Mora, Polgreen, Seshia, "MedleySolver: online SMT algorithm selection" (SAT
2021), with the defaults of its public code, not with the code itself. Online greedy: after Streeter, Golovin,
"An online algorithm for maximizing submodular functions", NIPS 2008. docs/background/peers.md says what each
does, and where it differs from its paper. Exp3 is that of Auer et al. 2002.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import randomness
from tailcut.numerics.ranges import Count, Share
from tailcut.policies.policy import Choice, Offered, Policy
from tailcut.representation import Pipeline
from tailcut.state import expect, expect_finite, expect_indices
from tailcut.types import Array, Outcome, Progress, Quantity, Status

FASTEST = 1e6
"""Nobody is taken to solve more instances than that in the time of the cutoff."""
DURATIONS = 2.0 ** -np.arange(6.0)
"""How long a run may be, as shares of the cutoff."""
SHARES = DURATIONS[-1] / DURATIONS
"""How probable it is that a drawn run takes place, by its duration."""
OUT_OF_REACH = 1e6
"""The score of an algorithm that cannot run."""


def slices(rates: Array, cutoff: float, confidence: float) -> Array:
    """Return for how long to run algorithms whose runtimes are exponential with these rates, shape (K,).

    After t seconds the chance to answer between t and the cutoff is exp(-r t) - exp(-r cutoff). An algorithm
    is stopped when that is 1 - `confidence`; one whose chance is lower to begin with gets nothing.

    >>> slices(np.array([0.1, 0.0001]), 60.0, 0.95).round(1).tolist()
    [29.5, 0.0]
    """
    found: Array = -np.log(1.0 - confidence + np.exp(-rates * cutoff)) / rates
    return np.maximum(found, 0.0)


class MedleySchedule(Policy):
    """Runs the algorithms in an order, each for its slice; time that no slice claims goes to the first."""

    STATE: ClassVar[tuple[str, ...]] = ("representation", "runs", "solved", "seconds", "stream")
    representation: Pipeline
    quantity = Quantity("place in the order", "")

    def __init__(
        self, *, n_algorithms: int, seed: int, representation: Pipeline, confidence: Share = 0.95
    ) -> None:
        self.representation = representation
        self.confidence = confidence
        self.stream = randomness.stream(seed, "exploration")
        self.runs, self.solved = np.zeros(n_algorithms), np.zeros(n_algorithms)
        """How many runs each algorithm had, and how many of them solved their instance, shapes (K,)."""
        self.seconds = np.zeros(n_algorithms)
        """How long they took together, shape (K,)."""

    def restored(self) -> None:
        expect_finite(runs=self.runs, solved=self.solved, seconds=self.seconds)
        expect(bool((self.solved <= self.runs).all()), "solved: expected at most as many as runs")

    @abstractmethod
    def order(self, x: Array, rng: np.random.Generator) -> Array:
        """Return a value for each algorithm, the lowest first, shape (K,)."""

    def rates(self, cutoff: float) -> Array:
        """Return how many instances each algorithm solves per second; before its first run, K per cutoff."""
        tried = self.runs > 0
        found = np.full(len(self.runs), len(self.runs) / cutoff)
        found[tried] = self.runs[tried] / np.maximum(self.seconds[tried], self.runs[tried] * cutoff / FASTEST)
        return found

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:
        first = self.proceed(self.representation(features), offered, progress)
        assert first is not None, "on a new instance every algorithm awaits its turn"
        return first

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        return self._next(x, offered, progress, self.stream)

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        return self._next(x, offered, progress, randomness.Still())

    def _next(
        self, x: Array, offered: Offered, progress: Progress, rng: np.random.Generator
    ) -> Choice | None:
        assert progress.failed is not None
        waiting = np.flatnonzero(progress.failed == 0.0)
        if offered is not None:
            waiting = np.intersect1d(waiting, offered, assume_unique=True)
        if not len(waiting):
            return None
        values = self.order(x, rng)
        claims = slices(self.rates(progress.cutoff), progress.cutoff, self.confidence)
        hopeful = waiting[claims[waiting] > 0.0]
        if not len(hopeful):
            hopeful = waiting[values[waiting].argmin()][None]
        chosen = int(hopeful[values[hopeful].argmin()])
        unclaimed = progress.left - float(claims[hopeful].sum())
        budget = min(progress.left, float(claims[chosen]) + max(unclaimed, 0.0))
        return Choice(chosen, "its turn", values, x, budget)

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:  # noqa: ARG002
        """Add a run to the sums; one that was stopped counts as the time it would have taken on average.

        Exponential runtimes have no memory: that is what it took, and the mean once more.
        """
        taken = progress.cutoff if outcome.time is None else outcome.time
        solved = outcome.status is Status.SOLVED
        expected = 0.0 if solved else 1.0 / float(self.rates(progress.cutoff)[algorithm])
        self.runs[algorithm] += 1.0
        self.solved[algorithm] += float(solved)
        self.seconds[algorithm] += taken + expected
        if solved:
            self.learn_solved(algorithm, x)

    def learn_solved(self, algorithm: int, x: Array) -> None:
        """Record that an algorithm solved the instance represented by `x`."""

    def add(self) -> None:
        self.runs, self.solved = np.append(self.runs, 0.0), np.append(self.solved, 0.0)
        self.seconds = np.append(self.seconds, 0.0)

    def remove(self, algorithm: int) -> None:
        self.runs, self.solved = np.delete(self.runs, algorithm), np.delete(self.solved, algorithm)
        self.seconds = np.delete(self.seconds, algorithm)

    def times_chosen(self, algorithm: int) -> int:
        return int(self.runs[algorithm])


class NearestMedley(MedleySchedule):
    """Orders by how many of the most similar solved instances each algorithm solved; ties are drawn.

    In the beginning the order is often drawn altogether: with the probability `explore` to the power of the
    number of runs so far, plus one.
    """

    STATE: ClassVar[tuple[str, ...]] = (*MedleySchedule.STATE, "x", "solver")
    GROWING: ClassVar[tuple[str, ...]] = ("x", "solver")
    bounded: ClassVar[bool] = False

    def __init__(
        self,
        *,
        n_algorithms: int,
        seed: int,
        representation: Pipeline,
        confidence: Share = 0.95,
        neighbours: Count = 10,
        explore: Share = 0.9,
    ) -> None:
        super().__init__(
            n_algorithms=n_algorithms, seed=seed, representation=representation, confidence=confidence
        )
        self.neighbours, self.explore = neighbours, explore
        self.x = np.zeros((0, representation.width))
        self.solver: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Every solved instance, shape (n, d), and who solved it, shape (n,)."""

    def restored(self) -> None:
        super().restored()
        expect_finite(x=self.x)
        expect_indices(len(self.runs), solver=self.solver)

    def order(self, x: Array, rng: np.random.Generator) -> Array:
        """Return minus the votes, and minus a draw from 0 to 1 that decides ties."""
        tie = rng.random(len(self.runs))
        if rng.random() < self.explore ** (1.0 + self.runs.sum()):
            return -tie
        nearest = ((self.x - x) ** 2).sum(axis=1).argsort(kind="stable")[: self.neighbours]
        votes: Array = np.bincount(self.solver[nearest], minlength=len(self.runs)).astype(np.float64)
        return -votes - tie

    def learn_solved(self, algorithm: int, x: Array) -> None:
        self.x = np.vstack([self.x, x[None]])
        self.solver = np.append(self.solver, algorithm)

    def remove(self, algorithm: int) -> None:
        super().remove(algorithm)
        kept = self.solver != algorithm
        self.x, self.solver = self.x[kept], self.solver[kept]
        self.solver = self.solver - (self.solver > algorithm)

    def add_features(self, n_features: int) -> None:
        super().add_features(n_features)
        new = np.zeros((len(self.x), self.representation.width - self.x.shape[1]))
        self.x = np.hstack([new, self.x])


class ThompsonMedley(MedleySchedule):
    """Orders by a draw from Beta(1 + solved, 1 + unsolved) of each algorithm."""

    def order(self, x: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Return minus the draws; without randomness, minus the means."""
        if isinstance(rng, randomness.Still):
            return -(1.0 + self.solved) / (2.0 + self.runs)
        return -rng.beta(1.0 + self.solved, 1.0 + self.runs - self.solved)


class Exp3Medley(MedleySchedule):
    """Orders by draws without replacement from Exp3's probabilities: (1 - gamma) w / sum(w) + gamma / K."""

    STATE: ClassVar[tuple[str, ...]] = (*MedleySchedule.STATE, "gains")

    def __init__(
        self,
        *,
        n_algorithms: int,
        seed: int,
        representation: Pipeline,
        confidence: Share = 0.95,
        gamma: Share = 0.07,
    ) -> None:
        super().__init__(
            n_algorithms=n_algorithms, seed=seed, representation=representation, confidence=confidence
        )
        self.gamma = gamma
        self.gains = np.zeros(n_algorithms)
        """The logarithm of each weight: gamma / K times the rewards, each over its probability."""

    def restored(self) -> None:
        super().restored()
        expect_finite(gains=self.gains)

    def probabilities(self) -> Array:
        return _exp3(self.gains, self.gamma)

    def order(self, x: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Return Gumbel draws: the lowest is drawn by the probabilities, the next among the rest."""
        return _raced(self.probabilities(), rng)

    def learn_solved(self, algorithm: int, x: Array) -> None:  # noqa: ARG002
        """Multiply a weight by exp(gamma / (p K)): a solved run has reward 1, any other 0."""
        self.gains[algorithm] += self.gamma / (self.probabilities()[algorithm] * len(self.gains))

    def add(self) -> None:
        super().add()
        self.gains = np.append(self.gains, self.gains.mean())

    def remove(self, algorithm: int) -> None:
        super().remove(algorithm)
        self.gains = np.delete(self.gains, algorithm)


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
        expect_finite(gains=self.gains)

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:  # noqa: ARG002
        first = self._drawn(0, offered, progress, self.stream)
        assert first is not None, "on a new instance everyone may run"
        return first

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the next run; None if no algorithm could run longer than before."""
        return self._drawn(int(x[0]) + 1 if len(x) else 1, offered, progress, self.stream)

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the run that most probably takes place in the slot, by the time used so far if not known."""
        slot = int(x[0]) if len(x) else int(progress.used / (DURATIONS[-1] * progress.cutoff))
        return self._drawn(slot, offered, progress, randomness.Still())

    def _drawn(
        self, slot: int, offered: Offered, progress: Progress, rng: np.random.Generator
    ) -> Choice | None:
        """Return the run of the first slot, from the given one on, in which one takes place.

        Without randomness, one takes place in the given slot.
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
            probability = _exp3(self.gains[current], self.gamma)
            if offered is not None:
                probability[barred] = 0.0
                probability /= probability.sum()
            runs = probability * SHARES
            runs[~possible] = 0.0
            if isinstance(rng, randomness.Still) or rng.random() < runs.sum():
                return self._choice(current, _raced(runs, rng), probability, seconds)
        probability = np.where(possible, _exp3(self.gains[-1], self.gamma), 0.0)
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
        self.gains = np.delete(self.gains, algorithm, axis=1)


def _exp3(gains: Array, gamma: float) -> Array:
    """Return Exp3's probabilities; `gains` are the logarithms of the weights."""
    weights = np.exp(gains - gains.max())
    found: Array = (1.0 - gamma) * weights / weights.sum() + gamma / weights.size
    return found


def _raced(weights: Array, rng: np.random.Generator) -> Array:
    """Return values of which each is the lowest with a probability in proportion to its weight."""
    uniform = np.clip(rng.random(weights.size), 1e-300, 1.0 - 1e-16).reshape(weights.shape)
    values = np.full(weights.shape, OUT_OF_REACH)
    some = weights > 0.0
    values[some] = np.log(-np.log(uniform[some])) - np.log(weights[some])
    return values
