"""Rehearsals by hand, what they teach, and what is preferred after `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.errors import StateFileError
from tailcut.scenarios.synthetic import SyntheticScenario
from tailcut.schedules import HazardSchedule
from tailcut.schedules.curves import Curves, View
from tailcut.schedules.planner import (
    FIRM,
    FORGET,
    SLICED,
    WHOLE,
    Calibration,
    Planner,
    Rehearsal,
    rehearse_sliced,
    rehearse_whole,
)
from tailcut.types import Array

CUTS = np.array([10.0, 100.0])
CUTOFF = 100.0
NEVER = -40.0
"""Log-odds of next to no chance."""


def _early_or_never() -> tuple[View, Planner]:
    """Two algorithms that solve one instance in two within ten seconds, and the other never."""
    odds = np.array([[0.0, NEVER], [0.0, NEVER]])[:, :, None]
    view = View(odds, np.ones(1), Curves(odds, cuts=CUTS), 1)
    return view, Planner(view.curves, 900.0, np.zeros(2, np.bool_))


def _sliced(first: float, second: float) -> Rehearsal:
    """Rehearse with runs that take so long, or forever."""
    view, planner = _early_or_never()
    seconds = np.array([first, second])
    return rehearse_sliced(view, planner, seconds, np.isfinite(seconds), CUTOFF)


def test_the_best_plan_rehearsed_by_hand() -> None:
    """The first for ten seconds, then the second for ten, then the first again: what it promises is known."""
    cases = [(4.0, np.inf, 4.0), (np.inf, 4.0, 14.0), (50.0, 100.0, 70.0), (np.inf, np.inf, 1000.0)]
    for first, second, paid in cases:
        done = _sliced(first, second)
        # Of ten seconds 7.5 are used, on average; of the next ten 7.5 with 1/2; then 80 and 900 with 1/4.
        assert done.promised == pytest.approx(7.5 + 0.5 * 7.5 + 0.25 * (80.0 + 900.0), rel=1e-6)
        assert done.paid == paid


def test_a_whole_run_rehearsed_by_hand() -> None:
    view, planner = _early_or_never()
    planner.barred[0] = True
    for seconds, paid in [(4.0, 4.0), (50.0, 50.0), (np.inf, 1000.0)]:
        ends = np.array([1.0, seconds])
        done = rehearse_whole(view, planner, ends, np.isfinite(ends), CUTOFF)
        assert done.promised == pytest.approx(7.5 + 0.5 * (90.0 + 900.0), rel=1e-6)
        assert done.paid == paid


def test_a_solution_after_the_cutoff_is_none() -> None:
    view, planner = _early_or_never()
    late = np.full(2, 150.0)
    for rehearse in (rehearse_sliced, rehearse_whole):
        assert rehearse(view, planner, late, np.ones(2, np.bool_), CUTOFF).paid == 1000.0


def test_at_first_plans_cost_what_they_promise() -> None:
    calibration = Calibration()
    assert calibration.ratios.tolist() == [1.0, 1.0]
    assert calibration.prefers_whole(0.3, 0.3)
    assert not calibration.prefers_whole(0.3, 0.31)


def test_what_was_promised_and_paid_by_hand() -> None:
    calibration = Calibration()
    calibration.note(SLICED, 0.2, 0.5)
    calibration.note(SLICED, 0.1, 1.0)
    promised = FIRM + 0.2 + 0.1 - FORGET * 0.2
    paid = FIRM + 0.5 + 1.0 - FORGET * 0.5
    np.testing.assert_allclose(calibration.ratios, [paid / promised, 1.0])
    limit = 0.2 * paid / promised
    assert calibration.prefers_whole(0.2, limit * 0.999)
    assert not calibration.prefers_whole(0.2, limit * 1.001)


def test_what_was_long_ago_is_forgotten() -> None:
    calibration = Calibration()
    for _ in range(2000):
        calibration.note(WHOLE, 0.1, 0.4)
    assert calibration.ratios[WHOLE] == pytest.approx((FIRM + 0.4 / FORGET) / (FIRM + 0.1 / FORGET), rel=1e-3)
    for _ in range(2000):
        calibration.note(WHOLE, 0.2, 0.2)
    assert calibration.ratios[WHOLE] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", Calibration.STATE)
def test_sums_that_cannot_be_are_refused(name: str, value: float) -> None:
    calibration = Calibration()
    state = calibration.state()
    state[name] = np.array([1.0, value])
    with pytest.raises(StateFileError):
        calibration.restore(state)


def _recorded(runtimes: Array, rng: np.random.Generator) -> SyntheticScenario:
    """Return recorded runs with features that say nothing."""
    n, k = runtimes.shape
    names = tuple(f"a{number}" for number in range(k))
    return SyntheticScenario(names, rng.normal(size=(n, 3)), np.zeros((k, 3)), 0.0, runtimes, CUTOFF)


def _whole(selector: Selector, rng: np.random.Generator) -> float:
    """Return on how many of forty new instances the first run is given all the time."""
    return sum(selector.select(x).budget == CUTOFF for x in rng.normal(size=(40, 3))) / 40.0


def test_after_fit_whole_runs_where_slices_only_look_good() -> None:
    """How long an instance takes is its own, up to a factor by chance: who runs next faces the same.

    With drawn skills slices look good a little more often than they were rehearsed.
    """
    rng = np.random.default_rng(1)
    takes = np.exp(rng.uniform(np.log(0.1), np.log(1000.0), (80, 1)))
    selector = Selector("tailcut_schedule", [f"a{number}" for number in range(20)], CUTOFF)
    selector.fit(_recorded(takes * np.exp(rng.normal(size=(80, 20))), rng))
    assert _whole(selector, rng) > 0.7
    calibration = schedule_of(selector).calibration
    sliced, whole = calibration.ratios
    assert sliced > whole
    calibration.paid = calibration.promised.copy()  # as if nothing had been rehearsed
    assert _whole(selector, rng) < 0.5


def test_after_fit_slices_where_they_are_good() -> None:
    """Each algorithm solves half of the instances at once, and the others never, independent of the rest."""
    rng = np.random.default_rng(0)
    runtimes = np.where(rng.random((200, 10)) < 0.5, rng.uniform(0.1, 1.0, (200, 10)), np.inf)
    selector = Selector("tailcut_schedule", [f"a{number}" for number in range(10)], CUTOFF)
    selector.fit(_recorded(runtimes, rng))
    assert _whole(selector, rng) < 0.5


def test_rehearsals_are_on_instances_that_the_trees_have_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    seen: list[int] = []
    rehearse = HazardSchedule._rehearse

    def watched(self: HazardSchedule, x: Array, *rest: Any) -> None:
        assert self.forest.grown
        assert not (self.forest.table().x == x).all(axis=1).any()
        seen.append(self.forest.kept)
        rehearse(self, x, *rest)

    monkeypatch.setattr(HazardSchedule, "_rehearse", watched)
    selector = Selector("tailcut_schedule", ["a0", "a1", "a2"], CUTOFF)
    selector.fit(_recorded(rng.uniform(1.0, 200.0, (50, 3)), rng))
    assert seen == [25] * 25
    assert schedule_of(selector).forest.kept == 50


def schedule_of(selector: Selector) -> HazardSchedule:
    """Return what decides."""
    schedule = selector._policy
    assert isinstance(schedule, HazardSchedule)
    return schedule
