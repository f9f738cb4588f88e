"""Cross-validation: a selector learns all folds but one by `fit` and is scored on that one.

Every instance is scored once, so the folds together form one trace, in the order of the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.replay import ServedInstance, Trace, serve, shuffled
from tailcut.errors import InputError
from tailcut.numerics.randomness import stream
from tailcut.scenarios import QualityScenario, Scenario
from tailcut.selector import Selector
from tailcut.types import Array, Decision, Features, Outcome, Request

Folds = NDArray[np.int64]
"""The fold of each instance, shape (n,)."""


def folds_of(scenario: Scenario | QualityScenario, made: int, seed: int) -> Folds:
    """Return the scenario's own folds (cv.arff); where it has none, `made` many, drawn by `seed`.

    >>> from types import SimpleNamespace
    >>> without = SimpleNamespace(name="X", folds=None, instances=("a", "b", "c", "d", "e"))
    >>> sorted(folds_of(without, 2, seed=0).tolist())
    [1, 1, 1, 2, 2]
    """
    if scenario.folds is not None:
        if len(np.unique(scenario.folds)) < 2:
            raise InputError(f"{scenario.name}: cv.arff: expected 2 folds or more, got 1")
        return scenario.folds
    n = len(scenario.instances)
    if not made:
        raise InputError(
            f"{scenario.name}: has no folds (cv.arff, with a row for every instance); --folds 10 makes some"
        )
    if made > n:
        raise InputError(f"{scenario.name}: {made} folds are too many for {n} instances")
    return np.asarray(stream(seed, "folds").permutation(n) % made + 1, dtype=np.int64)


def best_in_training(losses: Array, folds: Folds) -> NDArray[np.intp]:
    """Return, for every instance, the algorithm with the lowest mean loss over all other folds.

    >>> best_in_training(np.array([[1.0, 2.0], [1.0, 2.0], [9.0, 1.0]]), np.array([1, 1, 2])).tolist()
    [1, 1, 0]
    """
    choices = np.empty(len(losses), dtype=np.intp)
    for fold in np.unique(folds):
        choices[folds == fold] = losses[folds != fold].mean(axis=0).argmin()
    return choices


def cross_validate(
    scenario: Scenario | QualityScenario,
    new_selector: Callable[[], Selector],
    folds: Folds,
    *,
    seed: int,
    learn_on: bool = False,
) -> Trace:
    """Return the trace of a selector on each fold after learning all others.

    Without `learn_on` it neither learns nor explores on the test fold.
    """
    order = shuffled(len(folds), seed)
    served: dict[int, ServedInstance] = {}
    for fold in np.unique(folds).tolist():
        selector = new_selector()
        selector.fit(scenario, known=np.broadcast_to((folds != fold)[:, None], scenario.solved.shape))
        judged = selector if learn_on else FrozenSelector(selector)
        rows = order[folds[order] == fold]
        served.update((instance.row, instance) for instance in serve(scenario, judged, rows))
    return Trace.of([served[row] for row in order.tolist()], sliced=selector.schedules)


class FrozenSelector:
    """A selector that decides by what it has learned so far, without randomness, and learns no more."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.schedules = selector.schedules
        self.needs_features = selector.needs_features
        self.may_skip_features = selector.may_skip_features
        self.feature_budget = selector.feature_budget
        self._request = Request()
        self._failed: dict[str, float] = {}
        """How long each algorithm has run unsuccessfully on the instance."""
        self._over = False

    def select(
        self, features: Features = None, *, instance: str | None = None, feature_cost: float = 0.0
    ) -> Decision:
        """Return the first run on an instance."""
        self._request = Request(features, instance, feature_cost=feature_cost)
        self._failed = {}
        decision = self._selector.preview(self._request)
        assert decision is not None, "on a new instance everyone may run"
        return decision

    def observe(self, decision: Decision, outcome: Outcome) -> None:
        """Remember the outcome of a run, for this instance only."""
        self._over = outcome.answered or not self.schedules
        ran = decision.budget if outcome.time is None else outcome.time
        self._request = replace(self._request, spent=self._request.spent + ran)
        self._failed[decision.algorithm] = max(ran, self._failed.get(decision.algorithm, 0.0))

    def proceed(self, decision: Decision) -> Decision | None:  # noqa: ARG002
        """Return the next run on the same instance; None: it is over."""
        return None if self._over else self._selector.preview(self._request, self._failed)
