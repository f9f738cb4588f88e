"""Cross-validation: a selector learns all folds but one by `fit` and is scored on that one.

Every instance is scored once, so the folds together form one trace, in the order of the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.replay import Slices, Trace, replay, shuffled
from tailcut.errors import InputError
from tailcut.numerics.randomness import stream
from tailcut.scenarios import QualityScenario, Scenario
from tailcut.selector import Selector
from tailcut.types import Array, Decision, Features, Outcome, Request, Status

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
    found = np.empty(len(losses), dtype=np.intp)
    for fold in np.unique(folds):
        found[folds == fold] = losses[folds != fold].mean(axis=0).argmin()
    return found


def cross_validate(
    scenario: Scenario,
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
    parts = []
    for fold in np.unique(folds).tolist():
        selector = new_selector()
        training = np.broadcast_to((folds != fold)[:, None], scenario.solved.shape)
        selector.fit(scenario, known=training)
        (places,) = np.nonzero(folds[order] == fold)
        judged = selector if learn_on else FrozenSelector(selector)
        parts.append((places, replay(scenario, judged, seed=seed, order=order[places])))
    return _joined(order, parts)


def _joined(order: NDArray[np.intp], parts: list[tuple[NDArray[np.intp], Trace]]) -> Trace:
    """Return one trace of parts that were replayed at these positions of the order."""
    n = len(order)
    choices = np.empty(n, dtype=np.intp)
    seconds, cost, cpu = np.empty(n), np.empty(n), np.empty(n)
    for places, trace in parts:
        choices[places], seconds[places] = trace.choices, trace.seconds
        cost[places], cpu[places] = trace.feature_cost, trace.cpu
    return Trace(order, choices, seconds, cost, cpu, _joined_slices(n, parts))


def _joined_slices(n: int, parts: list[tuple[NDArray[np.intp], Trace]]) -> Slices | None:
    sliced = [(places, trace.slices) for places, trace in parts if trace.slices is not None]
    if not sliced:
        return None
    solved = np.empty(n, dtype=np.bool_)
    for places, slices in sliced:
        solved[places] = slices.solved
    step = np.concatenate([places[slices.step] for places, slices in sliced])
    in_turn = np.argsort(step, kind="stable")
    algorithm = np.concatenate([slices.algorithm for _, slices in sliced])
    seconds = np.concatenate([slices.seconds for _, slices in sliced])
    return Slices(step[in_turn], algorithm[in_turn], seconds[in_turn], solved)


class FrozenSelector:
    """A selector that decides by what it has learned so far, without randomness, and learns no more."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.schedules = selector.schedules
        self.needs_features = selector.needs_features
        self.may_skip_features = selector.may_skip_features
        self._asked = Request()
        self._solved = False

    def feature_budget(self) -> float:
        """Return how many seconds computing an instance's features may take."""
        return self._selector.feature_budget()

    def select(
        self, features: Features = None, *, instance: str | None = None, feature_cost: float = 0.0
    ) -> Decision:
        """Return the first run on an instance."""
        self._asked = Request(features, instance, feature_cost=feature_cost)
        self._solved = False
        first = self._selector.decide_frozen(self._asked)
        assert first is not None, "on a new instance everyone may run"
        return first

    def observe(self, decision: Decision, outcome: Outcome) -> None:
        """Remember the outcome of a run, for this instance only."""
        self._solved = outcome.status is Status.SOLVED
        ran = decision.budget if outcome.time is None else outcome.time
        failed = dict(self._asked.failed or {})
        failed[decision.algorithm] = max(ran, failed.get(decision.algorithm, 0.0))
        self._asked = replace(self._asked, spent=self._asked.spent + ran, failed=failed)

    def proceed(self, decision: Decision) -> Decision | None:  # noqa: ARG002
        """Return the next run on the same instance; None: it is over."""
        over = self._solved or not self.schedules
        return None if over else self._selector.decide_frozen(self._asked)
