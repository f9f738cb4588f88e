"""MedleySolver's schedules: an order of the algorithms for each instance, and a slice of the time for each.

After the ideas of Pimpalkhare, Mora, Polgreen, Seshia, "MedleySolver: online SMT algorithm selection" (SAT
2021), not after its code. Three ways to the order: nearest neighbours (algorithms by what they did on similar
instances), Thompson sampling (a draw from the beta distribution of each one's share of solved runs),
Exp3 (Auer et al. 2002). One way to the slices: runtimes are taken as exponential, with the rate that is most
likely after the runs seen, and an algorithm runs until it would have answered with some confidence.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from tailcut.numerics import randomness
from tailcut.numerics.ranges import Count, Share
from tailcut.policies.policy import Choice, Offered, Policy
from tailcut.representation import Pipeline
from tailcut.state.stateful import expect_finite, expect_indices
from tailcut.types import Array, Outcome, Progress, Quantity, Status


def rate(seconds: Array, solved: Array) -> float:
    """Return the most likely rate of exponential runtimes, from runs that ended solved or were stopped.

    The log-likelihood is sum_solved log(r) - r sum(seconds), so r is solved runs per second.

    >>> rate(np.array([1.0, 3.0, 4.0]), np.array([1.0, 1.0, 0.0]))
    0.25
    """
    total = float(seconds.sum())
    return float(solved.sum()) / total if total > 0.0 else math.inf


class MedleySchedule(Policy):
    """Runs the algorithms in an order, each for its slice; the last one gets what is left."""

    STATE: ClassVar[tuple[str, ...]] = ("representation", "runs", "x", "seconds", "solved", "stream")
    GROWING: ClassVar[tuple[str, ...]] = ("runs", "x", "seconds", "solved")
    bounded: ClassVar[bool] = False
    quantity = Quantity("place in the order", "")

    def __init__(
        self, *, n_algorithms: int, seed: int, representation: Pipeline, confidence: Share = 0.9
    ) -> None:
        self.representation = representation
        self.n_algorithms = n_algorithms
        self.confidence = confidence
        """An algorithm is stopped when it would have answered with this probability."""
        self.stream = randomness.stream(seed, "exploration")
        self.runs = np.zeros(0, dtype=np.int64)
        """The algorithm of each run so far, shape (n,)."""
        self.x = np.zeros((0, representation.width))
        self.seconds, self.solved = np.zeros(0), np.zeros(0)
        """How long each took, and whether it solved its instance, shapes (n,)."""

    def restored(self) -> None:
        """Check the runs."""
        expect_finite(x=self.x, seconds=self.seconds, solved=self.solved)
        expect_indices(self.n_algorithms, runs=self.runs)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """How many raw features an instance has."""
        return self.representation.n_features

    @property
    def width(self) -> int:  # type: ignore[override]
        """How many entries a represented instance has."""
        return self.representation.width

    @abstractmethod
    def order(self, x: Array, rng: np.random.Generator) -> Array:
        """Return a value for each algorithm, the lowest first, shape (K,)."""

    def evidence(self, algorithm: int, x: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Return the runs that say how long an algorithm takes at `x`: seconds, and whether solved."""
        own = self.runs == algorithm
        return self.seconds[own], self.solved[own]

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:
        """Return the first run on an instance."""
        first = self._next(self.representation(features), offered, progress, self.stream)
        assert first is not None, "on a new instance every algorithm awaits its turn"
        return first

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the next run; None when all had their turn."""
        return self._next(x, offered, progress, self.stream)

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return what would be run without randomness."""
        return self._next(x, offered, progress, randomness.Still())

    def peek(self, features: Array) -> Array:
        """Return raw features represented, learning nothing."""
        return self.representation.peek(features)

    def represent(self, features: Array) -> Array:
        """Take in instances that need no decision; return them represented."""
        return self.representation.take_in(features)

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
        chosen = int(waiting[values[waiting].argmin()])
        alone = len(waiting) == 1
        budget = progress.left if alone else min(progress.left, self.slice(chosen, x, progress.left))
        return Choice(chosen, "its turn", values, x, budget)

    def slice(self, algorithm: int, x: Array, left: float) -> float:
        """Return for how long an algorithm runs: the quantile of exponential runtimes at `confidence`.

        One without runs gets an equal share of what is left; one that solved nothing, too.
        """
        seconds, solved = self.evidence(algorithm, x)
        fastest = rate(seconds, solved) if len(seconds) else 0.0
        if fastest <= 0.0 or math.isinf(fastest):
            return left / self.n_algorithms
        return max(-math.log(1.0 - self.confidence) / fastest, 1e-3 * left)

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Remember how long a run took, and whether it solved its instance; a failed one, its cutoff."""
        seconds = progress.cutoff if outcome.time is None else outcome.time
        solved = float(outcome.status is Status.SOLVED)
        self.runs = np.append(self.runs, algorithm)
        self.x = np.vstack([self.x, x[None]])
        self.seconds, self.solved = np.append(self.seconds, seconds), np.append(self.solved, solved)
        self.reward(algorithm, solved * (1.0 - min(seconds / progress.cutoff, 1.0)), budget)

    def reward(self, algorithm: int, reward: float, budget: float) -> None:
        """Record the reward of a run, between 0 and 1."""

    def add(self) -> None:
        """Make room for one more algorithm, the last in number."""
        self.n_algorithms += 1

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm with its runs; those behind it move up by one."""
        kept = self.runs != algorithm
        self.runs, self.x = self.runs[kept], self.x[kept]
        self.seconds, self.solved = self.seconds[kept], self.solved[kept]
        self.runs = self.runs - (self.runs > algorithm)
        self.n_algorithms -= 1

    def widen(self, n_features: int) -> None:
        """Take instances with more features; past runs count as having had 0 there."""
        self.representation.widen(n_features)
        new = np.zeros((len(self.x), self.representation.width - self.x.shape[1]))
        self.x = np.hstack([new, self.x])

    def times_chosen(self, algorithm: int) -> int:
        """Return how many runs of an algorithm were learned."""
        return int((self.runs == algorithm).sum())


class NearestMedley(MedleySchedule):
    """Orders by the mean runtimes, as exponential, on each one's `neighbours` most similar instances."""

    def __init__(
        self,
        *,
        n_algorithms: int,
        seed: int,
        representation: Pipeline,
        confidence: Share = 0.9,
        neighbours: Count = 10,
    ) -> None:
        super().__init__(
            n_algorithms=n_algorithms, seed=seed, representation=representation, confidence=confidence
        )
        self.neighbours = neighbours

    def evidence(self, algorithm: int, x: Array) -> tuple[Array, Array]:
        """Return an algorithm's runs on the instances nearest to `x`."""
        (own,) = np.nonzero(self.runs == algorithm)
        if len(own) > self.neighbours:
            distance = ((self.x[own] - x) ** 2).sum(axis=1)
            own = own[np.argsort(distance, kind="stable")[: self.neighbours]]
        return self.seconds[own], self.solved[own]

    def order(self, x: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Return minus the rates: who solves most per second is first, after those that never ran."""
        found = np.empty(self.n_algorithms)
        for algorithm in range(self.n_algorithms):
            seconds, solved = self.evidence(algorithm, x)
            fastest = rate(seconds, solved) if len(seconds) else math.inf
            found[algorithm] = -min(fastest, 1e12)
        return found


class ThompsonMedley(MedleySchedule):
    """Orders by a draw from Beta(1 + solved, 1 + unsolved) of each algorithm."""

    def order(self, x: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Return minus the draws; without randomness, minus the means."""
        solved = np.bincount(self.runs, weights=self.solved, minlength=self.n_algorithms)
        runs = np.bincount(self.runs, minlength=self.n_algorithms)
        if isinstance(rng, randomness.Still):
            return -(1.0 + solved) / (2.0 + runs)
        return -rng.beta(1.0 + solved, 1.0 + runs - solved)


class Exp3Medley(MedleySchedule):
    """Orders by draws without replacement from Exp3's probabilities: (1 - gamma) w / sum(w) + gamma / K."""

    STATE: ClassVar[tuple[str, ...]] = (*MedleySchedule.STATE, "gains")

    def __init__(
        self,
        *,
        n_algorithms: int,
        seed: int,
        representation: Pipeline,
        confidence: Share = 0.9,
        gamma: Share = 0.1,
    ) -> None:
        super().__init__(
            n_algorithms=n_algorithms, seed=seed, representation=representation, confidence=confidence
        )
        self.gamma = gamma
        self.gains = np.zeros(n_algorithms)
        """The logarithm of each weight: gamma / K times the rewards, each over its probability."""

    def restored(self) -> None:
        """Check the runs and the gains."""
        super().restored()
        expect_finite(gains=self.gains)

    def probabilities(self) -> Array:
        """Return with which probability each algorithm comes first, shape (K,)."""
        weights = np.exp(self.gains - self.gains.max())
        found: Array = (1.0 - self.gamma) * weights / weights.sum() + self.gamma / self.n_algorithms
        return found

    def order(self, x: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Return Gumbel draws: the lowest is drawn by the probabilities, the next among the rest."""
        uniform = np.clip(rng.random(self.n_algorithms), 1e-300, 1.0 - 1e-16)
        return np.log(-np.log(uniform)) - np.log(self.probabilities())

    def reward(self, algorithm: int, reward: float, budget: float) -> None:  # noqa: ARG002
        """Multiply a weight by exp(gamma reward / (p K))."""
        self.gains[algorithm] += self.gamma * reward / (self.probabilities()[algorithm] * self.n_algorithms)

    def add(self) -> None:
        """Give a new algorithm the mean of the others' gains."""
        super().add()
        self.gains = np.append(self.gains, self.gains.mean())

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm."""
        super().remove(algorithm)
        self.gains = np.delete(self.gains, algorithm)
