"""A policy that goes by its latest runs only, for streams on which algorithms change their ways.

The model lets go of old runs itself (docs/drift.md says how a model offers that); here are the counts that
go with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.models.latest import Latest
from tailcut.policies.censoring import Lesson, Unfinished
from tailcut.policies.one_pick import Choice, Parts, Policy
from tailcut.types import Array, Outcome, Progress, Status


class WindowedPolicy(Policy):
    """A policy that counts the latest `window` choices and outcomes; its model must have the same window.

    An algorithm that was not chosen for so long is untried again: nothing is known of it any more.
    """

    def __init__(self, parts: Parts, *, n_algorithms: int, seed: int, window: int) -> None:
        super().__init__(parts, n_algorithms=n_algorithms, seed=seed)
        self.choices: Latest[tuple[int]] = Latest(window)
        """The algorithms chosen last."""
        self.outcomes: Latest[tuple[int, bool]] = Latest(window)
        """Algorithm of each of the latest outcomes, and whether it was unsolved."""

    def choose(self, features: Array, offered: NDArray[np.intp] | None, progress: Progress) -> Choice:
        """Return the algorithm to run, and let the oldest choice go."""
        choice = super().choose(features, offered, progress)
        self._let_go(choice.algorithm)
        return choice

    def started(self, algorithm: int) -> None:
        """Count a run that was not chosen here, and let the oldest go."""
        super().started(algorithm)
        self._let_go(algorithm)

    def _let_go(self, algorithm: int) -> None:
        oldest = self.choices.push((algorithm,))
        if oldest is not None:
            self.runs[oldest[0]] -= 1.0
            self.untried = self._count_untried()

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn the outcome of a run, and let the oldest outcome go."""
        super().learn(algorithm, x, outcome, progress, budget)
        oldest = self.outcomes.push((algorithm, outcome.status is not Status.SOLVED))
        if oldest is not None and oldest[1]:
            self.censored[oldest[0]] -= 1.0

    def _lesson(self, algorithm: int, x: Array, run: Unfinished) -> Lesson:
        """Return what an unfinished run teaches; where that is nothing, the run still takes its place."""
        return super()._lesson(algorithm, x, run) or Lesson(0.0, 0.0)

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm, its choices and its outcomes."""
        super().remove(algorithm)
        self.choices.remove(algorithm)
        self.outcomes.remove(algorithm)

    def state(self) -> dict[str, Any]:
        """Return all that was learned, with the latest choices and outcomes, oldest first."""
        return {
            **super().state(),
            "choices": [algorithm for (algorithm,) in self.choices],
            "outcomes": [[algorithm, unsolved] for algorithm, unsolved in self.outcomes],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue exactly where `state` was taken."""
        super().restore(state)
        self.choices.replace((algorithm,) for algorithm in state["choices"])
        self.outcomes.replace((algorithm, unsolved) for algorithm, unsolved in state["outcomes"])
