"""What MABWiser is asked and taught: arms, contexts, rewards; compared with a MAB used by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("mabwiser", reason="needs mabwiser: pip install 'tailcut[peers]'")

from mabwiser.mab import MAB, LearningPolicy

from tailcut.peers.bandits import MabWiser
from tailcut.representation import Views

POLICIES = {
    "LinGreedy": LearningPolicy.LinGreedy(epsilon=0.0, l2_lambda=2.0),
    "LinUCB": LearningPolicy.LinUCB(alpha=0.5, l2_lambda=2.0),
    "LinTS": LearningPolicy.LinTS(alpha=0.5, l2_lambda=2.0),
}
CONTEXTS = np.random.default_rng(0).normal(size=(12, 3))


def _model(learning_policy: str) -> MabWiser:
    return MabWiser(
        n_algorithms=3, n_features=3, seed=5, learning_policy=learning_policy, ridge=2.0, alpha=0.5
    )


@pytest.mark.parametrize("learning_policy", POLICIES)
def test_rewards_are_minus_the_losses(learning_policy: str) -> None:
    model, by_hand = _model(learning_policy), MAB([0, 1, 2], POLICIES[learning_policy], seed=5)
    for step, x in enumerate(CONTEXTS):
        loss = 0.1 * step
        model.update(step % 3, x, loss, 1.0)
        learn = by_hand.partial_fit if step else by_hand.fit
        learn([step % 3], [-loss], [x.tolist()])
    expected = by_hand.predict_expectations([[1.0, 2.0, 3.0]])
    found = model.predict(np.array([1.0, 2.0, 3.0]))[0]
    assert found.tolist() == [-expected[arm] for arm in (0, 1, 2)]


def test_greedy_is_the_ridge_regression_that_it_should_be() -> None:
    model = _model("LinGreedy")
    for step, x in enumerate(CONTEXTS):
        model.update(0, x, float(step), 1.0)
    weights = np.linalg.solve(CONTEXTS.T @ CONTEXTS + 2.0 * np.eye(3), CONTEXTS.T @ np.arange(12.0))
    assert model.predict_one(0, CONTEXTS[4])[0] == pytest.approx(CONTEXTS[4] @ weights)
    assert model.predict_one(1, CONTEXTS[4])[0] == 0.0, "an arm without rewards is expected to lose nothing"


def test_a_run_of_no_weight_teaches_nothing() -> None:
    model = _model("LinGreedy")
    model.update(0, CONTEXTS[0], 1.0, 0.0)
    assert not model.learned


def test_recorded_runs_are_learned_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    model = _model("LinGreedy")
    monkeypatch.setattr(model.mab, "fit", lambda *given: calls.append(given))
    target = np.full((2, 3), np.nan)
    target[0, 1], target[1, 2] = 0.25, 1.0
    model.update_many(CONTEXTS[:2], target)
    ((arms, rewards, contexts),) = calls
    assert (arms, rewards) == ([1, 2], [-0.25, -1.0])
    assert contexts.tolist() == CONTEXTS[:2].tolist()


def test_looking_draws_nothing() -> None:
    model = _model("LinTS")
    for x in CONTEXTS:
        model.update(0, x, 0.5, 1.0)
    first = [model.predict_one(0, CONTEXTS[0]) for _ in range(3)]
    assert len(set(first)) == 1
    assert model.predict(CONTEXTS[0])[0][0] == first[0][0]
    assert model.predict(CONTEXTS[0])[0][0] != first[0][0], "a choice draws"


def test_later_features_are_left_out() -> None:
    model = _model("LinGreedy")
    everything = Views(slice(None), slice(None))
    model.add_features(4, everything)
    model.update(0, np.arange(4.0), 1.0, 1.0)
    before = model.predict(np.arange(4.0))[0].tolist()
    model.add_features(5, everything)
    assert model.predict(np.array([9.0, *range(4)]))[0].tolist() == before
