"""Each switch in both positions, on numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest

from tailcut.replication import PAPER, PUBLISHED, ExperimentData, Switches
from tailcut.replication.experiment import (
    LinUCB,
    RidgeBandit,
    ThompsonBandit,
    UnitVectors,
    log_runtime,
    one_turned_back,
)

PHI_HALF, PHI_1 = 0.691462461274013, 0.841344746068543  # of the standard normal distribution
TURNED = one_turned_back()


def table(cutoff: float, k: int = 3, d: int = 1) -> ExperimentData:
    return ExperimentData(cutoff, np.zeros((1, d)), np.zeros((1, k)), np.zeros(1))


def linucb(
    cutoff: float, switches: Switches, *, rev: bool = False, rand: bool = False, bc: bool = True
) -> LinUCB:
    rng = np.random.RandomState(7)
    return LinUCB(table(cutoff), rng, corrected=bc, randomised=rand, revisited=rev, switches=switches)


def thompson(cutoff: float, switches: Switches, *, rev: bool = False, bj: bool = False) -> ThompsonBandit:
    rng = np.random.RandomState(7)
    return ThompsonBandit(table(cutoff), rng, buckley_james=bj, revisited=rev, switches=switches)


def one_score(policy: RidgeBandit, mean: float, variance: float) -> float:
    return float(policy.scores(np.array([0]), np.array([mean]), np.array([variance]))[0])


def test_every_switch_has_two_positions() -> None:
    published, paper = asdict(PUBLISHED), asdict(PAPER)
    assert [name for name in published if published[name] == paper[name]] == []
    assert list(TURNED) == list(published)


@pytest.mark.parametrize(
    ("switches", "runs"), [(PUBLISHED, [0, 0, 1]), (TURNED["first_outcome_goes_to_last"], [1, 0, 0])]
)
def test_the_first_outcome(switches: Switches, runs: list[int]) -> None:
    policy = linucb(100.0, switches)
    first = policy.select(np.ones(1))
    policy.learn(first, np.ones(1), 5.0)
    assert first == 0
    assert policy.runs.tolist() == runs


@pytest.mark.parametrize(("switches", "second"), [(PUBLISHED, 2), (TURNED["untried_are_forced"], 0)])
def test_a_score_below_that_of_the_untried(switches: Switches, second: int) -> None:
    """After a timeout: o = -8.4, p = 17.6, so the loss is about -exp(67.6) Phi(-8.2) / Phi(-0.8) < -1e13."""
    policy = linucb(1e4, switches, rev=True)
    policy.learn(policy.select(np.ones(1)), np.ones(1), 1e5)
    assert policy.select(np.ones(1)) == second


@pytest.mark.parametrize(("switches", "mean"), [(PUBLISHED, 3.0), (TURNED["means_of_observed_only"], 2.5)])
def test_means_after_4_missing_1(switches: Switches, mean: float) -> None:
    vectors = UnitVectors(1, switches, guard_zero=False)
    for value in (4.0, math.nan, 1.0):
        vectors.update(np.array([value]))
    assert vectors.means.tolist() == [mean]


def test_missing_values_take_the_running_mean_which_starts_at_zero() -> None:
    vectors = UnitVectors(2, PUBLISHED, guard_zero=False)
    gap = np.array([3.0, math.nan])
    assert vectors.vector(gap).tolist() == [1.0, 0.0]
    vectors.update(np.array([1.0, 4.0]))
    assert vectors.vector(gap).tolist() == [0.6, 0.8]


def test_a_zero_vector() -> None:
    zeros = np.zeros(2)
    assert np.isnan(UnitVectors(2, PUBLISHED, guard_zero=False).vector(zeros)).all()
    assert UnitVectors(2, TURNED["zero_vector_is_nan"], guard_zero=False).vector(zeros).tolist() == [0.0, 0.0]
    assert UnitVectors(2, PUBLISHED, guard_zero=True).vector(zeros).tolist() == [1.0, 0.0]


def test_after_a_zero_vector_linucb_never_leaves_the_algorithm_that_ran() -> None:
    policy = linucb(100.0, PUBLISHED, bc=False)
    policy.learn(0, np.zeros(1), 5.0)  # booked on the last
    later = []
    for _ in range(5):
        later.append(policy.select(np.ones(1)))
        policy.learn(later[-1], np.ones(1), 0.001)
    assert later == [2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("switches", "timeouts"), [(PUBLISHED, 1), (TURNED["reaching_cutoff_is_censored"], 0)]
)
def test_a_runtime_of_exactly_the_cutoff(switches: Switches, timeouts: int) -> None:
    policy = linucb(100.0, switches)
    policy.learn(0, np.ones(1), 100.0)
    assert policy.timeouts.sum() == timeouts


@pytest.mark.parametrize(
    ("switches", "bound"), [(PUBLISHED, 5.0 - 12.0), (TURNED["width_adds_one"], 5.0 - 14.0)]
)
def test_the_corrected_width(switches: Switches, bound: float) -> None:
    """log C = 1, nine timeouts, w = 2: 2 * 1 * 3 * 2 = 12, with the one 14."""
    policy = linucb(math.e, switches)
    policy.timeouts[0] = 9
    assert one_score(policy, 5.0, 4.0) == pytest.approx(bound)


@pytest.mark.parametrize(("switches", "scale"), [(PUBLISHED, 0.25), (TURNED["rand_scale"], 0.5)])
def test_the_random_factor(switches: Switches, scale: float) -> None:
    draw = abs(np.random.RandomState(7).standard_normal())
    policy = linucb(100.0, switches, rand=True, bc=False)
    assert one_score(policy, 5.0, 4.0) == pytest.approx(5.0 - 2.0 * draw * scale)


@pytest.mark.parametrize(
    ("switches", "penalty"), [(PUBLISHED, math.log(1000.0)), (TURNED["penalty_is_log"], 1000.0)]
)
def test_the_penalty(switches: Switches, penalty: float) -> None:
    """Width 0, mu = log C, sigma = 10: half a penalty plus half of E_C = C exp(50) Phi(-10) / Phi(0)."""
    solved_mean = 100.0 * math.exp(50.0) * 0.5 * math.erfc(10.0 / math.sqrt(2.0)) / 0.5
    score = one_score(linucb(100.0, switches, rev=True), math.log(100.0), 4.0)
    assert score == pytest.approx(0.5 * penalty + 0.5 * solved_mean)


@pytest.mark.parametrize(
    ("switches", "in_time", "shifted"),
    [
        (PUBLISHED, PHI_HALF, 0.5),
        (TURNED["tail_uses_variance"], PHI_1, 0.5),
        (TURNED["half_shift"], PHI_HALF, 1.0 - PHI_1),
    ],
)
def test_thompson_loss(switches: Switches, in_time: float, shifted: float) -> None:
    """log C = 2, eta = 0, variance 4: in time Phi(2/4) or Phi(2/2); numerator Phi(0/2) or Phi(-2/2)."""
    solved_mean = math.exp(2.0) * shifted / PHI_1
    expected = in_time * solved_mean + (1.0 - in_time) * (2.0 + math.log(10.0))
    policy = thompson(math.exp(2.0), switches, rev=True)
    assert policy.expected_loss(np.array([0.0]), np.array([4.0])) == pytest.approx([expected])


def test_buckley_james_gives_up_or_does_not() -> None:
    """Before any run of it an algorithm has mean 0 and deviation sqrt(2): log C = 9.2 is out of reach."""
    x = np.ones(1)
    assert thompson(1e4, PUBLISHED, bj=True).imputed(0, x) == math.log(1e4)
    drawn = thompson(1e4, TURNED["bj_gives_up"], bj=True).imputed(0, x)
    assert drawn is not None
    assert math.log(1e4) < drawn < math.log(1e4) + 2.0


def test_buckley_james_draws_above_the_cutoff() -> None:
    for switches in (PUBLISHED, TURNED["bj_gives_up"]):
        policy = thompson(2.0, switches, bj=True)
        draws = np.array([policy.imputed(0, np.ones(1)) for _ in range(2000)], dtype=float)
        assert draws.min() >= math.log(2.0)
        # mean of N(0, 2) above log 2: sqrt(2) phi(z) / (1 - Phi(z)), z = log 2 / sqrt 2
        z = math.log(2.0) / math.sqrt(2.0)
        mean = (
            math.sqrt(2.0)
            * math.exp(-z * z / 2)
            / math.sqrt(2 * math.pi)
            / (0.5 * math.erfc(z / math.sqrt(2.0)))
        )
        assert draws.mean() == pytest.approx(mean, abs=0.1)


def test_what_is_learned() -> None:
    x = np.ones(1)
    assert log_runtime(0.0) == math.log(1e-4)
    assert linucb(100.0, PUBLISHED).imputed(0, x) == math.log(100.0)
    assert linucb(100.0, PUBLISHED, bc=False).imputed(0, x) is None
    assert thompson(100.0, PUBLISHED).imputed(0, x) == math.log(100.0)
