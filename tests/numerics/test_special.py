"""The compiled special functions, against arithmetic with 50 digits."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.numerics import normal_kernels as special

far = st.one_of(st.floats(-40.0, 40.0), st.floats(-5.0, 5.0), st.floats(-1e-3, 1e-3), st.floats(-1e5, 1e5))


def _erfcx(x: float) -> mpmath.mpf:
    return mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x)


def _ndtr(x: float) -> mpmath.mpf:
    return mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2


def _log_ndtr(x: float) -> mpmath.mpf:
    if x > 0.0:
        return mpmath.log1p(-_ndtr(-x))
    return mpmath.log(_ndtr(x))


def _expit(x: float) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-mpmath.mpf(x)))


def _check(ours: Callable[[float], float], exact: Callable[[float], mpmath.mpf], x: float) -> None:
    with mpmath.workdps(50):
        expected = float(exact(x))
    if abs(expected) > 1e-300:  # below, numbers have fewer digits
        assert ours(x) == pytest.approx(expected, rel=3e-14)
    else:
        assert ours(x) == pytest.approx(expected, abs=1e-300)


@given(st.floats(-26.0, 1e5) | st.floats(-3.0, 30.0) | st.floats(11.9, 12.1))
@settings(max_examples=400, deadline=None)
def test_erfcx(x: float) -> None:
    _check(special.erfcx, _erfcx, x)


@given(far)
@settings(max_examples=400, deadline=None)
def test_ndtr(x: float) -> None:
    with mpmath.workdps(50):
        expected = float(_ndtr(x))
    # x / sqrt(2) is rounded, which costs x^2 units in the last place far out
    assert special.ndtr(x) == pytest.approx(expected, rel=1e-15 * (2.0 + x * x), abs=1e-300)


@given(far)
@settings(max_examples=400, deadline=None)
def test_log_ndtr(x: float) -> None:
    with mpmath.workdps(50):
        expected = float(_log_ndtr(x))
    # Far up it is the other tail itself, with the rounding of x / sqrt(2).
    tolerance = 1e-14 if x < 1.0 else 1e-15 * (2.0 + x * x)
    assert special.log_ndtr(x) == pytest.approx(expected, rel=tolerance, abs=1e-300)


@given(st.floats(-1e5, -1e-10) | st.floats(-3.0, -1e-3))
@settings(max_examples=400, deadline=None)
def test_ndtri_exp_inverts_log_ndtr(y: float) -> None:
    with mpmath.workdps(50):
        found = special.ndtri_exp(y)
        slope = mpmath.npdf(found) / _ndtr(found)  # of log Phi
        error = float(abs(_log_ndtr(found) - mpmath.mpf(y)) / slope)
    assert error <= 1e-13 * max(abs(found), 0.01)


@given(st.floats(-700.0, 700.0))
@settings(max_examples=200, deadline=None)
def test_expit(x: float) -> None:
    _check(special.expit, _expit, x)


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        (special.erfcx, -1e3, math.inf),
        (special.erfcx, math.inf, 0.0),
        (special.erfcx, 1e200, 1e-200 / math.sqrt(math.pi)),
        (special.ndtr, -math.inf, 0.0),
        (special.ndtr, math.inf, 1.0),
        (special.log_ndtr, math.inf, 0.0),
        (special.log_ndtr, -math.inf, -math.inf),
        (special.ndtri_exp, -math.inf, -math.inf),
        (special.ndtri_exp, 0.0, math.inf),
        (special.expit, -1e4, 0.0),
        (special.expit, 1e4, 1.0),
    ],
)
def test_limits(function: Callable[[float], float], given: float, expected: float) -> None:
    assert function(given) == pytest.approx(expected, rel=1e-15)


def test_nan_stays_nan_and_nothing_is_above_all() -> None:
    for function in (special.erfcx, special.ndtr, special.log_ndtr, special.ndtri_exp, special.expit):
        assert math.isnan(function(math.nan))
    assert math.isnan(special.ndtri_exp(0.5))


def test_arrays_of_any_shape() -> None:
    x = np.linspace(-3.0, 3.0, 24).reshape(2, 3, 4)[:, ::2]
    found = special.ndtr(x)
    assert found.shape == x.shape
    assert found[1, 1, 3] == special.ndtr(float(x[1, 1, 3]))
    assert special.ndtr(np.zeros(0)).shape == (0,)
