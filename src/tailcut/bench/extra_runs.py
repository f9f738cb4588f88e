"""Extra runs: the first instances of a stream are measured with all algorithms.

Their CPU time is counted separately and is not part of the answers' loss. They are learned by `fit`, one
instance at a time, and nothing is learned that was not run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailcut.bench.conditions import Conditions
from tailcut.bench.replay import Replayable, ServedInstance
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.selector import Selector


class ExtraRuns:
    """Makes the extra runs of one replay, and counts their CPU time."""

    def __init__(self, runs: Replayable, selector: Selector, conditions: Conditions) -> None:
        self.seconds = 0.0
        """CPU seconds of the extra runs so far."""
        self.answers = 0.0
        """CPU seconds of the answers so far."""
        self._runs, self._selector = runs, selector
        self._limit = conditions.measure_cutoff * runs.cutoff
        self._left_to_measure = conditions.measure_first

    def after(self, served: ServedInstance) -> None:
        """Make the runs that are due after an instance was answered."""
        self.answers += served.cpu
        if self._left_to_measure:
            self._left_to_measure -= 1
            self._measure(served)

    def _measure(self, served: ServedInstance) -> None:
        """Run all algorithms that the answer did not run, or that a schedule stopped early."""
        longest: dict[int, float] = {}
        for number, seconds in served.slices:
            longest[number] = max(seconds, longest.get(number, 0.0))
        if served.solved:
            longest[served.slices[-1].algorithm] = np.inf
        enough = self._limit if self._selector.schedules else 0.0
        rest = [k for k in range(len(self._runs.algorithms)) if k not in longest or longest[k] < enough]
        if rest:
            self._run(served, rest)

    def _run(self, served: ServedInstance, algorithms: Sequence[int]) -> None:
        """Run algorithms on an instance, each from scratch and up to the limit; learn from it."""
        runs, limit = self._runs, self._limit
        runtimes = np.full((1, len(runs.algorithms)), np.nan)
        solved = np.zeros(runtimes.shape, dtype=np.bool_)
        for k in algorithms:
            recorded = float(runs.runtimes[served.row, k])
            solved[0, k] = runs.solved[served.row, k] and recorded <= limit
            runtimes[0, k] = recorded if solved[0, k] else limit
            self.seconds += float(np.fmin(recorded, limit))  # an unsolved run may have ended early
        absent = np.full(runs.features.shape[1], np.nan)  # the selector did not wait for them
        self._selector.fit(
            RecordedRuns(
                algorithms=runs.algorithms,
                cutoff=runs.cutoff,
                feature_names=None,
                features=(absent if served.features is None else served.features)[None, :],
                runtimes=runtimes,
                solved=solved,
                known=None,
                instances=(served.name,),
                watched=np.full(runtimes.shape, limit),
            )
        )
