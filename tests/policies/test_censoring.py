"""What each rule teaches, against brute-force Bayes and the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailcut.models import RidgeBank
from tailcut.policies.censoring import AtCutoff, AtMaximumLoss, BuckleyJames, Drop, MomentMatching, Unfinished
from tailcut.policies.losses import BoundedLoss, LogSeconds

RNG = np.random.default_rng(0)


def stopped(seconds: float, cutoff: float = 60.0) -> Unfinished:
    return Unfinished(seconds, cutoff, LogSeconds())


def test_drop_teaches_nothing_and_does_not_look() -> None:
    def never() -> tuple[float, float]:
        raise AssertionError("looked at the model for nothing")

    assert Drop().lesson(stopped(5.0), never, RNG) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize("factor", [1.0, 10.0])
def test_at_cutoff_imputes_a_multiple_of_the_time_watched(factor: float) -> None:
    lesson = AtCutoff(factor).lesson(stopped(5.0), lambda: (0.0, 1.0), RNG)
    assert lesson == (math.log(5.0 * factor), 1.0)


def test_buckley_james_draws_from_the_belief_beyond_the_censoring_point() -> None:
    rng, rule = np.random.default_rng(3), BuckleyJames(noise_variance=2.0)
    mean, variance, at = 1.0, 0.5, 6.0
    targets = [rule.lesson(stopped(at), lambda: (mean, variance), rng).target for _ in range(20_000)]
    deviation = math.sqrt(2.0 * variance)
    truncated = stats.truncnorm((math.log(at) - mean) / deviation, np.inf, mean, deviation)
    assert stats.kstest(targets, truncated.cdf).pvalue > 1e-3


def _posterior_moments_on_a_grid(
    prior_mean: float, prior_sd: float, noise: float, floor: float
) -> tuple[float, float]:
    """Mean and variance of theta given theta + noise > floor, by summing over a fine grid."""
    theta = np.linspace(prior_mean - 14 * prior_sd, prior_mean + 14 * prior_sd, 400_001)
    log_weight = stats.norm.logpdf(theta, prior_mean, prior_sd) + stats.norm.logsf((floor - theta) / noise)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = float(weight @ theta)
    return mean, float(weight @ (theta - mean) ** 2)


@pytest.mark.parametrize("noise", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("floor", [-2.0, 0.5, 2.0, 6.0])
def test_moment_matching_takes_over_both_moments_of_the_exact_posterior(noise: float, floor: float) -> None:
    """One feature x = 1: the ridge posterior after the lesson against brute-force Bayes on a grid."""
    bank = RidgeBank(n_algorithms=1, n_features=1, ridge=2.0)
    x = np.array([1.0])
    for target in (0.4, 0.9):
        bank.update(0, x, target, 1.0)
    mean, variance = bank.predict_one(0, x)
    expected_mean, expected_variance = _posterior_moments_on_a_grid(
        mean, noise * math.sqrt(variance), noise, floor
    )
    lesson = MomentMatching(noise).lesson(stopped(math.exp(floor)), lambda: bank.predict_one(0, x), RNG)
    assert lesson is not None
    bank.update(0, x, lesson.target, lesson.weight)
    after_mean, after_variance = bank.predict_one(0, x)
    assert after_mean == pytest.approx(expected_mean, rel=1e-6)
    assert noise**2 * after_variance == pytest.approx(expected_variance, rel=1e-6)


@given(st.floats(-50, 50), st.floats(0, 1e6), st.floats(1e-4, 50), st.floats(1e-3, 1e8))
@settings(max_examples=300, deadline=None)
def test_moment_matching_is_a_sane_observation(
    mean: float, variance: float, noise: float, seconds: float
) -> None:
    lesson = MomentMatching(noise).lesson(stopped(seconds), lambda: (mean, variance), RNG)
    if lesson is not None:
        assert math.isfinite(lesson.target)
        assert lesson.target >= mean
        assert 0.0 < lesson.weight <= 1.0


@pytest.mark.parametrize("seconds", [0.5, 6.0, 30.0, 59.0, 60.0, 75.0])
@pytest.mark.parametrize("expected", [0.05, 0.4, 0.9, 1.0])
def test_what_a_bounded_loss_learns_of_a_stopped_run_is_its_mean_over_all_that_may_become_of_it(
    seconds: float, expected: float
) -> None:
    """By simulation: lost as often as expected, else solved with a loss that is uniform up to its most."""
    target, chance = BoundedLoss(solved_share=0.3), np.random.default_rng(1)
    lesson = AtMaximumLoss().lesson(Unfinished(seconds, 60.0, target), lambda: (expected, 1.0), RNG)
    lost = chance.random(300_000) < expected
    losses = np.where(lost, 1.0, chance.uniform(0.0, 0.3, lost.shape))
    open_ = lost if seconds >= 60.0 else losses > target.value(seconds, 60.0)
    assert lesson.target == pytest.approx(losses[open_].mean(), abs=0.01)
    assert lesson.weight == 1.0


@given(st.floats(0, 100), st.floats(-5, 5))
def test_a_stopped_run_costs_at_least_its_time_and_at_most_everything(
    seconds: float, expected: float
) -> None:
    run = Unfinished(seconds, 60.0, BoundedLoss(solved_share=0.3))
    assert run.value() <= AtMaximumLoss().lesson(run, lambda: (expected, 1.0), RNG).target <= 1.0


@given(st.floats(0, 1e9), st.floats(1e-3, 1e8))
def test_a_bounded_loss_is_bounded_and_solved_is_better_than_lost(seconds: float, cutoff: float) -> None:
    assert 0.0 <= BoundedLoss(0.3).value(seconds, cutoff) <= 0.3
