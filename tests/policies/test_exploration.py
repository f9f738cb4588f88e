"""Draws and bounds: their distributions, and their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tailcut.models import RidgeBank
from tailcut.policies.exploration import Bounds, Greedy, Thompson, Uniform, bias_correction
from tailcut.types import Belief

BELIEF = Belief(np.array([1.0, 2.0]), np.array([0.25, 4.0]), np.array([0.0, 9.0]))


def test_the_scalar_thompson_draw_has_the_distribution_of_the_vector_draw() -> None:
    """x'theta~ with theta~ drawn by numpy's multivariate normal: both moments and a KS test."""
    rng = np.random.default_rng(5)
    bank = RidgeBank(n_algorithms=1, n_features=6, ridge=0.5)
    for _ in range(20):
        bank.update(0, rng.standard_normal(6), float(rng.standard_normal()), 1.0)
    x, sigma, n = rng.standard_normal(6), 2.5, 40_000
    vectors = rng.multivariate_normal(bank.theta[0], sigma * bank.inverse[0], size=n) @ x
    belief = Belief(*bank.predict(x), np.zeros(1))
    scalars = np.array([Thompson(sigma).estimate(belief, 10.0, rng).low[0] for _ in range(n)])
    deviation = scalars.std()
    assert abs(scalars.mean() - vectors.mean()) < 4 * deviation * math.sqrt(2 / n)
    assert abs(scalars.std() / vectors.std() - 1) < 4 / math.sqrt(n)
    assert stats.ks_2samp(scalars, vectors).pvalue > 1e-3


def test_the_thompson_draw_is_one_value_with_the_posterior_spread() -> None:
    estimate = Thompson(4.0).estimate(BELIEF, 10.0, np.random.default_rng(0))
    assert estimate.low is estimate.high
    np.testing.assert_allclose(estimate.spread, [1.0, 4.0])


def test_bounds_lie_symmetrically_around_the_mean() -> None:
    estimate = Bounds(alpha=2.0, noise=3.0).estimate(BELIEF, 10.0, np.random.default_rng(0))
    np.testing.assert_allclose(estimate.low, [0.0, -2.0])
    np.testing.assert_allclose(estimate.high, [2.0, 6.0])
    np.testing.assert_allclose(estimate.spread, [3.0, 3.0])


def test_bias_corrected_bounds_widen_with_the_root_of_the_timeouts() -> None:
    estimate = Bounds(bias_corrected=True).estimate(BELIEF, math.e, np.random.default_rng(0))
    np.testing.assert_allclose(estimate.high - BELIEF.mean, [0.5, 2.0 * (1 + 2 * 3)])


def test_bias_correction_is_a_width_also_below_one_second() -> None:
    plain = Bounds().estimate(BELIEF, 1e-3, np.random.default_rng(0))
    wide = Bounds(bias_corrected=True).estimate(BELIEF, 1e-3, np.random.default_rng(0))
    assert (wide.high - wide.low >= plain.high - plain.low).all()
    assert bias_correction(1e-3) == bias_correction(1e3)


@pytest.mark.parametrize("bias_corrected", [False, True])
def test_randomised_bounds_are_half_normal_multiples(bias_corrected: bool) -> None:
    rng = np.random.default_rng(2)
    plain = Bounds(bias_corrected=bias_corrected).estimate(BELIEF, 10.0, rng).high - BELIEF.mean
    part = Bounds(bias_corrected=bias_corrected, rand_sigma=0.5)
    factors = np.array([(part.estimate(BELIEF, 10.0, rng).high - BELIEF.mean) / plain for _ in range(5000)])
    for algorithm in range(2):
        assert stats.kstest(factors[:, algorithm], stats.halfnorm(scale=0.5).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(factors.T)[0, 1]) < 0.06, "one draw per algorithm"


def test_greedy_is_the_mean() -> None:
    estimate = Greedy(noise=2.0).estimate(BELIEF, 10.0, np.random.default_rng(0))
    assert estimate.low is BELIEF.mean
    np.testing.assert_allclose(estimate.spread, 2.0)


def test_uniform_ignores_the_belief() -> None:
    rng = np.random.default_rng(0)
    winners = [int(Uniform().estimate(BELIEF, 10.0, rng).low.argmin()) for _ in range(2000)]
    assert 0.45 < np.mean(winners) < 0.55
