"""The interface of a policy, which identifies algorithms by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut.representation import Pipeline
from tailcut.state import Stateful
from tailcut.types import NO_FEATURES, Array, Forecasts, Outcome, Progress, Quantity

Offered = NDArray[np.intp] | None
"""The numbers of the algorithms to choose from, in increasing order; None: all."""


class Choice(NamedTuple):
    """A policy's decision: the algorithm's number, and what explanations and learning need."""

    algorithm: int
    reason: str
    scores: Array
    """One per algorithm, the lower the better, shape (K,)."""
    x: Array
    """The represented instance, shape (d,); passed back with its outcome."""
    budget: float
    """Seconds to run; more than 0, at most what is left of the cutoff."""


class RecordedOutcomes(NamedTuple):
    """Recorded runs of K algorithms on n instances."""

    seconds: Array
    """When each run ended, solved or not, shape (n, K)."""
    solved: NDArray[np.bool_]
    """Whether it had solved its instance by then, shape (n, K)."""
    known: NDArray[np.bool_]
    """Whether the run is known, shape (n, K)."""
    watched: Array
    """Seconds it was given, shape (n, K)."""
    losses: Array | None = None
    """The loss of its answer, from 0 to 1, if losses count instead of runtimes, shape (n, K)."""

    def at(self, rows: NDArray[np.intp]) -> RecordedOutcomes:
        """Return what happened on the instances in these rows, in their order."""
        return RecordedOutcomes(*(None if table is None else table[rows] for table in self))  # type: ignore[arg-type]

    def outcome(self, row: int, algorithm: int) -> Outcome:
        """Return the outcome of one run."""
        if self.losses is not None:
            return Outcome.rated(float(self.losses[row, algorithm]))
        seconds = float(self.seconds[row, algorithm])
        return Outcome.solved(seconds) if self.solved[row, algorithm] else Outcome.censored(seconds)


class Policy(Stateful, ABC):
    """Decides and learns for K algorithms, numbered 0 to K-1.

    A policy must define how to choose, proceed, learn, and add and remove algorithms. The other methods have
    defaults for a policy that ignores features and explains nothing.
    """

    bounded: ClassVar[bool] = True
    """Whether memory and time per step are independent of how many outcomes were learned."""
    predicts_runtimes: ClassVar[bool] = False
    """Whether `forecasts` returns any."""
    can_be_saved: ClassVar[bool] = True
    """Whether `state` returns all that it has learned."""
    needs_features: ClassVar[bool] = False
    """Whether it cannot learn anything without features."""
    quantity: Quantity = Quantity("", "")
    """What its scores are."""
    representation: Pipeline | None = None
    """From raw features to what the policy sees; None if it ignores features."""

    @property
    def n_features(self) -> int:
        """The number of raw features of an instance."""
        return 0 if self.representation is None else self.representation.n_features

    @property
    def width(self) -> int | None:
        """The number of entries of a represented instance, if the policy knows it."""
        return None if self.representation is None else self.representation.width

    @abstractmethod
    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:
        """Return the first run on an instance with these raw `features`, nan where missing, shape (d,)."""

    @abstractmethod
    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the next run on the unsolved instance represented by `x`, or None to give it up.

        There is time left, and `offered` excludes the algorithms that failed on this instance.
        """

    @abstractmethod
    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn the outcome of a run of `algorithm` with a budget of `budget` seconds.

        `progress` is the state before the run. A run censored at t is known to need longer than t, nothing
        more.
        """

    @abstractmethod
    def add(self) -> None:
        """Make room for one more algorithm, the last in number."""

    @abstractmethod
    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""

    def add_features(self, n_features: int) -> None:
        """Accept instances with this many features from now on; nothing is forgotten."""
        if self.representation is not None:
            self.representation.add_features(n_features)

    def fit_transform(self, features: Array) -> Array:
        """Read instances that need no decision, shape (n, d); return them represented, shape (n, w)."""
        if self.representation is None:
            return np.zeros((len(features), 0))
        return self.representation.fit_transform(features)

    def learn_recorded(self, x: Array, runs: RecordedOutcomes, progress: Progress) -> None:
        """Learn recorded runs on the instances represented by `x`, shape (n, w), row by row."""
        for row, algorithm in np.argwhere(runs.known).tolist():
            outcome = runs.outcome(row, algorithm)
            self.started(algorithm)
            self.learn(algorithm, x[row], outcome, progress, float(runs.watched[row, algorithm]))

    def ended(self, begun: int) -> None:
        """Let go of the instance of that number (`Progress.begun`): it is given up."""

    def started(self, algorithm: int) -> None:
        """Count a run that was not chosen here: its algorithm is no longer untried."""

    def transform(self, features: Array) -> Array:
        """Return raw features represented, learning nothing."""
        return NO_FEATURES if self.representation is None else self.representation.transform(features)

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:  # noqa: ARG002
        """Return what would be chosen without randomness, changing nothing; None if not known."""
        return None

    def judge(self, x: Array, progress: Progress, algorithms: Sequence[int]) -> Array | None:  # noqa: ARG002
        """Return the scores of these algorithms at `x` without randomness; None if not known."""
        return None

    def join(
        self,
        x: Array,
        offered: Sequence[int],
        progress: Progress,
        running: Mapping[int, float],
        *,
        budgets: Mapping[int, float] | None = None,  # noqa: ARG002
        free: int = 1,  # noqa: ARG002
    ) -> tuple[int, float] | None:
        """Return which of these should join the running ones, and for how long; None if not known.

        `running` maps each running algorithm to its seconds so far, `budgets` to those after which it will be
        stopped, if known, and so many cores are `free`, this one included. By default the one with the lowest
        score joins, for all the time that is left.
        """
        scores = self.judge(x, progress, offered) if running else None
        return None if scores is None else (int(offered[int(np.argmin(scores))]), progress.left)

    def forecasts(self, x: Array, progress: Progress) -> Forecasts | None:  # noqa: ARG002
        """Return predicted runtimes of all K algorithms, or None if not known."""
        return None

    def times_chosen(self, algorithm: int) -> int | None:  # noqa: ARG002
        """Return how often an algorithm was chosen, or None if that is not counted."""
        return None
