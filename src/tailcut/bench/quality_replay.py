"""Replaying a scenario of solution quality: every answer costs its loss, and features cost nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tailcut.bench.cross_validation import Folds
from tailcut.bench.replay import shuffled
from tailcut.scenarios import QualityScenario
from tailcut.selector import Selector
from tailcut.types import Array, Request


class RatedTrace(NamedTuple):
    """What a selector did on a stream."""

    losses: Array
    """Of each step, shape (n,)."""
    seconds: Array
    """Time to select and learn at each step, shape (n,)."""


def replay_losses(scenario: QualityScenario, selector: Selector, *, seed: int) -> RatedTrace:
    """Serve every instance once, in the order of `seed`, each observed before the next."""
    rows = shuffled(len(scenario.instances), seed).tolist()
    return _served(scenario, selector, rows, learns=True)


def cross_validate_losses(
    scenario: QualityScenario,
    new_selector: Callable[[], Selector],
    folds: Folds,
    *,
    seed: int,
    learn_on: bool = False,
) -> RatedTrace:
    """Return what a selector does on each fold, having learned all others by `fit`."""
    order = shuffled(len(folds), seed)
    losses, seconds = np.empty(len(order)), np.empty(len(order))
    for fold in np.unique(folds).tolist():
        selector = new_selector()
        training = np.broadcast_to((folds != fold)[:, None], scenario.values.shape)
        selector.fit(scenario, known=training)
        (places,) = np.nonzero(folds[order] == fold)
        losses[places], seconds[places] = _served(scenario, selector, order[places].tolist(), learns=learn_on)
    return RatedTrace(losses, seconds)


def _served(scenario: QualityScenario, selector: Selector, rows: list[int], *, learns: bool) -> RatedTrace:
    """Return the trace of a selector on these instances; without `learns`, it decides without randomness."""
    ratings, number = scenario.ratings, {name: k for k, name in enumerate(scenario.algorithms)}
    losses, seconds = np.empty(len(rows)), np.empty(len(rows))
    for step, row in enumerate(rows):
        request = Request(scenario.features[row], scenario.instances[row])
        started = time.perf_counter()
        decision = selector.decide(request) if learns else selector.decide_frozen(request)
        assert decision is not None, "on a new instance everyone may run"
        losses[step] = ratings[row, number[decision.algorithm]]
        if learns:
            selector.observe(decision, loss=losses[step])
        seconds[step] = time.perf_counter() - started
    return RatedTrace(losses, seconds)
