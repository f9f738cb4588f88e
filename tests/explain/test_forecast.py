"""Forecasts of runtimes: exact where they can be integrated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from tailcut.catalogue import CATALOGUE
from tailcut.policies.losses import LogSeconds, expected_par, expected_par_left
from tailcut.types import Progress

CUTOFF = 100.0
AFRESH = Progress(CUTOFF, 0.0, None)


@pytest.mark.parametrize("used", [0.0, 30.0])
@pytest.mark.parametrize(("median", "deviation"), [(1.0, 0.5), (50.0, 1.0), (5000.0, 2.0)])
def test_forecasts_against_integration(median: float, deviation: float, used: float) -> None:
    runtime = stats.lognorm(s=deviation, scale=median)
    left = CUTOFF - used
    found = LogSeconds().forecasts(
        np.log([median]), np.array([deviation]), Progress(CUTOFF, used, None), 10.0
    )
    solved, _ = integrate.quad(lambda t: (used + t) * runtime.pdf(t), 0.0, left, epsabs=1e-12, limit=200)
    assert found.timeout[0] == pytest.approx(runtime.sf(left), rel=1e-12)
    assert found.expected_par[0] == pytest.approx(solved + runtime.sf(left) * 10.0 * CUTOFF, rel=1e-7)
    assert [found.low[0], found.median[0], found.high[0]] == pytest.approx(runtime.ppf([0.05, 0.5, 0.95]))


def test_with_nothing_used_it_is_the_loss_that_selectors_minimise() -> None:
    mu, s = np.array([-5.0, 2.0, 9.0]), np.array([0.0, 1.0, 30.0])
    assert np.array_equal(expected_par_left(mu, s, AFRESH, 10.0), expected_par(mu, s, CUTOFF, 10.0))


def test_numbers_stay_finite_however_odd_the_belief() -> None:
    mean, deviation = np.array([-1e4, 0.0, 1e4]), np.array([0.0, 1e4, 1e-300])
    found = LogSeconds().forecasts(mean, deviation, AFRESH, 10.0)
    assert np.isfinite(np.array(found[:5])).all()
    assert (found.low <= found.median).all()
    assert (found.median <= found.high).all()


def test_rows_say_whether_they_predict_runtimes() -> None:
    without = {name for name, row in CATALOGUE.items() if not row.predicts_runtimes}
    assert without == {
        "bounded_thompson",
        "degroote_epsilon_greedy_lr",
        "degroote_epsilon_greedy_rf",
        "degroote_ucb_rf",
        "epsilon_greedy",
        "random",
        "round_robin",
        "tailcut",
    }
