"""Who joins a race, against brute force over a fine grid of times; and that the set is complementary."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut import Selector
from tailcut.schedules.curves import CUTS, Curves
from tailcut.schedules.race import left_unsolved


def test_what_is_left_unsolved_by_counting() -> None:
    """Runs are drawn from the curves, class by class; those that fail are counted."""
    rng = np.random.default_rng(3)
    curves = Curves(rng.normal(-1.0, 1.0, size=(4, len(CUTS), 3)), cuts=60.0 * CUTS)
    running = {1: 0.0, 3: 7.0}
    found = left_unsolved(curves, running, 40.0)
    for m in range(3):
        alive = np.ones(200_000, dtype=bool)
        for algorithm, elapsed in running.items():
            knots = curves.survival[algorithm, :, m]
            start = np.interp(elapsed, curves.cuts, knots)
            luck = rng.random(len(alive)) * start  # survival at the moment of the solution, beyond now
            alive &= luck <= np.interp(elapsed + 40.0, curves.cuts, knots)
        assert found[m] == pytest.approx(alive.mean(), abs=0.005)


def test_those_that_complement_each_other_run_together() -> None:
    """Of two kinds of instances a and b solve one, c the other; nothing tells the kinds apart."""
    selector = Selector("tailcut_schedule", algorithms=["a", "b", "c"], cutoff=60)
    rng = np.random.default_rng(1)
    sets = []
    for _ in range(150):
        first_kind = bool(rng.random() < 0.6)
        times = {"a": 2.0, "b": 2.5, "c": 90.0} if first_kind else {"a": 90.0, "b": 90.0, "c": 3.0}
        decisions = selector.race(None, k=2)
        wall = min(60.0, *(times[one.algorithm] for one in decisions))
        for one in decisions:
            if times[one.algorithm] <= min(wall, one.budget):
                selector.observe(one, runtime=times[one.algorithm])
            else:
                selector.observe(one, censored_at=min(wall, one.budget))
        sets.append({one.algorithm for one in decisions})
    assert sum("c" in one for one in sets[-50:]) >= 45


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule", "thompson", "round_robin", "epsilon_greedy"])
def test_runs_are_distinct_and_every_selector_can_race(name: str) -> None:
    selector = Selector(name, algorithms=["a", "b", "c", "d"], cutoff=60)
    for number in range(12):
        decisions = selector.race([float(number), 1.0], k=3, instance=f"i{number}")
        assert len({one.algorithm for one in decisions}) == 3
        for one in decisions:
            selector.observe(one, runtime=1.0)
    more = selector.race([0.5, 1.0], k=3, spent=5.0, running={"a": 5.0}, failed={"b": 60.0})
    assert {one.algorithm for one in more} == {"c", "d"}
    assert all(one.budget <= 55.0 for one in more)
    assert selector.race([0.5, 1.0], k=3, running=dict.fromkeys("abcd", 1.0)) == []


def test_a_race_among_some() -> None:
    selector = Selector("tailcut_schedule", algorithms=["a", "b", "c"], cutoff=60)
    assert {one.algorithm for one in selector.race([1.0], k=3, among=["c", "a"])} == {"a", "c"}
