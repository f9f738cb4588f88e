"""Features that arrive late: what was learned without them stays, in every part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut import Selector
from tailcut.models import LeastSquares, Model, RidgeBank
from tailcut.policies.losses import BoundedLoss
from tailcut.policies.one_pick import OnePick
from tailcut.representation import Views

WHOLE = Views(slice(None), slice(None))


def _policy(selector: Selector) -> OnePick:
    assert isinstance(selector._policy, OnePick)
    return selector._policy


def test_a_window_counts_on_when_features_arrive() -> None:
    """Once the counts stayed at [2, 6] for ever, and the arms forgot what they had learned."""
    selector = Selector("tailcut", ["a", "b"], 60.0, window=4)
    chosen = []
    for row in range(47):
        decision = selector.select(None if row < 6 else [float(row), 1.0])
        chosen.append(decision.algorithm)
        selector.observe(decision, runtime=1.0 if decision.algorithm == "a" else 50.0)
        counts = [chosen[-4:].count(name) for name in ("a", "b")]
        assert _policy(selector).runs.tolist() == counts
        model = _policy(selector).model
        assert model.arms.runs.tolist() == counts  # type: ignore[attr-defined]


@pytest.mark.parametrize("window", [0, 500])
def test_what_was_learned_survives_the_first_features(window: int) -> None:
    selector = Selector("tailcut", ["a"], 60.0, window=window)
    for _ in range(200):
        selector.observe(selector.select(None), runtime=20.0)
    before = selector.consider(None).algorithms[0]
    selector.select([3.0, 5.0])
    after = selector.consider(None).algorithms[0]
    assert before.score == pytest.approx(BoundedLoss(0.3).value(20.0, 60.0), rel=0.02)
    assert after.score == pytest.approx(before.score, rel=1e-9)
    assert (before.runs, after.runs) == (200, 201)


@pytest.mark.parametrize("make", [RidgeBank, LeastSquares])
@given(runs=st.integers(0, 25), old=st.integers(1, 3), extra=st.integers(1, 3), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_widened_model_equals_one_that_saw_zeros(
    make: type[Model], runs: int, old: int, extra: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    widened = make(n_algorithms=2, n_features=old)  # type: ignore[call-arg]
    whole = make(n_algorithms=2, n_features=old + extra)  # type: ignore[call-arg]
    for step in range(runs + 10):
        if step == runs:
            widened.add_features(old + extra, WHOLE)
        x = rng.standard_normal(old + extra)
        if step < runs:
            x[:extra] = 0.0
        algorithm, target = int(rng.integers(2)), float(rng.standard_normal())
        widened.update(algorithm, x[extra:] if step < runs else x, target, 1.0)
        whole.update(algorithm, x, target, 1.0)
    probe = rng.standard_normal(old + extra)
    for one, other in zip(widened.predict(probe), whole.predict(probe), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_a_ridge_window_lets_go_of_runs_from_before() -> None:
    rng = np.random.default_rng(0)
    bank = RidgeBank(n_algorithms=1, n_features=1, window=5)
    for _ in range(5):
        bank.update(0, np.ones(1), 7.0, 1.0)
    bank.add_features(3)
    runs = [(rng.standard_normal(3), float(rng.standard_normal())) for _ in range(5)]
    for x, target in runs:
        bank.update(0, x, target, 1.0)
    only = RidgeBank(n_algorithms=1, n_features=3)
    for x, target in runs:
        only.update(0, x, target, 1.0)
    np.testing.assert_allclose(bank.theta, only.theta, rtol=1e-9)


def test_considering_no_features_means_what_selecting_without_them_means() -> None:
    selector = Selector("tailcut", ["a", "b"], 60.0)
    for row in range(40):
        decision = selector.select([float(row % 2), 1.0])
        fast = (decision.algorithm == "a") == (row % 2 == 0)
        selector.observe(decision, **({"runtime": 1.0} if fast else {"failed": True}))
    considered = {one.name: one.score for one in selector.consider(None).algorithms}
    model = _policy(selector).model
    assert considered == dict(zip(("a", "b"), model.predict(np.empty(0))[0].tolist(), strict=True))
    assert selector.consider(None).features == ()
