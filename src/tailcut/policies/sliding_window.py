"""One pick by its latest runs only, for streams on which algorithms change their ways.

The model lets go of old runs itself (docs/howto/drift.md says how a model offers that); here are the counts
that go with it.
"""

from __future__ import annotations

from tailcut.models.window import SlidingWindow, check_records
from tailcut.policies.censoring import PseudoObservation, Unfinished
from tailcut.policies.one_pick import OnePick, Parts
from tailcut.policies.policy import Choice, Offered, Policy, RecordedOutcomes
from tailcut.types import Array, Belief, Outcome, Progress


class WindowedPick(OnePick):
    """A one-pick policy that counts the latest `window` choices and outcomes; its model has the same window.

    An algorithm that was not chosen for so long is untried again: nothing is known of it any more.
    """

    STATE = (*OnePick.STATE, "choices", "outcomes")

    def __init__(
        self,
        parts: Parts,
        *,
        n_algorithms: int,
        seed: int,
        window: int,
        epsilon: float,
        penalty: float,
        fail_over: int = 0,
    ) -> None:
        self.choices: SlidingWindow[tuple[int]] = SlidingWindow(window)
        """The algorithms chosen last."""
        self.outcomes: SlidingWindow[tuple[int, bool, float]] = SlidingWindow(window)
        """Algorithm of each of the latest outcomes, whether it was unsolved, and its `excess`."""
        sizes = {"n_algorithms": n_algorithms, "seed": seed}
        super().__init__(parts, **sizes, epsilon=epsilon, penalty=penalty, fail_over=fail_over)

    def restored(self) -> None:
        """Check the latest choices and outcomes, too."""
        super().restored()
        check_records(self.choices, len(self.runs), (int,))
        check_records(self.outcomes, len(self.runs), (int, bool, float))

    def _decide(self, x: Array, belief: Belief, offered: Offered, progress: Progress) -> Choice:
        """Return the algorithm to run, and let the oldest choice go."""
        choice = super()._decide(x, belief, offered, progress)
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
            self._count_untried()

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn the outcome of a run, and let the oldest outcome go."""
        super().learn(algorithm, x, outcome, progress, budget)
        oldest = self.outcomes.push((algorithm, not outcome.answered, self._excess(outcome, progress.cutoff)))
        if oldest is not None:
            self.censored[oldest[0]] -= float(oldest[1])
            self.excess[oldest[0]] -= oldest[2]

    def learn_recorded(self, x: Array, runs: RecordedOutcomes, progress: Progress) -> None:
        """Learn recorded runs one after the other, so that the older of them are let go, too."""
        Policy.learn_recorded(self, x, runs, progress)

    def _lesson(self, algorithm: int, x: Array, run: Unfinished) -> PseudoObservation:
        """Return what an unfinished run teaches; where that is nothing, the run still takes its place."""
        return super()._lesson(algorithm, x, run) or PseudoObservation(0.0, 0.0)

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm, its choices and its outcomes."""
        super().remove(algorithm)
        self.choices.remove(algorithm)
        self.outcomes.remove(algorithm)
