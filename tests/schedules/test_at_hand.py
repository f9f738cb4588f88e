"""What was expected of an instance stays until the next one begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailcut import Decision, Selector
from tailcut.errors import StateFileError
from tailcut.scenarios.synthetic import generate
from tailcut.schedules import HazardSchedule
from tailcut.schedules.curves import IN_FLIGHT, InstancesInFlight
from tailcut.state import pack, unpack
from tailcut.types import Array

CUTOFF = 100.0


def _stirred(seed: int = 0) -> Selector:
    """Return a schedule that has trees."""
    rng = np.random.default_rng(seed)
    selector = Selector("tailcut_schedule", ["a", "b", "c", "d"], CUTOFF)
    for _ in range(40):
        decision: Decision | None = selector.select(rng.normal(size=3))
        while decision is not None:
            takes = float(np.exp(rng.normal(3.0, 2.0)))
            if takes <= decision.budget:
                selector.observe(decision, runtime=takes)
            else:
                selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
    return selector


def _schedule(selector: Selector) -> HazardSchedule:
    assert isinstance(selector._policy, HazardSchedule)
    return selector._policy


def _fail_all(selector: Selector, decision: Decision | None) -> list[tuple[str, float]]:
    runs = []
    while decision is not None:
        runs.append((decision.algorithm, decision.budget))
        selector.observe(decision, censored_at=decision.budget)
        decision = selector.proceed(decision)
    return runs


def test_a_failure_changes_the_classes_of_its_instance_and_the_hazards_of_the_next() -> None:
    selector, features = _stirred(), np.array([0.3, -0.2, 1.0])
    decision = selector.select(features)
    schedule = _schedule(selector)
    begun = schedule.begun.instances[decision.id]
    x, odds = begun.x, begun.view.odds.copy()
    selector.observe(decision, censored_at=decision.budget)
    assert schedule.begun.instances[decision.id] is begun
    np.testing.assert_array_equal(begun.view.odds, odds)
    assert (schedule.view(x).odds != odds).any()  # of an instance that would begin now
    _fail_all(selector, selector.proceed(decision))
    second = selector.select(features)  # the same features again are another instance
    again = schedule.begun.instances[second.id].view
    assert (again.odds[..., :1] != odds[..., :1]).any()


def test_a_selector_saved_between_two_runs_continues_the_instance_bit_for_bit() -> None:
    selector = _stirred()
    decision = selector.select([0.3, -0.2, 1.0])
    selector.observe(decision, censored_at=decision.budget)
    copy = Selector.from_bytes(selector.to_bytes())
    assert _fail_all(selector, selector.proceed(decision)) == _fail_all(copy, copy.proceed(decision.id))


def test_looking_at_other_instances_changes_nothing() -> None:
    selector, curious = _stirred(), _stirred()
    runs = []
    for one in (selector, curious):
        decision = one.select([0.3, -0.2, 1.0])
        one.observe(decision, censored_at=decision.budget)
        if one is curious:
            one.consider([9.0, 9.0, 9.0])
            one.explain(decision)
        runs.append(_fail_all(one, one.proceed(decision)))
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("odds", "classes", "message"),
    [
        (np.zeros((2, 3, 7)), np.full(7, 1 / 7), "intervals or classes"),
        (np.zeros((2, 2, 3)), np.full(3, 1 / 3), "intervals or classes"),
        (np.full((2, 2, 7), np.inf), np.full(7, 1 / 7), "finite"),
        (np.zeros((2, 2, 7)), np.full(7, -1.0), "at least 0"),
    ],
)
def test_what_cannot_be_expected_is_refused(odds: Array, classes: Array, message: str) -> None:
    begun = InstancesInFlight(cuts=np.array([1.0, 2.0]), n_hardness=7)
    fine = np.zeros((2, 2, len(classes)))
    for both in ({"odds": odds, "drawn_odds": fine}, {"odds": fine, "drawn_odds": odds}):
        with pytest.raises(StateFileError, match=message):
            begun.restore({"x": np.zeros(1), "classes": classes, **both})


def test_all_runs_on_an_instance_are_planned_with_the_same_draw() -> None:
    selector, features = _stirred(), np.array([0.3, -0.2, 1.0])
    decision = selector.select(features)
    begun = _schedule(selector).begun.instances[decision.id]
    drawn = begun.drawn
    assert (begun.view.odds[..., 0] != drawn.odds[..., 0]).all()
    np.testing.assert_array_equal(begun.view.classes, drawn.classes)
    selector.observe(decision, censored_at=decision.budget)
    selector.proceed(decision)
    assert _schedule(selector).begun.instances[decision.id].drawn is drawn
    again = _schedule(selector).begun.instances[selector.select(features).id].drawn
    assert (again.odds[..., 0] != drawn.odds[..., 0]).any()


def test_what_is_considered_is_not_drawn() -> None:
    selector = _stirred()
    selector.select([0.3, -0.2, 1.0])
    scores = [selector.consider([0.3, -0.2, 1.0]).to_dict() for _ in range(2)]
    other = Selector.from_bytes(selector.to_bytes())
    other.select([0.3, -0.2, 1.0])  # another draw, nothing learned
    assert scores[0] == scores[1] == other.consider([0.3, -0.2, 1.0]).to_dict()


def test_of_other_algorithms_nothing_is_expected() -> None:
    selector = _stirred()
    selector.add_algorithm("e")
    schedule = _schedule(selector)
    assert not schedule.begun.instances


def _several(selector: Selector, count: int) -> list[Decision]:
    return [selector.select([0.1 * number, -0.2, 1.0]) for number in range(count)]


def test_with_several_in_flight_each_keeps_its_plan() -> None:
    """Whatever begins or is learned in between, and whether the selector is saved in between or not."""
    selector = _stirred()
    decisions = _several(selector, 5)
    schedule = _schedule(selector)
    drawn = {one.id: schedule.begun.instances[one.id].drawn.odds.copy() for one in decisions}
    copy = Selector.from_bytes(selector.to_bytes())
    for decision in decisions:
        for one in (selector, copy):
            one.observe(decision, censored_at=decision.budget)
    assert selector.to_bytes() == copy.to_bytes()
    for decision in reversed(decisions):
        if selector.proceed(decision) is not None:
            kept = schedule.begun.instances[decision.id].drawn.odds
            np.testing.assert_array_equal(kept, drawn[decision.id])
        copy.proceed(decision.id)
    assert selector.to_bytes() == copy.to_bytes()


def test_continuations_of_interleaved_instances_use_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[bool] = []
    following = HazardSchedule._next

    def noted(self: HazardSchedule, *given: Any, **more: Any) -> Any:
        planned.append(given[3] is not None)
        return following(self, *given, **more)

    selector = _stirred()
    monkeypatch.setattr(HazardSchedule, "_next", noted)
    for _ in range(20):
        two: list[Decision | None] = list(_several(selector, 2))
        while any(two):
            for place, decision in enumerate(two):
                if decision is not None:
                    selector.observe(decision, censored_at=decision.budget)
                    two[place] = selector.proceed(decision)
    assert len(planned) > 80
    assert all(planned)
    assert not _schedule(selector).begun.instances  # those that are over are let go of


def test_of_abandoned_instances_only_the_latest_are_kept() -> None:
    selector = _stirred()
    decisions = _several(selector, IN_FLIGHT + 10)
    assert list(_schedule(selector).begun.instances) == [one.id for one in decisions[10:]]
    first = decisions[0]
    selector.observe(first, censored_at=first.budget)
    selector.proceed(first)
    assert len(_schedule(Selector.from_bytes(selector.to_bytes())).begun.instances) == IN_FLIGHT


def test_the_instance_at_hand_of_version_0_2_is_continued() -> None:
    selector = _stirred()
    decision = selector.select([0.3, -0.2, 1.0])
    selector.observe(decision, censored_at=decision.budget)
    state = unpack(selector.to_bytes())
    (kept,) = state["policy"]["at_hand"]["kept"]
    state["policy"]["at_hand"] = {name: kept[name] for name in ("x", "odds", "drawn_odds", "classes")}
    for runs in ("waiting", "unsolved"):
        for column in ("begun", "alone"):
            del state["pending"][runs][column]
    old = Selector.from_bytes(pack(state))
    assert _fail_all(selector, selector.proceed(decision)) == _fail_all(old, old.proceed(decision.id))


def test_a_dropped_instance_does_not_enter_a_full_memory_by_its_later_runs() -> None:
    rng = np.random.default_rng(0)
    selector = Selector("tailcut_schedule", ["a", "b", "c", "d"], CUTOFF, memory=50)
    for number in range(300):
        features = rng.normal(size=3)
        if number % 3:
            _fail_all(selector, selector.select(features))
        else:
            for decision in selector.race(features, k=3):
                selector.observe(decision, censored_at=CUTOFF)
    forest = _schedule(selector).forest
    assert (forest.seen, forest.kept) == (300, 50)


def test_recorded_instances_enter_a_full_memory_once() -> None:
    scenario = generate(n_instances=200, n_algorithms=4, n_features=3, seed=1)
    selector = Selector("tailcut_schedule", scenario.algorithms, scenario.cutoff, memory=50)
    selector.fit(scenario)
    assert _schedule(selector).forest.seen == 200
