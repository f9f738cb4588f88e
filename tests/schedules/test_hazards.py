"""Learning from slices against brute-force Bayes on a grid, and against the truth."""

import numpy as np
import pytest

from tailcut.schedules.curves import CUTS
from tailcut.schedules.hazard_schedule import passed
from tailcut.schedules.hazards import COMMON, FIRST_LEVEL, LEVEL, SKILL, TURN, Hazards
from tailcut.types import Array

NO_FEATURES = np.zeros(0)
SURE = np.zeros(1), np.ones(1)
"""One class of hardness 0."""


def log_likelihood(v: Array, solved: int, failed: int, hardness: Array, classes: Array) -> Array:
    """Return that of answers at log-odds `v`, where each instance is of an unknown class."""
    chance = 1.0 / (1.0 + np.exp(-(v[..., None] + hardness)))
    once, not_once = chance @ classes, (1.0 - chance) @ classes
    return np.asarray(solved * np.log(once) + failed * np.log(not_once))


@pytest.mark.parametrize(("solved", "failed"), [(1, 0), (0, 1), (5, 5), (1, 30), (60, 20)])
def test_one_interval_against_bayes_on_a_grid(solved: int, failed: int) -> None:
    """K = 1, no features: the log-odds of the first interval are one number with a Gaussian prior."""
    hazards = Hazards(n_algorithms=1, n_features=0)
    answers = np.random.default_rng(0).permutation([1.0] * solved + [0.0] * failed)
    for answer in answers:
        hazards.learn(0, NO_FEATURES, np.array([answer]), np.ones(1), 0, *SURE)
    prior = LEVEL + SKILL + TURN + COMMON
    grid = np.linspace(-12.0, 8.0, 20_001)
    log_posterior = log_likelihood(grid, solved, failed, *SURE) - 0.5 * (grid - FIRST_LEVEL) ** 2 / prior
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    mean = float(posterior @ grid)
    deviation = float(np.sqrt(posterior @ (grid - mean) ** 2))
    learned = hazards.log_odds(NO_FEATURES)[0, 0]
    # Newton steps on independent blocks are not exact; half a posterior deviation is close enough to plan.
    assert abs(learned - mean) < deviation / 2.0
    assert (learned - FIRST_LEVEL) * (mean - FIRST_LEVEL) > 0.0


def test_a_feature_against_bayes_on_a_grid() -> None:
    """The level and one weight, in two dimensions: which instances were solved tells the weight."""
    rng = np.random.default_rng(3)
    hazards = Hazards(n_algorithms=1, n_features=1, shared_variance=0.5, own_variance=0.5)
    level, weight = np.meshgrid(np.linspace(-6.0, 4.0, 401), np.linspace(-5.0, 5.0, 401), indexing="ij")
    spread = LEVEL + SKILL + TURN + COMMON
    log_posterior = -0.5 * (level - FIRST_LEVEL) ** 2 / spread - 0.5 * weight**2
    for _ in range(200):
        x = float(rng.choice([-1.0, 1.0]))
        answer = float(rng.random() < 1.0 / (1.0 + np.exp(-(-0.5 + 1.5 * x))))
        hazards.learn(0, np.array([x]), np.array([answer]), np.ones(1), 0, *SURE)
        chance = 1.0 / (1.0 + np.exp(-(level + weight * x)))
        log_posterior += np.log(chance if answer else 1.0 - chance)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    for x in (-1.0, 1.0):
        v = level + weight * x
        mean = float((posterior * v).sum())
        deviation = float(np.sqrt((posterior * (v - mean) ** 2).sum()))
        assert abs(hazards.log_odds(np.array([x]))[0, 0] - mean) < deviation


def test_the_variance_falls_as_bayes_says() -> None:
    """After one answer: 1 / (1 / V + f), the curvature f taken at the mean before."""
    hazards = Hazards(n_algorithms=1, n_features=0)
    chance = 1.0 / (1.0 + np.exp(-FIRST_LEVEL))
    before = LEVEL + SKILL + TURN + COMMON
    hazards.learn(0, NO_FEATURES, np.ones(1), np.ones(1), 0, *SURE)
    blocks = (
        hazards.level_variance[0],
        hazards.skill_variance[0],
        hazards.turn_variance[0, 0],
    )
    f = chance * (1.0 - chance)
    gain = f / (1.0 + f * before)
    expected = [u - u**2 * gain for u in (LEVEL, SKILL, TURN)]
    np.testing.assert_allclose(blocks, expected, rtol=1e-12)


def test_censoring_at_any_time_does_not_bias_the_curve() -> None:
    """Runs stopped at random times: the hazards learned are those of the runs, not of the stopping."""
    rng = np.random.default_rng(5)
    truth = np.linspace(0.25, 0.08, len(CUTS))
    hazards = Hazards(n_algorithms=1, n_features=0)
    for _ in range(4_000):
        reached = np.flatnonzero(rng.random(len(CUTS)) < truth)
        interval = int(reached[0]) if len(reached) else len(CUTS)
        low, high = np.concatenate(([0.0], CUTS, [np.inf]))[interval : interval + 2]
        runtime = rng.uniform(low, high) if np.isfinite(high) else np.inf
        budget = float(rng.choice(CUTS))
        start, answers, weights = passed(0.0, min(runtime, budget), runtime <= budget, CUTS)
        hazards.learn(0, NO_FEATURES, answers, weights, start, *SURE)
    learned = 1.0 / (1.0 + np.exp(-hazards.log_odds(NO_FEATURES)[0]))
    np.testing.assert_allclose(learned, truth, atol=0.05)


def test_what_is_common_is_learned_from_all() -> None:
    hazards = Hazards(n_algorithms=3, n_features=1)
    x = np.array([1.0])
    before = hazards.log_odds(x)
    for _ in range(20):
        hazards.learn(0, x, np.zeros(3), np.ones(3), 0, *SURE)
    after = hazards.log_odds(x)
    assert (after[0, :3] < after[1, :3]).all()
    assert (after[1:, :3] < before[1:, :3]).all()
    np.testing.assert_array_equal(after[1], after[2])


def test_an_algorithm_that_comes_and_goes_changes_nothing_for_the_others() -> None:
    x = np.array([0.5, -1.0])
    hazards = Hazards(n_algorithms=2, n_features=2)
    hazards.learn(1, x, np.array([0.0, 1.0]), np.ones(2), 0, *SURE)
    before = hazards.log_odds(x)
    hazards.add()
    fresh = hazards.log_odds(x)
    np.testing.assert_array_equal(fresh[:2], before)
    hazards.learn(2, x, np.zeros(1), np.ones(1), 0, *SURE)
    hazards.remove(0)
    hazards.remove(1)
    assert hazards.log_odds(x).shape == (1, len(CUTS))
    assert len(hazards.covariance) == len(hazards.weights) == 2
    assert (hazards.log_odds(x)[0] < fresh[1]).all(), "the failure lowers the common level"


@pytest.mark.parametrize(
    ("known", "end", "solved", "expected"),
    [
        (0.0, 0.0, True, (0, [1.0], [1.0])),
        (0.0, 1.0, False, (0, [0.0], [1.0])),
        (0.0, 4.75, False, (0, [0.0, 0.0, 0.0], [1.0, 1.0, 0.25])),
        (3.0, 10.0, False, (2, [0.0], [1.0])),
        (3.0, 3.0, False, (0, [], [])),
        (2.0, 2.5, True, (1, [1.0], [1.0])),
        (0.0, 99.0, True, (0, [0.0, 0.0, 1.0], [1.0, 1.0, 1.0])),
    ],
)
def test_what_a_run_says(
    known: float, end: float, solved: bool, expected: tuple[int, list[float], list[float]]
) -> None:
    start, answers, weights = passed(known, end, solved, np.array([1.0, 3.0, 10.0]))
    assert (start, answers.tolist(), weights.tolist()) == expected
