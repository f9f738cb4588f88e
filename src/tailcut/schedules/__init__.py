"""Policies that may stop an algorithm early and start another on the same instance.

Each is a `tailcut.policies.policy.Policy`, and a `ScheduleRecipe` in the catalogue. The simplest is here.
"""

from __future__ import annotations

import numpy as np

from tailcut.policies.policy import Choice, Offered, Policy
from tailcut.schedules.hazard_schedule import HazardSchedule
from tailcut.types import Array, Outcome, Progress

__all__ = ["HazardSchedule", "RoundRobin"]


class RoundRobin(Policy):
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

    def __init__(self, n_algorithms: int) -> None:
        self.n_algorithms = n_algorithms

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:  # noqa: ARG002
        first = self.proceed(np.zeros(0), offered, progress)
        assert first is not None, "on a new instance every algorithm awaits its turn"
        return first

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        assert progress.failed is not None
        waiting = (progress.failed == 0.0).nonzero()[0]
        if offered is not None:
            waiting = np.intersect1d(waiting, offered, assume_unique=True)
        if not len(waiting):
            return None
        order = np.arange(self.n_algorithms, dtype=np.float64)
        return Choice(int(waiting[0]), "its turn", order, x, progress.left / len(waiting))

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        return self.proceed(x, offered, progress)

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn nothing."""

    def add(self) -> None:
        self.n_algorithms += 1

    def remove(self, algorithm: int) -> None:  # noqa: ARG002
        self.n_algorithms -= 1
