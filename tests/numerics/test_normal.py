"""The normal distribution in its tails, against 40-digit arithmetic, numerical integration and scipy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailcut.numerics.normal import (
    draw_above,
    solved_part,
    timeout_probability,
    upper_tail_moments,
)
from tailcut.types import Array

# The ranges in which the formulas must hold: cutoff 1e-3 to 1e8, mu -50 to 50, s 1e-4 to 50.
cutoffs = st.floats(math.log(1e-3), math.log(1e8)).map(math.exp)
locations = st.floats(-50.0, 50.0)
spreads = st.floats(math.log(1e-4), math.log(50.0)).map(math.exp)


def _exact_solved_part(mu: float, s: float, cutoff: float) -> float:
    """E[m 1(m <= C)] by the closed form in 60 digits (no floating point of ours involved)."""
    with mpmath.workdps(60):
        c = mpmath.log(mpmath.mpf(cutoff))
        m, d = mpmath.mpf(mu), mpmath.mpf(s)
        b = (c - m) / d
        return float(mpmath.exp(m + d * d / 2) * mpmath.erfc((d - b) / mpmath.sqrt(2)) / 2)


def _integrated_solved_part(mu: float, s: float, cutoff: float) -> float:
    """The same by integrating exp(y) against the normal density, scaled to its largest value."""
    with mpmath.workdps(30):
        c = mpmath.log(mpmath.mpf(cutoff))
        m, d = mpmath.mpf(mu), mpmath.mpf(s)
        largest = ((min(m, c) - m) / d) ** 2 / 2

        def density(y: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(largest - ((y - m) / d) ** 2 / 2)

        # Density and integrand fall off below min(m, c) on the scale of the deviation, or faster where
        # the cutoff sits on the flank, where the slope (m - c)/d^2 sets the scale.
        slope = max((m - c) / d, mpmath.mpf(1))
        scale = d / slope
        points = [c - scale * 2**k for k in range(9, -6, -1)] + [c]
        shifted = [p for p in (m + d * d + d * k for k in range(-12, 13, 2)) if points[0] < p < c]
        central = [p for p in (m + d * k for k in range(-12, 13, 2)) if p < c]
        points = sorted({*points, *shifted, *central})
        top = mpmath.quad(lambda y: mpmath.exp(y - c) * density(y), points)
        return float(top * mpmath.exp(c - largest) / (d * mpmath.sqrt(2 * mpmath.pi)))


@given(locations, spreads, cutoffs)
@settings(max_examples=400, deadline=None)
def test_solved_part_equals_the_exact_value(mu: float, s: float, cutoff: float) -> None:
    ours = float(solved_part(np.array([mu]), np.array([s]), cutoff)[0])
    assert 0.0 <= ours <= cutoff
    assert ours == pytest.approx(_exact_solved_part(mu, s, cutoff), rel=1e-9, abs=1e-300)


@given(locations, spreads, cutoffs)
@settings(max_examples=40, deadline=None)
def test_solved_part_equals_numerical_integration(mu: float, s: float, cutoff: float) -> None:
    """The quadrature has fewer digits where the distribution is narrow; the exact value is tested above."""
    ours = float(solved_part(np.array([mu]), np.array([s]), cutoff)[0])
    assert ours == pytest.approx(_integrated_solved_part(mu, s, cutoff), rel=1e-7, abs=1e-300)


def test_timeout_probability_is_that_of_scipy() -> None:
    mu, s = np.array([-40.0, 0.0, 2.0, 5.0]), np.array([5.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(
        timeout_probability(mu, s, 20.0), stats.norm.sf(math.log(20.0), mu, s), rtol=1e-12
    )


@pytest.mark.parametrize("distance", [-5.0, 0.0, 3.0, 8.0, 30.0, 300.0])
def test_draw_above_has_the_truncated_normal_distribution(distance: float) -> None:
    """Against scipy.stats.truncnorm, also 30 standard deviations out."""
    mean, deviation = 2.0, 1.5
    floor = mean + distance * deviation
    rng = np.random.default_rng(1)
    draws = np.array([draw_above(rng, mean, deviation, floor) for _ in range(20_000)])
    assert draws.min() >= floor
    near: Any = stats.truncnorm(a=distance, b=np.inf, loc=mean, scale=deviation)
    expected = near.cdf if distance < 100 else _far_tail_cdf(mean, deviation, floor)
    assert stats.kstest(draws, expected).pvalue > 1e-3


def _far_tail_cdf(mean: float, deviation: float, floor: float) -> Callable[[Any], Any]:
    """P(X <= x | X > floor), from logarithms of tails, where truncnorm's own cdf has lost its digits."""

    def cdf(x: Array) -> Array:
        beyond = stats.norm.logsf((x - mean) / deviation)
        return np.asarray(-np.expm1(beyond - stats.norm.logsf((floor - mean) / deviation)))

    return cdf


@given(locations, st.floats(0.0, 50.0), locations, st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_draw_above_is_finite_and_above(mean: float, deviation: float, floor: float, seed: int) -> None:
    draw = draw_above(np.random.default_rng(seed), mean, deviation, floor)
    assert math.isfinite(draw)
    assert draw >= floor


@given(st.floats(-1e5, 1e3))
@settings(max_examples=300, deadline=None)
def test_upper_tail_moments_are_exact(z: float) -> None:
    r, gap = upper_tail_moments(z, 1.0, 0.0)
    with mpmath.workdps(60):
        x = mpmath.mpf(z)
        exact = mpmath.npdf(x) / mpmath.ncdf(x) if z > -100 else _inverse_mills(x)
        assert r == pytest.approx(float(exact), rel=1e-9, abs=1e-130)
        assert gap == pytest.approx(float(exact + x), rel=1e-9)
    assert 0.0 <= r * gap < 1.0 or z > 0


def _inverse_mills(x: mpmath.mpf) -> mpmath.mpf:
    """phi(x)/Phi(x) for x far below 0, by the continued fraction of Mills' ratio."""
    with mpmath.workdps(60):
        q = -x
        fraction = q
        for k in range(200, 0, -1):
            fraction = q + k / fraction
        return fraction
