"""Learning from slices against brute-force Bayes on a grid, a plain implementation, and the truth."""

import numpy as np
import pytest
from scipy.special import expit

from tailcut.errors import StateFileError
from tailcut.schedules.curves import CUTS, passed
from tailcut.schedules.hazards import COMMON, DRAWN_SHARE, FIRST_LEVEL, INTERACTION, LEVEL, SKILL, Hazards
from tailcut.types import Array

SURE = np.zeros((1, len(CUTS))), np.ones(1)
"""One class of hardness 0."""


def log_likelihood(v: Array, solved: int, failed: int, hardness: Array, classes: Array) -> Array:
    """Return that of answers at log-odds `v`, where each instance is of an unknown class."""
    chance = expit(v[..., None] + hardness[:, 0])
    once, not_once = chance @ classes, (1.0 - chance) @ classes
    return np.asarray(solved * np.log(once) + failed * np.log(not_once))


@pytest.mark.parametrize(("solved", "failed"), [(1, 0), (0, 1), (5, 5), (1, 30), (60, 20)])
def test_one_interval_against_bayes_on_a_grid(solved: int, failed: int) -> None:
    """K = 1: the log-odds of the first interval are one number with a Gaussian prior."""
    hazards = Hazards(n_algorithms=1)
    answers = np.random.default_rng(0).permutation([1.0] * solved + [0.0] * failed)
    for answer in answers:
        hazards.learn(0, 0, np.array([answer]), np.ones(1), *SURE)
    prior = LEVEL + SKILL + INTERACTION + COMMON
    grid = np.linspace(-12.0, 8.0, 20_001)
    log_posterior = log_likelihood(grid, solved, failed, *SURE) - 0.5 * (grid - FIRST_LEVEL) ** 2 / prior
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    mean = float(posterior @ grid)
    deviation = float(np.sqrt(posterior @ (grid - mean) ** 2))
    learned = hazards.log_odds()[0, 0]
    # Newton steps on independent blocks are not exact; half a posterior deviation is close enough to plan.
    assert abs(learned - mean) < deviation / 2.0
    assert (learned - FIRST_LEVEL) * (mean - FIRST_LEVEL) > 0.0


def test_draws_vary_by_a_share_of_what_is_unknown() -> None:
    hazards, stream = Hazards(n_algorithms=3), np.random.default_rng(0)
    hazards.skill_variance[1] = 1e-9
    hazards.interaction_variance[1] = 1e-9
    draws = np.array([hazards.drawn_log_odds(stream) for _ in range(4000)]) - hazards.log_odds()
    spread = draws.std(axis=0)
    np.testing.assert_allclose(spread[[0, 2]], DRAWN_SHARE * np.sqrt(SKILL + INTERACTION), rtol=0.1)
    assert spread[1].max() < 1e-3
    assert np.abs(draws.mean(axis=0)).max() < 0.05


def test_steps_against_plain_formulas() -> None:
    """Interval by interval: u g / (1 + f V) for a mean, u^2 f / (1 + f V) off a variance."""
    rng = np.random.default_rng(2)
    hazards, again = Hazards(n_algorithms=3), Hazards(n_algorithms=3)
    hardness = rng.uniform(-5.0, 5.0, (7, len(CUTS)))
    for _ in range(200):
        a, length = int(rng.integers(3)), int(rng.integers(1, 5))
        start = int(rng.integers(len(CUTS) - length + 1))
        solved = np.append(np.zeros(length - 1), float(rng.random() < 0.5))
        weights, classes = rng.uniform(0.05, 1.0, length), rng.dirichlet(np.ones(7))
        hazards.learn(a, start, solved, weights, hardness, classes)
        slopes = curvatures = 0.0
        for j, answer, weight in zip(range(start, start + length), solved, weights, strict=True):
            chance = expit(again.log_odds()[a, j] + hardness[:, j])
            f = weight * classes @ (chance * (1.0 - chance))
            unknowns = (
                (again.level[j : j + 1], again.level_variance[j : j + 1]),
                (again.skill[a : a + 1], again.skill_variance[a : a + 1]),
                (again.interaction[a, j : j + 1], again.interaction_variance[a, j : j + 1]),
            )
            damped = 1.0 + f * (sum(float(u[0]) for _, u in unknowns) + again.common[1])
            slope, f = weight * classes @ (answer - chance) / damped, f / damped
            for mean, u in unknowns:
                mean += u * slope
                u -= u**2 * f
            slopes, curvatures = slopes + slope, curvatures + f
        again.common[0] += again.common[1] * slopes
        again.common[1] /= 1.0 + again.common[1] * curvatures
    for name in Hazards.STATE:
        np.testing.assert_allclose(getattr(hazards, name), getattr(again, name), rtol=1e-9, err_msg=name)


def test_the_variance_falls_as_bayes_says() -> None:
    """After one answer: 1 / (1 / V + f), the curvature f taken at the mean before."""
    hazards = Hazards(n_algorithms=1)
    chance = expit(FIRST_LEVEL)
    before = LEVEL + SKILL + INTERACTION + COMMON
    hazards.learn(0, 0, np.ones(1), np.ones(1), *SURE)
    blocks = (hazards.level_variance[0], hazards.skill_variance[0], hazards.interaction_variance[0, 0])
    f = chance * (1.0 - chance)
    gain = f / (1.0 + f * before)
    expected = [u - u**2 * gain for u in (LEVEL, SKILL, INTERACTION)]
    np.testing.assert_allclose(blocks, expected, rtol=1e-12)


def test_censoring_at_any_time_does_not_bias_the_curve() -> None:
    """Runs stopped at random times: the hazards learned are those of the runs, not of the stopping."""
    rng = np.random.default_rng(5)
    truth = np.linspace(0.25, 0.08, len(CUTS))
    hazards = Hazards(n_algorithms=1)
    for _ in range(4_000):
        reached = np.flatnonzero(rng.random(len(CUTS)) < truth)
        interval = int(reached[0]) if len(reached) else len(CUTS)
        low, high = np.concatenate(([0.0], CUTS, [np.inf]))[interval : interval + 2]
        runtime = rng.uniform(low, high) if np.isfinite(high) else np.inf
        budget = float(rng.choice(CUTS))
        hazards.learn(0, *passed(0.0, min(runtime, budget), runtime <= budget, CUTS), *SURE)
    np.testing.assert_allclose(expit(hazards.log_odds()[0]), truth, atol=0.05)


def test_what_is_common_is_learned_from_all() -> None:
    hazards = Hazards(n_algorithms=3)
    before = hazards.log_odds()
    for _ in range(20):
        hazards.learn(0, 0, np.zeros(3), np.ones(3), *SURE)
    after = hazards.log_odds()
    assert (after[0, :3] < after[1, :3]).all()
    assert (after[1:, :3] < before[1:, :3]).all()
    np.testing.assert_array_equal(after[1], after[2])


def test_an_algorithm_that_comes_and_goes_changes_nothing_for_the_others() -> None:
    hazards = Hazards(n_algorithms=2)
    hazards.learn(1, 0, np.array([0.0, 1.0]), np.ones(2), *SURE)
    before = hazards.log_odds()
    hazards.add()
    fresh = hazards.log_odds()
    np.testing.assert_array_equal(fresh[:2], before)
    hazards.learn(2, 0, np.zeros(1), np.ones(1), *SURE)
    hazards.remove(0)
    hazards.remove(1)
    assert hazards.log_odds().shape == (1, len(CUTS))
    assert (hazards.log_odds()[0] < fresh[1]).all(), "the failure lowers the common level"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("level_variance", 0.0),
        ("skill_variance", 2.0),
        ("skill_variance", 0.6),
        ("spread", 0.0),
        ("turn", np.nan),
        ("level", 1e9),
        ("common", -1.0),
    ],
)
def test_beliefs_that_cannot_be_are_refused(name: str, value: float) -> None:
    hazards = Hazards(n_algorithms=2)
    state = hazards.state()
    state[name] = np.full_like(state[name], value)
    with pytest.raises(StateFileError):
        hazards.restore(state)


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


def _played(skills: Array, runs: int = 200) -> Hazards:
    """Return what is believed about algorithms of these skills after so many answers of each."""
    hazards, rng = Hazards(n_algorithms=len(skills)), np.random.default_rng(0)
    for _ in range(runs):
        for algorithm, skill in enumerate(skills.tolist()):
            answer = float(rng.random() < expit(skill - 1.0))
            hazards.learn(algorithm, 0, np.array([answer]), np.ones(1), *SURE)
    return hazards


def test_how_different_algorithms_are_is_learned() -> None:
    alike, unlike = _played(np.zeros(30)), _played(np.linspace(-2.0, 2.0, 30))
    for _ in range(20):
        alike.learn_spread()
        unlike.learn_spread()
    assert alike.spread < 0.2 < SKILL < unlike.spread
    assert np.abs(alike.skill).max() < 0.5 < np.abs(unlike.skill).max()
    alike.add()
    assert alike.skill_variance[-1] == alike.spread


def test_a_new_prior_leaves_what_the_runs_have_said() -> None:
    """A Gaussian posterior over its prior is the likelihood: the same before and after."""
    hazards = _played(np.array([-1.0, 0.0, 2.0]))
    before = hazards.skill / hazards.skill_variance, 1.0 / hazards.skill_variance - 1.0 / hazards.spread
    hazards.learn_spread()
    assert hazards.spread != SKILL
    after = hazards.skill / hazards.skill_variance, 1.0 / hazards.skill_variance - 1.0 / hazards.spread
    np.testing.assert_allclose(after, before, rtol=1e-9)
