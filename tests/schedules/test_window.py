"""A schedule with a window: its trees know the latest instances, and everything else fades."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut import Decision, Outcome, Selector
from tailcut.schedules.curves import CUTS
from tailcut.schedules.hazards import Hardness, Hazards
from tailcut.schedules.survival_forest import SurvivalForest

CLASSES = Hardness().frequencies()


def _stirred() -> Hazards:
    rng = np.random.default_rng(0)
    hazards = Hazards(n_algorithms=3)
    for _ in range(50):
        count = int(rng.integers(1, len(CUTS) + 1))
        solved = (rng.random(count) < 0.3).astype(float)
        hazards.learn(int(rng.integers(3)), 0, solved, np.ones(count), np.zeros((1, len(CUTS))), np.ones(1))
    return hazards


def test_hazards_that_forget_everything_are_as_at_first() -> None:
    hazards, fresh = _stirred(), Hazards(n_algorithms=3)
    hazards.forget(1.0)
    for name in Hazards.STATE:
        np.testing.assert_allclose(getattr(hazards, name), getattr(fresh, name), atol=1e-12)


def test_hazards_lose_a_share_of_their_information() -> None:
    hazards, before = _stirred(), _stirred()
    hazards.forget(0.25)
    prior = 1.0 / before.spread
    np.testing.assert_allclose(
        1.0 / hazards.skill_variance - prior, 0.75 * (1.0 / before.skill_variance - prior)
    )
    moved = hazards.skill / hazards.skill_variance
    np.testing.assert_allclose(moved, 0.75 * before.skill / before.skill_variance)
    unchanged = _stirred()
    unchanged.forget(0.0)
    np.testing.assert_allclose(unchanged.log_odds(), before.log_odds())
    hazards.restored()


def test_the_classes_of_hardness_fade_to_what_was_expected_at_first() -> None:
    hardness = Hardness()
    first = hardness.frequencies()
    for _ in range(30):
        hardness.learn(None, np.eye(len(first))[0])
    assert hardness.frequencies()[0] > 0.5
    hardness.forget(1.0)
    np.testing.assert_allclose(hardness.frequencies(), first)


def _forest(size: int) -> SurvivalForest:
    return SurvivalForest(size=size, n_algorithms=2, n_features=1, hardness=Hardness(), seed=0, latest=True)


def test_the_latest_instances_are_kept() -> None:
    forest = _forest(size=70)
    for number in range(200):
        forest.put(np.array([float(number)]), 0, 0.5, True, CLASSES, first=True)
    assert sorted(forest.table().x[:, 0].tolist()) == [float(number) for number in range(130, 200)]


def test_the_same_features_again_are_a_new_instance() -> None:
    forest, x = _forest(size=5), np.array([1.0])
    forest.put(x, 0, 0.5, True, CLASSES, first=True)
    forest.put(x, 1, 0.2, False, CLASSES, first=True)
    runs = forest.table()
    assert runs.end.tolist() == [[0.0, 0.2]]
    assert not runs.solved.any()


def test_trees_are_grown_again_when_a_quarter_of_the_window_is_new() -> None:
    forest, due = _forest(size=40), []
    for number in range(120):
        forest.put(np.array([float(number)]), 0, 0.5, True, CLASSES, first=True)
        if forest.due:
            due.append(forest.seen)
            forest.grow(np.zeros((2, len(CUTS))), CUTS)
    assert np.diff(due)[-4:].tolist() == [10, 10, 10, 10]


def test_rows_that_hold_newer_instances_than_the_trees_know_are_like_nobody() -> None:
    forest, rng = _forest(size=40), np.random.default_rng(0)
    for _ in range(40):
        forest.put(rng.normal(size=1), 0, 0.5, True, CLASSES, first=True)
    forest.grow(np.zeros((2, len(CUTS))), CUTS)
    everyone = set(forest.near(np.zeros(1)).rows.tolist())
    for _ in range(5):
        forest.put(rng.normal(size=1), 0, 0.5, True, CLASSES, first=True)
    assert everyone & {0, 1, 2, 3, 4}
    assert not set(forest.near(np.zeros(1)).rows.tolist()) & {0, 1, 2, 3, 4}


def _seconds_after_a_change(selector: Selector) -> float:
    """Return the mean time per instance after the only algorithm that solves anything has changed."""
    rng, total = np.random.default_rng(0), 0.0
    for step in range(500):
        decision: Decision | None = selector.select(rng.normal(size=3))
        while decision is not None:
            takes = (
                float(rng.uniform(1.0, 5.0)) if decision.algorithm == ("a" if step < 250 else "b") else np.inf
            )
            total += min(takes, decision.budget) if step >= 250 else 0.0
            if takes <= decision.budget:
                selector.observe(decision, runtime=takes)
            else:
                selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
    return total / 250


def test_with_a_window_it_follows_a_change() -> None:
    algorithms = ["a", "b", "c", "d"]
    never, forgets = (
        _seconds_after_a_change(Selector("tailcut_schedule", algorithms, 100.0, window=window))
        for window in (0, 60)
    )
    assert forgets < 0.7 * never


@pytest.mark.parametrize("steps", [10, 90])
def test_restored_it_continues_bit_for_bit(steps: int) -> None:
    rng = np.random.default_rng(1)
    selector = Selector("tailcut_schedule", ["a", "b", "c"], 10.0, window=30)

    def serve(one: Selector, x: list[float], takes: float) -> tuple[str, float]:
        decision = one.select(x)
        solved = takes <= decision.budget
        one.observe(decision, Outcome.solved(takes) if solved else Outcome.censored(decision.budget))
        return decision.algorithm, decision.budget

    stream = [(rng.normal(size=2).round(1).tolist(), float(rng.exponential(5.0))) for _ in range(2 * steps)]
    for x, takes in stream[:steps]:
        serve(selector, x, takes)
    copy = Selector.from_bytes(selector.to_bytes())
    for x, takes in stream[steps:]:
        assert serve(selector, x, takes) == serve(copy, x, takes)
    assert selector.to_bytes() == copy.to_bytes()
