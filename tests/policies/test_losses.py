"""Expected PARk against exact arithmetic, its bounds, and the paper's mix of two bounds."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from tailcut.policies.losses import ExpectedPar, Predicted, expected_par, optimistic_par
from tailcut.types import Estimate
from tests.numerics.test_normal import cutoffs, locations, spreads


def _exact(mu: float, s: float, cutoff: float, penalty: float) -> float:
    with mpmath.workdps(60):
        c = mpmath.log(mpmath.mpf(cutoff))
        m, d = mpmath.mpf(mu), mpmath.mpf(s)
        b = (c - m) / d
        root = mpmath.sqrt(2)
        solved = mpmath.exp(m + d * d / 2) * mpmath.erfc((d - b) / root) / 2
        return float(solved + mpmath.erfc(b / root) / 2 * penalty * mpmath.mpf(cutoff))


@given(locations, spreads, cutoffs, st.floats(1.0, 100.0))
@settings(max_examples=500, deadline=None)
def test_expected_par_is_exact_and_within_its_bounds(
    mu: float, s: float, cutoff: float, penalty: float
) -> None:
    ours = float(expected_par(np.array([mu]), np.array([s]), cutoff, penalty)[0])
    assert 0.0 <= ours <= penalty * cutoff
    assert ours == pytest.approx(_exact(mu, s, cutoff, penalty), rel=1e-9)


@pytest.mark.parametrize("mu", [-3.0, 0.0, 2.0, 4.0])
@pytest.mark.parametrize("s", [0.3, 1.0, 2.5])
def test_expected_par_equals_numerical_integration(mu: float, s: float) -> None:
    """By scipy's quadrature of the loss against the normal density of the log-runtime."""
    cutoff, penalty = 10.0, 10.0
    density = stats.norm(mu, s).pdf
    below = integrate.quad(
        lambda y: math.exp(y) * density(y), mu - 40 * s, math.log(cutoff), epsabs=0, epsrel=1e-12, limit=500
    )[0]
    above = integrate.quad(density, math.log(cutoff), mu + 40 * s, epsabs=1e-15, epsrel=1e-12, limit=500)[0]
    ours = float(expected_par(np.array([mu]), np.array([s]), cutoff, penalty)[0])
    assert ours == pytest.approx(below + above * penalty * cutoff, rel=1e-9)


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e6), st.floats(1e-300, 1e300))
@settings(max_examples=300, deadline=None)
def test_expected_par_is_finite_far_outside_its_range(mu: float, s: float, cutoff: float) -> None:
    with np.errstate(over="ignore"):
        ours = float(expected_par(np.array([mu]), np.array([s]), cutoff, 10.0)[0])
    assert 0.0 <= ours <= 10.0 * cutoff


def test_expected_par_grows_with_the_log_runtime() -> None:
    mu = np.linspace(-5, 15, 200)
    losses = expected_par(mu, np.full(200, 1.5), 100.0)
    assert (np.diff(losses) > 0).all()


@given(locations, st.floats(0.1, 20.0), cutoffs)
@settings(max_examples=200, deadline=None)
def test_the_mix_of_two_equal_bounds_is_the_expected_loss(mu: float, s: float, cutoff: float) -> None:
    value, spread = np.array([mu]), np.array([s])
    mixed = float(optimistic_par(value, value, spread, cutoff)[0])
    exact = float(expected_par(value, spread, cutoff)[0])
    # The mix subtracts its terms, so near a certain timeout its error is relative to the penalty.
    assert mixed == pytest.approx(exact, rel=1e-9, abs=1e-9 * 10 * cutoff)


def test_the_mix_of_two_bounds_is_the_papers_formula() -> None:
    """Eq. (choice_linucb_revisited_2), term by term with scipy.stats, where nothing is extreme."""
    low, high, s, cutoff = 1.0, 2.0, 1.3, 20.0
    c, phi = math.log(cutoff), stats.norm.cdf
    first = math.exp(high + s**2 / 2) * phi((c - low - s**2) / s) / phi((c - high - s**2) / s + s)
    second = math.exp(low + s**2 / 2) * phi((c - high - s**2) / s) / phi((c - low - s**2) / s + s)
    expected = (1 - phi((c - high) / s)) * (10 * cutoff - first) + second
    ours = optimistic_par(np.array([low]), np.array([high]), np.array([s]), cutoff)
    assert float(ours[0]) == pytest.approx(expected, rel=1e-12)


@given(locations, st.floats(0.0, 1e5), spreads, cutoffs)
@settings(max_examples=300, deadline=None)
def test_the_mix_of_two_bounds_is_always_finite(mean: float, width: float, s: float, cutoff: float) -> None:
    ours = optimistic_par(np.array([mean - width]), np.array([mean + width]), np.array([s]), cutoff)
    assert np.isfinite(ours).all()


def test_loss_parts_use_what_they_say() -> None:
    low, high, spread = np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 1.0])
    assert Predicted().scores(Estimate(low, high, spread), 10.0) is low
    np.testing.assert_array_equal(
        ExpectedPar(penalty=2.0).scores(Estimate(low, low, spread), 10.0),
        expected_par(low, spread, 10.0, 2.0),
    )
    np.testing.assert_array_equal(
        ExpectedPar(penalty=2.0).scores(Estimate(low, high, spread), 10.0),
        optimistic_par(low, high, spread, 10.0, 2.0),
    )
