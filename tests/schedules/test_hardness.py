"""The classes of hardness: what the second kind says of runtimes, against the log-logistic distribution."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import fisk

from tailcut import Decision, Selector
from tailcut.schedules.curves import CUTS
from tailcut.schedules.hazards import FIRST_LEVELS, LARGEST, N_SHIFTS, SCALE, TIMES, Hardness, log_odds_around
from tailcut.types import Array
from tests.schedules.test_calibration import schedule_of


@pytest.mark.parametrize("scale", [0.3, 0.7, 2.0])
def test_runs_of_a_class_of_times_are_log_logistic(scale: float) -> None:
    survival = np.cumprod(expit(-log_odds_around(TIMES, scale)), axis=1)
    expected = [fisk(1.0 / scale, scale=time).sf(CUTS) for time in TIMES]
    np.testing.assert_allclose(survival, expected, rtol=1e-9, atol=1e-15)


def test_the_classes_are_of_two_kinds() -> None:
    hardness = Hardness()
    equal, times = hardness.shift[:N_SHIFTS], hardness.shift[N_SHIFTS:]
    np.testing.assert_array_equal(equal, np.repeat(equal[:, :1], len(CUTS), axis=1))
    exact = log_odds_around(TIMES, SCALE) - FIRST_LEVELS
    inside = np.abs(exact) < LARGEST
    np.testing.assert_allclose(times[inside], exact[inside])
    assert np.abs(times).max() == LARGEST
    assert hardness.frequencies()[:N_SHIFTS].sum() == pytest.approx(0.5)


def _same_time(runtimes: Array, seed: int) -> float:
    """Return how common the classes of times are after a stream."""
    names = [f"a{number}" for number in range(runtimes.shape[1])]
    selector = Selector("tailcut_schedule", names, 100.0, seed=seed)
    for row in runtimes.tolist():
        decision: Decision | None = selector.select([0.0])
        while decision is not None:
            needed = row[names.index(decision.algorithm)]
            if needed <= decision.budget:
                selector.observe(decision, runtime=needed)
            else:
                selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
    return float(schedule_of(selector).hardness.frequencies()[N_SHIFTS:].sum())


@pytest.mark.parametrize("seed", range(2))
def test_it_learns_whether_algorithms_take_the_same_time(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = np.exp(rng.uniform(np.log(0.1), np.log(400.0), (300, 1)))
    alike = own * np.exp(0.2 * rng.normal(size=(300, 6)))
    apart = np.exp(rng.uniform(np.log(0.1), np.log(400.0), (300, 6)))
    assert _same_time(alike, seed) > _same_time(apart, seed) + 0.1
