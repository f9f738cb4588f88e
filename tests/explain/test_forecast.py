"""The model on the side: calibrated where the truth is known, and exact where it can be integrated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from tailcut import Outcome, Selector
from tailcut.catalogue import CATALOGUE, recipe
from tailcut.explain.forecast import RuntimeForecast
from tailcut.policies.losses import expected_par, expected_par_left
from tailcut.policies.recipes import Recipe
from tailcut.policies.targets import LogSeconds
from tailcut.scenarios.synthetic import generate
from tailcut.types import Array, Progress

CUTOFF = 100.0
NOISE = (0.5, 1.0, 2.0)
AFRESH = Progress(CUTOFF, 0.0, None)


def _instances(n: int, rng: np.random.Generator, d: int = 6) -> Array:
    """Represented instances as the standardising pipeline makes them: length 4, and an intercept of 10."""
    z = rng.standard_normal((n, d)) * 4.0 / math.sqrt(d)
    return np.column_stack([z, np.full(n, 10.0)])


@pytest.fixture(scope="module")
def taught() -> tuple[RuntimeForecast, Array]:
    """A forecast after 400 runs of each of three algorithms, every third or so timed out; true weights."""
    rng = np.random.default_rng(1)
    theta = 0.5 * rng.standard_normal((3, 7))
    theta[:, -1] = np.array([0.35, 0.4, 0.3])  # medians of 30 s, 55 s and 20 s
    forecast = RuntimeForecast(n_algorithms=3, n_features=7)
    for x in _instances(400, rng):
        for k, noise in enumerate(NOISE):
            runtime = math.exp(x @ theta[k] + noise * rng.standard_normal())
            outcome = Outcome.solved(runtime) if runtime <= CUTOFF else Outcome.censored(CUTOFF)
            forecast.learn(k, x, outcome, CUTOFF)
    return forecast, theta


@pytest.fixture(scope="module")
def future(taught: tuple[RuntimeForecast, Array]) -> tuple[Array, ...]:
    """What was forecast for 2,000 new instances, and how long the runs took, each (2000, 3)."""
    forecast, theta = taught
    rng = np.random.default_rng(2)
    instances = _instances(2000, rng)
    runtimes = np.exp(instances @ theta.T + rng.standard_normal((2000, 3)) * np.array(NOISE))
    found = [forecast.predict(x, AFRESH, 10.0) for x in instances]
    low, high, timeout, par = (np.array([one[field] for one in found]) for field in (1, 2, 3, 4))
    return runtimes, low, high, timeout, par


def test_nine_in_ten_runs_fall_into_the_interval(future: tuple[Array, ...]) -> None:
    runtimes, low, high, *_ = future
    covered = ((low <= runtimes) & (runtimes <= high)).mean(axis=0)
    assert (covered > 0.85).all(), covered
    assert (covered < 0.95).all(), covered


def test_timeouts_are_as_frequent_as_was_said(future: tuple[Array, ...]) -> None:
    runtimes, _, _, timeout, _ = future
    happened = runtimes > CUTOFF
    for below in (0.1, 0.3, 0.5, 0.7, 0.9):
        inside = np.abs(timeout - below) <= 0.1
        assert inside.sum() > 200
        assert happened[inside].mean() == pytest.approx(timeout[inside].mean(), abs=0.07)


def test_the_expected_loss_is_what_is_paid_on_average(future: tuple[Array, ...]) -> None:
    runtimes, *_, par = future
    paid = np.where(runtimes <= CUTOFF, runtimes, 10.0 * CUTOFF)
    assert par.mean(axis=0) == pytest.approx(paid.mean(axis=0), rel=0.2)


def test_the_noise_of_each_algorithm_is_learned(taught: tuple[RuntimeForecast, Array]) -> None:
    forecast, _ = taught
    assert np.sqrt(forecast.squares / forecast.weight) == pytest.approx(NOISE, rel=0.15)


def test_runs_that_never_end_are_counted_as_such() -> None:
    """Of one algorithm a quarter of the runs hangs, of the other none; the others take 1 s or so."""
    rng = np.random.default_rng(3)
    forecast = RuntimeForecast(n_algorithms=2, n_features=7)
    instances = _instances(600, rng)
    for number, x in enumerate(instances):
        for k, hangs in enumerate((number % 4 == 0, False)):
            runtime = math.exp(rng.standard_normal())
            outcome = Outcome.censored(CUTOFF) if hangs else Outcome.solved(runtime)
            forecast.learn(k, x, outcome, CUTOFF)
            if number % 3 == 0:  # stopped early, it may have been about to end
                forecast.learn(k, x, Outcome.censored(1e-3), CUTOFF)
    found = [forecast.predict(x, AFRESH, 10.0) for x in instances]
    assert np.mean([one.timeout for one in found], axis=0) == pytest.approx([0.25, 0.0], abs=0.04)
    paid = np.mean([one.expected_par for one in found], axis=0)
    assert paid == pytest.approx([0.75 * math.exp(0.5) + 250.0, math.exp(0.5)], rel=0.15)


def test_a_failed_run_teaches_what_a_timeout_does() -> None:
    first, second = (RuntimeForecast(n_algorithms=1, n_features=7) for _ in range(2))
    for x in _instances(20, np.random.default_rng(0)):
        first.learn(0, x, Outcome.failed(), CUTOFF)
        second.learn(0, x, Outcome.censored(CUTOFF), CUTOFF)
    assert np.array_equal(first.bank.halves, second.bank.halves)
    assert np.array_equal(first.bank.theta, second.bank.theta)
    assert first.squares == second.squares


def test_only_the_first_entries_are_looked_at() -> None:
    short, long = (RuntimeForecast(n_algorithms=1, n_features=7) for _ in range(2))
    for x in _instances(20, np.random.default_rng(0)):
        short.learn(0, x, Outcome.solved(3.0), CUTOFF)
        long.learn(0, np.append(x, 1e6), Outcome.solved(3.0), CUTOFF)
    assert np.array_equal(short.bank.halves, long.bank.halves)
    assert np.array_equal(short.bank.theta, long.bank.theta)


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


def test_it_does_not_touch_the_decisions() -> None:
    scenario = generate(n_instances=150, n_features=5, seed=3)
    row = recipe("bounded_thompson")
    assert isinstance(row, Recipe)
    streams = []
    for one in (row, replace(row, forecaster=None)):
        selector = Selector(one, scenario.algorithms, scenario.cutoff)
        decisions = []
        for number, features in enumerate(scenario.features):
            decisions.append(selector.select(features))
            k = scenario.algorithms.index(decisions[-1].algorithm)
            runtime = float(scenario.runtimes[number, k])
            solved = scenario.solved[number, k]
            selector.observe(
                decisions[-1], Outcome.solved(runtime) if solved else Outcome.censored(scenario.cutoff)
            )
        streams.append(decisions)
    assert streams[0] == streams[1]


def test_rows_say_whether_they_predict_runtimes() -> None:
    without = {name for name, row in CATALOGUE.items() if not row.predicts_runtimes}
    assert without == {
        "degroote_epsilon_greedy_lr",
        "degroote_epsilon_greedy_rf",
        "degroote_ucb_rf",
        "epsilon_greedy",
        "random",
        "round_robin",
    }
