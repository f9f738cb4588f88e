"""What a schedule tells of runs to come, against simulated runs."""

import numpy as np
import pytest

from tailcut import Decision, Selector
from tailcut.schedules.curves import forecasts
from tailcut.types import Progress
from tests.schedules.plain_planner import likelihood
from tests.schedules.test_planner import CUTOFF, UNSOLVED, WEIGHTS, make_curves, sample_runtimes


@pytest.mark.parametrize("failed", [[0.0, 0.0, 0.0], [3.0, 0.0, 25.0]])
def test_forecasts_are_those_of_simulated_runs(failed: list[float]) -> None:
    curves, tried = make_curves(2), np.array(failed)
    used = float(tried.sum())
    found = forecasts(curves, WEIGHTS, Progress(CUTOFF, used, tried), penalty=10.0)
    size = 400_000
    times = sample_runtimes(curves, tried, size, np.random.default_rng(0))
    left = CUTOFF - used
    late = times > left
    np.testing.assert_allclose(found.timeout, late.mean(axis=0), atol=4.0 * 0.5 / np.sqrt(size))
    losses = np.where(late, left + UNSOLVED, times) + used
    error = losses.std(axis=0) / np.sqrt(size)
    assert (np.abs(found.expected_par - losses.mean(axis=0)) < 4.0 * error).all()
    for level, quantile in ((0.05, found.low), (0.5, found.median), (0.95, found.high)):
        for k in range(3):
            if np.isfinite(quantile[k]):
                assert (times[:, k] <= quantile[k]).mean() == pytest.approx(level, abs=0.005)
            else:
                assert (times[:, k] <= CUTOFF).mean() < level + 0.005


def test_failures_point_to_the_hard_classes() -> None:
    curves = make_curves(2)
    odds = likelihood(curves, np.array([0.0, 50.0, 0.0]))
    assert odds[0] > odds[1] > odds[2], "the classes go from hard to easy"
    np.testing.assert_array_equal(likelihood(curves, np.zeros(3)), np.ones(3))


def test_a_decision_of_a_schedule_tells_which_features_weighed() -> None:
    rng = np.random.default_rng(0)
    selector = Selector("tailcut_schedule", ["left", "right"], cutoff=100, feature_names=["side", "noise"])
    for _ in range(150):
        side = float(rng.choice([-1.0, 1.0]))
        decision: Decision | None = selector.select([side, float(rng.normal())])
        while decision is not None:
            needed = 50.0 + (49.0 if decision.algorithm == "left" else -49.0) * side
            if needed <= decision.budget:
                selector.observe(decision, runtime=needed)
            else:
                selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
    explanation = selector.select([1.0, 0.3]).explain()  # trees see a missing value as a low one
    assert explanation.algorithm == "right"
    assert explanation.features[0].name == "side"
    assert explanation.features[0].effect > 0.0
    assert "expected loss of the best plan" in explanation.text()
