"""The compiled planner against plain numpy, which computes all that the kernels skip."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tailcut.schedules.curves import CUTS, Curves
from tailcut.schedules.planner import Planner
from tailcut.types import Array
from tests.schedules.plain_planner import PlainCurves, PlainPlanner

CUTOFF = 50.0


class Case(NamedTuple):
    """An instance in progress: who has failed for how long, who may run, and what is left."""

    log_odds: Array
    hardness: Array | None
    weights: Array
    failed: Array
    barred: NDArray[np.bool_]
    left: float
    unsolved: float

    def planners(self) -> tuple[Planner, PlainPlanner]:
        cuts = CUTS * CUTOFF
        odds = self.log_odds if self.hardness is None else self.log_odds[:, :, None] + self.hardness
        return (
            Planner(Curves(odds, cuts=cuts), self.unsolved, self.barred),
            PlainPlanner(PlainCurves(self.log_odds, self.hardness, cuts=cuts), self.unsolved, self.barred),
        )


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(1, 41)), int(rng.integers(1, 41))
    spread = rng.uniform(0.2, 3.0)
    by_class = bool(rng.integers(2))
    shape = (n, len(CUTS), classes) if by_class else (n, len(CUTS))
    log_odds = rng.normal(rng.uniform(-5.0, 0.0), spread, shape)
    hardness = None if by_class else np.sort(rng.normal(0.0, 2.0, classes))
    failed = np.where(rng.random(n) < rng.choice([0.0, 0.3, 1.0]), rng.exponential(0.2 * CUTOFF, n), 0.0)
    failed = np.minimum(failed, CUTOFF)
    at_a_cut = rng.random(n) < 0.5
    failed = np.where(at_a_cut & (failed > 0.0), rng.choice(CUTS, n) * CUTOFF, failed)
    barred = rng.random(n) < rng.choice([0.0, 0.5])
    left = float(CUTOFF * rng.choice([1.0, 2.5, rng.random(), 0.01 * rng.random()]))
    # As likely as the failures make them: a class in which nobody could have failed counts for little.
    curves = PlainCurves(log_odds, hardness, cuts=CUTS * CUTOFF)
    logs = np.log(rng.dirichlet(np.ones(classes))) + np.log(curves.at(failed)[0]).sum(axis=0)
    weights = np.exp(logs - logs.max())
    penalty = float(rng.choice([0.0, 1.0, 9.0]))
    return Case(log_odds, hardness, weights / weights.sum(), failed, barred, left, penalty * CUTOFF)


def agree(case: Case, whole: bool) -> bool:
    """Check one plan; return whether there is any."""
    ours, plain = case.planners()
    mine = ours.plan(case.weights, case.failed, case.left, whole=whole)
    expected = plain.plan(case.weights, case.failed, case.left, whole=whole)
    candidates = plain.candidates(case.weights, case.failed, case.left)
    if mine is None or expected is None or candidates is None:
        assert mine is None
        assert expected is None
        return False
    np.testing.assert_allclose(mine.losses, expected.losses, rtol=1e-9)
    if (mine.algorithm, mine.budget) != (expected.algorithm, expected.budget):
        # Two plans may be the same one: after the last cut, a longer run and waiting are.
        times, losses = candidates
        assert mine.budget == case.left or not whole
        loss = losses[times.tolist().index(mine.budget), mine.algorithm]
        assert loss == pytest.approx(losses[-1].min() if whole else losses.min(), rel=1e-13)
    return True


@pytest.mark.parametrize("block", range(4))
def test_plans_are_those_of_the_plain_planner(block: int) -> None:
    cases = [random_case(seed) for seed in range(75 * block, 75 * (block + 1))]
    assert sum(agree(case, whole) for case in cases for whole in (False, True)) > 100


def test_what_follows_a_first_run_is_that_of_the_plain_planner() -> None:
    for seed in range(100):
        case = random_case(seed)
        ours, plain = case.planners()
        algorithm, budget = seed % len(case.barred), case.left * (seed % 5) / 4.0
        np.testing.assert_allclose(
            ours.followed(case.weights, case.left, algorithm, budget),
            plain.followed(case.weights, case.left, algorithm, budget),
            rtol=1e-9,
        )


def test_curves_are_those_of_plain_numpy() -> None:
    rng = np.random.default_rng(0)
    for seed in range(50):
        case = random_case(seed)
        ours, plain = (planner.curves for planner in case.planners())
        times = rng.uniform(0.0, 2.0 * CUTOFF, len(case.barred))
        for mine, expected in zip(
            (*ours.at(times), *ours.at_all(times), ours.survival),
            (*plain.at(times), *plain.at_all(times), plain.survival),
            strict=True,
        ):
            np.testing.assert_allclose(mine, expected, rtol=1e-11)


@pytest.mark.parametrize("extreme", [-2000.0, -400.0, 400.0, 2000.0])
def test_log_odds_beyond_the_range_of_numbers(extreme: float) -> None:
    log_odds, hardness = np.array([[extreme, 0.0], [-extreme, 0.5]]), np.array([-extreme, 0.0, 1.0])
    cuts = np.array([1.0, 3.0])
    plain = PlainCurves(log_odds, hardness, cuts=cuts)
    ours = Curves(log_odds[:, :, None] + hardness, cuts=cuts)
    np.testing.assert_allclose(ours.survival, plain.survival, rtol=1e-12)


@pytest.mark.parametrize("copies", [2, 40])
def test_of_equals_the_first_is_chosen(copies: int) -> None:
    log_odds = np.repeat(np.random.default_rng(1).normal(-2.0, 1.0, (1, len(CUTS))), copies, axis=0)
    curves = Curves(log_odds[:, :, None] + np.array([-2.0, 0.0, 3.0]), cuts=CUTS * CUTOFF)
    for barred in (0, 1):
        planner = Planner(curves, 9.0 * CUTOFF, np.arange(copies) < barred)
        plan = planner.plan(np.full(3, 1.0 / 3.0), np.zeros(copies), CUTOFF)
        assert plan is not None
        assert plan.algorithm == barred
        assert plan.losses[barred] == plan.losses[barred:].min()


def test_the_same_bits_every_time() -> None:
    case = random_case(3)
    plans = [case.planners()[0].plan(case.weights, case.failed, case.left) for _ in range(3)]
    first = plans[0]
    assert first is not None
    for plan in plans[1:]:
        assert plan is not None
        assert (plan.algorithm, plan.budget, plan.losses.tobytes()) == (
            first.algorithm,
            first.budget,
            first.losses.tobytes(),
        )


def test_shapes_that_do_not_fit_are_refused() -> None:
    curves = Curves(np.zeros((3, len(CUTS), 2)), cuts=CUTS)
    planner = Planner(curves, 9.0, np.zeros(3, dtype=bool))
    with pytest.raises(ValueError, match="expected 2 weights, and 3 algorithms"):
        planner.plan(np.ones(3), np.zeros(3), 1.0)
    with pytest.raises(ValueError, match="times of 2 algorithms for curves of 3"):
        curves.at(np.zeros(2))
    with pytest.raises(ValueError, match="9 cuts, 0 included, for 2 intervals"):
        Curves(np.zeros((3, 2, 2)), cuts=CUTS)
