"""Run them all: every algorithm in turn, each for an equal share of the time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tailcut.policies.one_pick import Choice
from tailcut.types import Array, Outcome, Progress


class RoundRobin:
    """Gives each of K algorithms, in order, an equal share of what is left; looks at nothing, learns nothing.

    With nothing spent before, that is cutoff / K each. What a run leaves of its share, because it crashed
    or was stopped early, goes to those after it. When all had their turn, the instance is given up.

    >>> schedule = RoundRobin(n_algorithms=3)
    >>> first = schedule.choose(np.zeros(0), None, Progress(60.0, 0.0, np.zeros(3)))
    >>> first.algorithm, first.budget, first.scores.tolist()
    (0, 20.0, [0.0, 1.0, 2.0])
    >>> second = schedule.proceed(first.x, None, Progress(60.0, 20.0, np.array([20.0, 0.0, 0.0])))
    >>> second.algorithm, second.budget
    (1, 20.0)
    """

    bounded: ClassVar[bool] = True

    def __init__(self, n_algorithms: int) -> None:
        self.n_algorithms = n_algorithms

    def choose(self, _features: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice:
        """Return the first algorithm offered."""
        first = self.proceed(np.zeros(0), offered, progress)
        assert first is not None, "on a new instance every algorithm awaits its turn"
        return first

    def proceed(self, x: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice | None:
        """Return the first algorithm offered that has not had its turn."""
        assert progress.failed is not None
        waiting = np.flatnonzero(progress.failed == 0.0)
        if offered is not None:
            waiting = np.intersect1d(waiting, offered, assume_unique=True)
        if not len(waiting):
            return None
        order = np.arange(self.n_algorithms, dtype=np.float64)
        return Choice(int(waiting[0]), "its turn", order, x, progress.left / len(waiting))

    def learn(
        self, _algorithm: int, _x: Array, _outcome: Outcome, _progress: Progress, _budget: float
    ) -> None:
        """Learn nothing."""

    def represent(self, features: Array) -> Array:
        """Return nothing of each instance, shape (n, 0)."""
        return np.zeros((len(features), 0))

    def started(self, _algorithm: int) -> None:
        """Count nothing."""

    def add(self) -> None:
        """Let one more algorithm have its turn, after the others."""
        self.n_algorithms += 1

    def remove(self, _algorithm: int) -> None:
        """Let one algorithm fewer have its turn."""
        self.n_algorithms -= 1

    def state(self) -> dict[str, Any]:
        """Return nothing: nothing was learned."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from nothing."""
