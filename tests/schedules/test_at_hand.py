"""What was expected of an instance stays until the next one begins."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut import Decision, Selector
from tailcut.errors import StateFileError
from tailcut.schedules import HazardSchedule
from tailcut.schedules.curves import CurrentInstance
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
    x = schedule.current.x
    begun = schedule.current.view(x)
    assert begun is not None
    odds = begun.odds.copy()
    selector.observe(decision, censored_at=decision.budget)
    assert schedule.current.view(x) is begun
    np.testing.assert_array_equal(begun.odds, odds)
    assert (schedule.view(x).odds != odds).any()  # of an instance that would begin now
    _fail_all(selector, selector.proceed(decision))
    selector.select(features)  # the same features again are another instance
    again = schedule.current.view(x)
    assert again is not None
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
    current = CurrentInstance(cuts=np.array([1.0, 2.0]), n_hardness=7)
    fine = np.zeros((2, 2, len(classes)))
    for both in ({"odds": odds, "drawn_odds": fine}, {"odds": fine, "drawn_odds": odds}):
        with pytest.raises(StateFileError, match=message):
            current.restore({"x": np.zeros(1), "classes": classes, **both})


def test_all_runs_on_an_instance_are_planned_with_the_same_draw() -> None:
    selector, features = _stirred(), np.array([0.3, -0.2, 1.0])
    decision = selector.select(features)
    current = _schedule(selector).current
    expected, drawn = current.view(current.x), current.drawn(current.x)
    assert expected is not None
    assert drawn is not None
    assert (expected.odds[..., 0] != drawn.odds[..., 0]).all()
    np.testing.assert_array_equal(expected.classes, drawn.classes)
    selector.observe(decision, censored_at=decision.budget)
    selector.proceed(decision)
    assert current.drawn(current.x) is drawn
    selector.select(features)
    again = current.drawn(current.x)
    assert again is not None
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
    assert schedule.current.odds.size == 0
    assert schedule.current.view(np.zeros(3)) is None
