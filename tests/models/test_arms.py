"""Empirical Bayes: the posterior against brute force on a grid, and what is borrowed."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.models.residual_layers import MEAN, NOISE, SPREAD, Arms, population
from tailcut.numerics.arm_kernels import posterior
from tailcut.types import Array


def _density(value: Array | float, mean: Array | float, variance: float) -> Array:
    return np.asarray(np.exp(-0.5 * np.square(np.asarray(value) - mean) / variance))


@given(
    losses=st.lists(st.floats(0.0, 1.0), max_size=8),
    middle=st.floats(0.1, 0.9),
    spread=st.floats(0.005, 0.2),
    noise=st.floats(0.02, 0.5),
)
def test_the_posterior_of_an_algorithm_against_a_grid(
    losses: list[float], middle: float, spread: float, noise: float
) -> None:
    theta = np.linspace(-4.0, 5.0, 20_001)
    weight = _density(theta, middle, spread)
    for loss in losses:
        weight = weight * _density(loss, theta, noise)
    weight /= weight.sum()
    mean = float(weight @ theta)
    variance = float(weight @ np.square(theta - mean))
    runs, total = np.array([float(len(losses))]), np.array([sum(losses, 0.0)])
    found = posterior(runs, total, middle, spread, noise)
    np.testing.assert_allclose([found[0][0], found[1][0]], [mean, variance], rtol=1e-6)


def test_the_middle_against_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given tau^2 and s^2, m ~ N(MEAN, tau^2) and each algorithm's mean loss is a measurement of it."""
    monkeypatch.setattr("tailcut.models.residual_layers._STEPS", 1)
    runs, total, noise = np.array([3.0, 1.0, 0.0]), np.array([0.6, 0.9, 0.0]), 0.1
    m = np.linspace(-3.0, 4.0, 40_001)
    weight = _density(m, MEAN, SPREAD)
    for n, mean in ((3.0, 0.2), (1.0, 0.9)):
        weight = weight * _density(mean, m, SPREAD + noise / n)
    exact = float(weight @ m / weight.sum())
    np.testing.assert_allclose(population(runs, total, noise)[0], exact, rtol=1e-6)


def test_a_large_portfolio_tells_middle_and_spread() -> None:
    rng = np.random.default_rng(8)
    theta = rng.normal(0.3, 0.1, size=400)
    runs = np.full(400, 50.0)
    total = runs * (theta + rng.normal(0.0, np.sqrt(0.05 / 50.0), size=400))
    middle, spread = population(runs, total, noise=0.05)
    np.testing.assert_allclose([middle, np.sqrt(spread)], [0.3, 0.1], rtol=0.1)


def test_a_firm_prior_borrows_nothing() -> None:
    runs, total = np.array([9.0, 9.0]), np.array([0.1, 0.2])
    np.testing.assert_allclose(population(runs, total, 0.1, prior_weight=1e9), [MEAN, SPREAD], rtol=1e-6)
    assert population(runs, total, 0.1)[0] < 0.3


def test_the_noise_is_learned_from_predictions() -> None:
    rng = np.random.default_rng(9)
    arms = Arms(2)
    assert arms.squared_errors / arms.predictions == NOISE
    for step, loss in enumerate(rng.normal(0.5, 0.1, size=2000)):
        arms.update(step % 2, float(loss))
    np.testing.assert_allclose(arms.squared_errors / arms.predictions, 0.01, rtol=0.2)
    np.testing.assert_allclose(arms.variance, 1e-5, rtol=0.2)


def test_algorithms_come_and_go() -> None:
    arms, other = Arms(3), Arms(3)
    for algorithm, loss in ((0, 0.2), (2, 0.9), (0, 0.1)):
        arms.update(algorithm, loss)
    arms.remove(1)
    arms.add()
    assert arms.runs.tolist() == [2.0, 1.0, 0.0]
    other.restore(deepcopy(arms.state()))
    for copy in (arms, other):
        copy.update(2, 0.4)
    assert np.array_equal(arms.mean, other.mean)
    assert np.array_equal(arms.variance, other.variance)


def test_what_all_have_in_common_is_learned_anew_at_a_hundredth_more_runs() -> None:
    """At first after each run; in between an algorithm's own runs count all the same."""
    arms, rng = Arms(3), np.random.default_rng(0)
    for _ in range(3000):
        algorithm = int(rng.integers(3))
        before = (arms.middle, arms.spread)
        mean = float(arms.mean[algorithm])
        due = arms.predictions + 1.0 >= arms.due
        arms.update(algorithm, 1.0)
        assert ((arms.middle, arms.spread) != before) == due
        assert arms.mean[algorithm] > mean
        assert due or arms.predictions > 100.0
    exact = posterior(arms.runs, arms.total, *population(arms.runs, arms.total, arms._noise), arms._noise)
    np.testing.assert_allclose(arms.mean, exact[0], rtol=1e-4)
