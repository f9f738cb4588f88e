"""Who joins a race, against simulation; that budgets count; and that the set is complementary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.errors import InputError
from tailcut.policies.pending import PendingDecisions, PendingRun
from tailcut.schedules import HazardSchedule
from tailcut.schedules.curves import CUTS, Curves
from tailcut.schedules.planner import Planner
from tailcut.schedules.race import Lane, Race
from tailcut.types import Array, Request

CUTOFF = 60.0
UNSOLVED = 9.0 * CUTOFF


def _curves(seed: int, n_algorithms: int = 4) -> Curves:
    rng = np.random.default_rng(seed)
    return Curves(rng.normal(-1.0, 1.0, size=(n_algorithms, len(CUTS), 3)), cuts=CUTOFF * CUTS)


def _planner(curves: Curves, offered: list[int]) -> Planner:
    return Planner(curves, UNSOLVED, ~np.isin(np.arange(curves.n_algorithms), offered))


def _drawn(
    curves: Curves, algorithm: int, known: float, m: int, size: int, rng: np.random.Generator
) -> Array:
    """Return runtimes in one class, given that the algorithm fails for `known` seconds."""
    falling = curves.survival[algorithm, :, m]
    luck = rng.random(size) * float(np.interp(known, curves.cuts, falling))
    found = np.interp(luck, falling[::-1], curves.cuts[::-1])
    return np.where(luck < falling[-1], np.inf, found)


def test_what_the_cores_leave_unsolved_by_counting() -> None:
    """Runs are drawn from the curves, class by class; those that are open at a time are counted."""
    curves, rng = _curves(3), np.random.default_rng(3)
    failed = np.array([0.0, 0.0, 5.0, 7.0])
    at_it = [Lane(1, 0.0, np.inf), Lane(3, -7.0, 13.0)]
    race = Race(_planner(curves, [0, 2]), np.full(3, 1 / 3), failed, running=at_it, left=40.0)
    lanes = [race._busy[0], race._busy[1]._replace(following=2)]
    found = race._unsolved_by(lanes)
    assert lanes[1].stop == 13.0
    for m in range(3):
        first, second, third = (
            _drawn(curves, algorithm, known, m, 200_000, rng) - started
            for algorithm, known, started in ((1, 0.0, 0.0), (3, 7.0, 7.0), (2, 5.0, -13.0))
        )
        ends = np.minimum(first, np.where(second <= 13.0, second, third))
        for t, row in zip(race._grid.tolist(), found, strict=True):
            assert row[m] == pytest.approx((ends > t).mean(), abs=0.005)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_run_for_the_rest_by_drawing(seed: int) -> None:
    """The loss of each, by simulation with the same luck: no other is clearly better than the one found."""
    curves, rng = _curves(seed), np.random.default_rng(seed)
    weights, failed = rng.dirichlet(np.ones(3)), np.array([0.0, 3.0, 0.0, 0.0])
    at_it = [Lane(0, 0.0, np.inf)]
    race = Race(_planner(curves, [1, 2, 3]), weights, failed, running=at_it, left=50.0)
    lane = race._followed(Lane(3, 0.0, float(curves.cuts[6])), race._busy)
    losses = {}
    for following in (1, 2):
        total = 0.0
        for m, weight in enumerate(weights.tolist()):
            own, then = (
                _drawn(curves, 3, 0.0, m, 100_000, rng),
                _drawn(curves, following, failed[following], m, 100_000, rng),
            )
            other = _drawn(curves, 0, 0.0, m, 100_000, rng)
            ends = np.minimum(other, np.where(own <= lane.stop, own, lane.stop + then))
            total += weight * float(np.where(ends <= 50.0, ends, 50.0 + UNSOLVED).mean())
        losses[following] = total
    assert lane.following in losses
    assert losses[lane.following] <= min(losses.values()) + 0.01 * UNSOLVED


def test_a_run_that_ends_soon_is_no_reason_to_leave_its_instances_alone() -> None:
    """a solves most, b the same, c others: while a runs to the end, c joins it; if a ends soon, b does."""
    odds = np.log(np.array([[[4.0, 0.01]], [[3.0, 0.01]], [[0.01, 1.0]]]))
    curves, classes, failed = Curves(odds, cuts=np.array([CUTOFF])), np.array([0.6, 0.4]), np.zeros(3)

    def joins(budget: float) -> int | None:
        at_it = [Lane(0, 0.0, budget)]
        race = Race(_planner(curves, [1, 2]), classes, failed, running=at_it, left=CUTOFF)
        found = race.next_run(free=1)
        return None if found is None else found[0]

    assert (joins(CUTOFF), joins(1.0)) == (2, 1)


def test_with_a_core_for_every_algorithm_each_runs_to_the_end() -> None:
    """Planned alone, the first would be stopped early, to leave time for the others."""
    selector = Selector("tailcut_schedule", algorithms=["a", "b", "c", "d"], cutoff=60)
    selector.observe(selector.select([1.0]), censored_at=1.0)
    (alone,) = selector.race([1.0], k=1, instance="alone")
    assert alone.budget < 60.0
    together = selector.race([1.0], k=4, instance="together")
    assert [one.budget for one in together] == [60.0] * 4
    assert len({one.algorithm for one in together}) == 4


def test_no_core_idles_while_an_algorithm_may_run() -> None:
    selector = Selector("tailcut_schedule", algorithms=["a", "b", "c"], cutoff=60)
    selector.observe(selector.select([1.0]), censored_at=1.0)
    begun = selector.race([1.0], k=2, instance="i1")
    running = {one.algorithm: 10.0 for one in begun}
    (third,) = selector.race([1.0], k=1, instance="i1", spent=10.0, running=running)
    assert third.algorithm not in running


def test_a_run_after_failures_is_learned_given_them() -> None:
    """The instance has turned out to be hard: that a second one fails, too, says less about it."""

    def skill_of_b(failed: dict[str, float] | None) -> float:
        selector = Selector("tailcut_schedule", algorithms=["a", "b"], cutoff=60)
        selector.observe(selector.select([1.0], among=["a"]), censored_at=1.0)
        (decision,) = selector.race([0.5], k=1, among=["b"], spent=30.0, failed=failed, instance="i1")
        copy = Selector.from_bytes(selector.to_bytes())
        copy.observe(decision.id, censored_at=decision.budget)
        assert isinstance(copy._policy, HazardSchedule)
        return float(copy._policy.hazards.skill[1])

    assert skill_of_b(None) < skill_of_b({"a": 30.0}) < 0.0


def test_the_selector_knows_the_budgets_of_its_running_ones() -> None:
    """They need not be passed: the decisions wait for their outcomes."""
    waiting = PendingDecisions(limit=10)
    for name, instance, budget in (("a", "i1", 50.0), ("a", "i2", 5.0), ("b", "i1", 20.0), ("a", "i1", 40.0)):
        waiting.enter(PendingRun(name, instance, 60.0, np.zeros(0), budget=budget))
    assert waiting.budgets(["a", "b", "c"], "i1") == {"a": 40.0, "b": 20.0}
    assert waiting.budgets([], "i1") == {}


def test_joining_is_told_budgets_and_free_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = Selector("tailcut_schedule", algorithms=["a", "b", "c"], cutoff=60)
    selector.observe(selector.select([1.0]), censored_at=1.0)
    told = []
    join = HazardSchedule.join

    def noted(self: HazardSchedule, *given: Any, budgets: Any, free: int) -> Any:
        told.append((budgets, free))
        return join(self, *given, budgets=budgets, free=free)

    monkeypatch.setattr(HazardSchedule, "join", noted)
    first, second = selector.race([1.0], k=2, instance="i1")
    number = "abc".index(first.algorithm)
    assert told == [({}, 2), ({number: first.budget}, 1)]
    assert first.algorithm != second.algorithm


def test_a_race_on_one_core_is_the_plan_for_one_core() -> None:
    selector = Selector("tailcut_schedule", algorithms=["a", "b", "c"], cutoff=60)
    rng = np.random.default_rng(2)
    for _ in range(30):
        decision = selector.select(rng.normal(size=2))
        selector.observe(decision, censored_at=min(decision.budget, float(rng.exponential(20.0))))
    expected = selector.decide_frozen(Request([0.1, 0.2]))
    assert expected is not None
    (alone,) = selector.race([0.1, 0.2], k=1)
    assert alone.algorithm == expected.algorithm
    assert alone.budget == pytest.approx(expected.budget)


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


def test_a_request_has_failures_only_where_there_are_some() -> None:
    """So those written before there was such a field are read as ever."""
    plain, raced = Request([1.0], instance="i1"), Request([1.0], instance="i1", failed={"a": 3})
    assert "failed" not in plain.to_dict()
    assert raced.to_dict()["failed"] == {"a": 3.0}
    assert [Request.from_dict(one.to_dict()) for one in (plain, raced)] == [plain, raced]
    with pytest.raises(InputError, match="failed"):
        Request(failed={"a": float("nan")})
