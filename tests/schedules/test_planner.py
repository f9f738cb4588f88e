"""The expected loss of a schedule against simulation, and plans against enumeration."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from tailcut.schedules.curves import CUTS, Curves
from tailcut.schedules.planner import LONGER, NEARLY_ALL, Planner
from tailcut.types import Array
from tests.schedules.plain_planner import likelihood

CUTOFF = 100.0
UNSOLVED = 9.0 * CUTOFF
NOBODY = np.zeros(3, dtype=bool)
SHIFT = np.array([-2.0, 0.0, 3.0])
WEIGHTS = np.array([0.5, 0.3, 0.2])


def make_curves(seed: int) -> Curves:
    rng = np.random.default_rng(seed)
    return Curves(rng.normal(-2.0, 1.0, (3, len(CUTS), 1)) + SHIFT, cuts=CUTS * CUTOFF)


def sample_runtimes(curves: Curves, failed: Array, size: int, rng: np.random.Generator) -> Array:
    """Return runtimes of the three algorithms, given that each has failed so far; shape (size, 3)."""
    classes = rng.choice(3, size, p=WEIGHTS)
    times = np.empty((size, 3))
    for a, c in product(range(3), range(3)):
        rows = classes == c
        start = curves.at(failed)[0][a, c]
        level = rng.random(int(rows.sum())) * start
        # Invert the polygon: survival falls along the cuts, so both are turned round.
        cuts, survival = curves.cuts[::-1], curves.survival[a, ::-1, c]
        times[rows, a] = np.where(level < survival[0], np.inf, np.interp(level, survival, cuts))
    return times


def simulated(plan: list[tuple[int, float]], times: Array) -> tuple[float, float]:
    """Return the mean loss of runs carried out one after the other, and its standard error."""
    used = np.zeros(len(times))
    open_ones = np.ones(len(times), dtype=bool)
    for algorithm, budget in plan:
        runtime = times[:, algorithm]
        used += np.where(open_ones, np.minimum(runtime, budget), 0.0)
        open_ones &= runtime > budget
    losses = used + np.where(open_ones, UNSOLVED, 0.0)
    return float(losses.mean()), float(losses.std() / np.sqrt(len(losses)))


def exact(curves: Curves, plan: list[tuple[int, float]], failed: Array) -> float:
    """Return the expected loss of a plan by walking it, class by class."""
    total = 0.0
    for c, weight in enumerate(WEIGHTS):
        alive, tried = float(weight), failed.copy()
        for algorithm, budget in plan:
            before, area = (field[algorithm, c] for field in curves.at(tried))
            after, reached = (field[0, algorithm, c] for field in curves.at_all(np.array([budget])))
            if budget > tried[algorithm]:
                total += alive * (tried[algorithm] + (reached - area) / before)
                alive *= after / before
                tried[algorithm] = budget
            else:
                total += alive * budget
        total += alive * UNSOLVED
    return total


def all_plans(curves: Curves, failed: Array, left: float) -> dict[tuple[tuple[int, float], ...], float]:
    """Return every plan that the planner compares, with its loss."""
    cuts = curves.cuts[1:]
    found: dict[tuple[tuple[int, float], ...], float] = {}

    def keep(*runs: tuple[int, float]) -> None:
        found[runs] = exact(curves, list(runs), failed)

    for a in range(3):
        if left > failed[a] * LONGER:
            keep((a, left))
        for s in cuts[(cuts < NEARLY_ALL * left) & (cuts > failed[a] * LONGER)]:
            rest = left - s
            for b in set(range(3)) - {a}:
                keep((a, s), (b, rest))
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("failed", [[0.0, 0.0, 0.0], [3.0, 0.0, 10.0], [0.4, 30.0, 7.5]])
def test_the_plan_is_the_best_of_all_that_are_compared(seed: int, failed: list[float]) -> None:
    curves, tried = make_curves(seed), np.array(failed)
    left = CUTOFF - tried.sum()
    plan = Planner(curves, UNSOLVED, NOBODY).plan(WEIGHTS, tried, left)
    assert plan is not None
    losses = all_plans(curves, tried, left)
    best = min(losses, key=lambda runs: losses[runs])
    assert plan.losses.min() == pytest.approx(losses[best], rel=1e-9)
    assert (plan.algorithm, plan.budget) == pytest.approx(best[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_expected_loss_is_the_mean_of_simulated_ones(seed: int) -> None:
    curves, tried = make_curves(seed), np.array([1.0, 0.0, 0.0])
    left = CUTOFF - 1.0
    plan = Planner(curves, UNSOLVED, NOBODY).plan(WEIGHTS, tried, left)
    assert plan is not None
    losses = all_plans(curves, tried, left)
    best = min(losses, key=lambda runs: losses[runs])
    times = sample_runtimes(curves, tried, 200_000, np.random.default_rng(seed))
    mean, error = simulated(list(best), times)
    assert abs(plan.losses.min() - mean) < 4.0 * error


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_after_failures_weighs_the_classes_by_them(seed: int) -> None:
    """Bit for bit what Bayes' rule in numpy gives, also with more than eight classes."""
    rng = np.random.default_rng(seed)
    curves = Curves(rng.normal(-2.0, 1.0, (3, len(CUTS), 7 + 9 * seed)), cuts=CUTS * CUTOFF)
    classes, failed = rng.dirichlet(np.ones(7 + 9 * seed)), np.array([0.0, 3.0, 17.0])
    planner, joint = Planner(curves, UNSOLVED, NOBODY), classes * likelihood(curves, failed)
    found, expected = (
        planner.plan(classes, failed, 80.0, before_failures=True),
        planner.plan(joint / joint.sum(), failed, 80.0),
    )
    assert found is not None
    assert expected is not None
    assert found[:2] == expected[:2]
    np.testing.assert_array_equal(found.losses, expected.losses)


def test_only_those_offered_run() -> None:
    barred: NDArray[np.bool_] = np.array([True, False, True])
    plan = Planner(make_curves(0), UNSOLVED, barred).plan(WEIGHTS, np.zeros(3), CUTOFF)
    assert plan is not None
    assert plan.algorithm == 1
    assert plan.budget == CUTOFF, "with nobody to follow, it gets all the time"
    assert plan.losses[[0, 2]].tolist() == [CUTOFF + UNSOLVED] * 2


def test_nobody_repeats_what_has_failed() -> None:
    assert Planner(make_curves(0), UNSOLVED, NOBODY).plan(WEIGHTS, np.full(3, 50.0), 20.0) is None


def test_a_failure_makes_hard_classes_likelier_and_so_the_plan_stays_longer() -> None:
    """Two alike algorithms: in one class everything is solved early, in the other only late."""
    early = np.full((2, len(CUTS)), -8.0)
    early[:, -1] = 2.0
    curves = Curves(early[:, :, None] + np.array([0.0, 9.0]), cuts=CUTS * CUTOFF)
    planner = Planner(curves, UNSOLVED, np.zeros(2, dtype=bool))
    plan = planner.plan(np.array([1.0, 0.0]), np.zeros(2), CUTOFF)
    assert plan is not None
    assert plan.budget == CUTOFF
