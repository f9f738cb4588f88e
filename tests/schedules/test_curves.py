"""Survival curves against numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad

from tailcut.schedules.curves import CUTS, Curves
from tests.schedules.plain_planner import likelihood


@pytest.fixture
def curves() -> Curves:
    rng = np.random.default_rng(1)
    log_odds = rng.normal(-2.0, 1.0, (3, len(CUTS), 1)) + np.array([-3.0, 0.0, 2.0])
    return Curves(log_odds, cuts=CUTS * 600.0)


@pytest.mark.parametrize("time", [0.0, 0.3, 0.6, 5.0, 180.0, 599.0, 600.0])
def test_the_integral_is_that_of_the_survival(curves: Curves, time: float) -> None:
    _, integral = curves.at_all(np.array([time]))
    for algorithm, klass in np.ndindex(3, 3):
        area, _ = quad(
            lambda t, a=algorithm, c=klass: curves.at_all(np.array([t]))[0][0, a, c],
            0.0,
            time,
            points=[cut for cut in CUTS * 600.0 if cut < time],
            limit=200,
        )
        assert integral[0, algorithm, klass] == pytest.approx(area, rel=1e-9)


def test_the_survival_at_the_cuts_is_the_product_of_the_chances_to_fail(curves: Curves) -> None:
    log_odds = np.random.default_rng(1).normal(-2.0, 1.0, (3, len(CUTS)))
    expected = np.cumprod(1.0 - 1.0 / (1.0 + np.exp(-(log_odds + 2.0))), axis=1)
    survival, _ = curves.at_all(CUTS * 600.0)
    np.testing.assert_allclose(survival[:, :, 2].T, expected, rtol=1e-12)


def test_the_survival_falls_and_stays_level_after_the_last_cut(curves: Curves) -> None:
    survival, integral = curves.at_all(np.linspace(0.0, 1200.0, 500))
    assert (np.diff(survival, axis=0) <= 1e-15).all()
    assert (survival[-1] == survival[-200]).all()
    assert (np.diff(integral, axis=0) > 0.0).all()


def test_each_algorithm_at_its_own_time(curves: Curves) -> None:
    times = np.array([0.0, 77.0, 600.0])
    own, everyone = curves.at(times), curves.at_all(times)
    for mine, all_of_them in zip(own, everyone, strict=True):
        np.testing.assert_array_equal(mine, all_of_them[np.arange(3), np.arange(3)])


def test_certain_solutions_leave_finite_ratios() -> None:
    curves = Curves(np.full((1, len(CUTS), 1), 505.0), cuts=CUTS)
    survival, integral = curves.at(np.array([1.0]))
    assert np.isfinite(survival / survival).all()
    assert np.isfinite(integral).all()


def test_the_likelihood_of_failures_is_the_product_of_the_survivals(curves: Curves) -> None:
    failed = np.array([7.0, 0.0, 1000.0])
    survival, _ = curves.at(failed)
    expected = survival.prod(axis=0)
    np.testing.assert_allclose(likelihood(curves, failed), expected / expected.max(), rtol=1e-12)
    assert likelihood(curves, np.zeros(3)).tolist() == [1.0, 1.0, 1.0]
