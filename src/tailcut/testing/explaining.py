"""The check that decisions can be explained, by every selector, without changing it."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable

import numpy as np

from tailcut.errors import NotExplainedError
from tailcut.explain import AlgorithmBelief, Explanation
from tailcut.selector import Selector
from tailcut.testing.small_stream import Factory, learned, outcome_of, small_scenario
from tailcut.types import Decision


def explains_itself(make: Factory) -> None:
    """Every decision has an explanation, in order and in strict JSON, and asking for it changes nothing."""
    scenario = small_scenario()
    selector = make(scenario)
    for row in range(30):
        features = scenario.features[row].copy()
        features[row % 5] = np.nan
        decision: Decision | None = selector.select(features, among=scenario.algorithms[row % 2 :])
        while decision is not None:
            if row % 5 == 0:
                _check_one(selector, decision)
            selector.observe(decision, outcome_of(scenario, row, decision))
            if row % 5 == 0:
                assert decision.explain().outcomes_since == 1, "the outcome just learned is not reported"
            decision = selector.proceed(decision)


def _check_one(selector: Selector, decision: Decision) -> None:
    before = learned(selector)
    explanation = decision.explain()
    assert learned(selector) == before, "explaining changed the selector"
    assert explanation.outcomes_since == 0, "nothing was learned since the decision"
    assert (explanation.decision, explanation.algorithm) == (decision.id, decision.algorithm)
    assert {one.name: one.score for one in explanation.algorithms} == dict(decision.scores)
    assert explanation.features == tuple(sorted(explanation.features, key=lambda one: -abs(one.effect)))
    for one in explanation.algorithms:
        _check_belief(one, explanation)
    json.loads(explanation.to_json(), parse_constant=_refuse)
    assert decision.algorithm in explanation.text()
    _check_elsewhere(selector, decision, explanation)


def _check_belief(one: AlgorithmBelief, explanation: Explanation) -> None:
    """Check that a forecast has all its numbers or none, and that they make sense."""
    values = (one.predicted_runtime, one.low, one.high, one.timeout_probability, one.expected_par)
    if None in values:
        assert set(values) == {None}, f"an incomplete forecast: {one}"
        return
    median, low, high, timeout, loss = (float(value or 0.0) for value in values)
    assert all(map(math.isfinite, (timeout, loss))), f"{one}"
    # A quantile may be infinite: where nothing was ever seen, nothing is known.
    assert 0.0 <= low <= median <= high, f"an interval out of order: {one}"
    assert 0.0 <= timeout <= 1.0, f"no probability: {one}"
    assert 0.0 <= loss <= explanation.penalty * explanation.cutoff * (1 + 1e-9), f"no PARk: {one}"


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} is not strict JSON")


def _check_elsewhere(selector: Selector, decision: Decision, explanation: Explanation) -> None:
    """Check that selectors, restored ones too, explain a decision that has travelled."""
    travelled = pickle.loads(pickle.dumps(decision))
    assert travelled == decision
    restored = Selector.from_bytes(selector.to_bytes()) if selector.can_be_saved else selector
    assert restored.explain(travelled) == explanation, "a restored selector explains differently"
    try:
        travelled.explain()
    except NotExplainedError:
        return
    raise AssertionError("a decision that lost its selector explained itself")


EXPLAINING: list[Callable[[Factory], None]] = [explains_itself]
"""Every check of explanations."""
