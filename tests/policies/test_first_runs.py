"""Who has to be tried, and when."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut import Scenario, Selector
from tailcut.policies.exploration import ForcedExploration

NAMES = [f"a{i}" for i in range(30)]


def _served(selector: Selector, steps: int, **outcome: float) -> list[str]:
    picks = []
    for _ in range(steps):
        decision = selector.select([0.0])
        if outcome:
            selector.observe(decision, **outcome)  # type: ignore[arg-type]
        picks.append(decision.algorithm)
    return picks


def _tried(steps: int, **outcome: float) -> int:
    return len(set(_served(Selector("tailcut", NAMES, 10.0), steps, **outcome)))


def test_without_outcomes_the_number_of_algorithms_tried_follows_the_square_root() -> None:
    assert [_tried(steps) for steps in (1, 2)] == [1, 2]
    assert _tried(26) >= 6
    assert _tried(101) >= 11


def test_where_nothing_is_lost_nobody_else_is_tried() -> None:
    assert _tried(101, runtime=0.0) == 1


def test_runs_that_take_long_make_others_due() -> None:
    """Solved at the cutoff is a tenth of a timeout in PAR10: 101 runs are ten timeouts."""
    assert 5 <= _tried(101, runtime=10.0) <= 8


def test_bad_experience_makes_for_earlier_tries() -> None:
    assert _tried(101, censored_at=10.0) > 20


def test_losses_given_by_the_user_count() -> None:
    assert _tried(60, loss=0.0) < _tried(60, loss=0.5) <= _tried(60, loss=1.0)


def test_a_recorded_run_counts_like_one_that_was_observed() -> None:
    """After 50 solved and 50 unsolved runs of one algorithm about ten others are due, one after the other."""
    names, x = [f"i{row}" for row in range(100)], [float(row % 7) for row in range(100)]
    runs: dict[str, list[object]] = {
        "instance": [*names],
        "algorithm": ["a0"] * 100,
        "runtime": [1.0, 11.0] * 50,
    }
    fitted, observed = (Selector("tailcut", NAMES, 10.0) for _ in range(2))
    fitted.fit(Scenario.from_frames(runs, {"instance": [*names], "x": [*x]}, cutoff=10.0))
    for row in range(100):
        outcome = {"censored_at": 10.0} if row % 2 else {"runtime": 1.0}
        observed.observe(observed.select([x[row]], among=["a0"]), **outcome)  # type: ignore[arg-type]
    reasons = [[each.select([0.0]).reason for _ in range(9)] for each in (fitted, observed)]
    assert reasons == [["first run"] * 9] * 2


def test_a_window_forgets_what_was_lost() -> None:
    """Timeouts that have left the window no longer make first runs due."""
    selector = Selector("tailcut", NAMES, 10.0, window=20)
    _served(selector, 40, censored_at=10.0)
    for _ in range(60):
        selector.observe(selector.select([0.0], among=["a0"]), runtime=0.0)
    assert selector.select([0.0]).reason != "first run"


def test_the_order_of_first_runs_is_drawn() -> None:
    firsts = {_served(Selector("tailcut", NAMES, 10.0, seed=seed), 1, runtime=0.0)[0] for seed in range(20)}
    assert len(firsts) > 10


def test_nobody_is_given_up_for_good() -> None:
    """The second one fails at first; it is run again and again, ever more seldom."""
    selector = Selector("tailcut", ["fine", "unlucky"], 10.0, noise_variance=1e-12)
    steps: list[int] = []
    for step in range(1200):
        decision = selector.select([0.0])
        if decision.algorithm == "fine":
            selector.observe(decision, runtime=0.01)
        else:
            assert decision.reason == ("exploration" if steps else "first run")
            steps.append(step)
            selector.observe(decision, failed=True)
    assert 4 <= len(steps) <= 8
    assert steps[-1] > 250


@pytest.mark.parametrize(
    ("runs", "due"),
    [
        ([0, 0], True),
        ([1, 0], True),
        ([1, 1, 0], False),
        ([2, 1, 0], False),
        ([3, 1, 0], True),
        ([500, 1], True),
    ],
)
def test_due(runs: list[int], due: bool) -> None:
    assert ForcedExploration(pace=1.0, again=1.0).due(np.array(runs, dtype=float)) is due


def test_all_at_once_and_never() -> None:
    assert ForcedExploration().due(np.array([10.0, 1.0, 0.0]))
    assert not ForcedExploration().due(np.array([1e9, 1.0]))
    assert not ForcedExploration(pace=0.0).due(np.array([0.0, 0.0]))


def test_only_of_those_offered() -> None:
    selector = Selector("tailcut", ["a", "b", "c"], 10.0)
    for _ in range(50):
        selector.observe(selector.select([1.0], among=["b"]), runtime=1.0)
    assert selector.select([1.0], among=["b", "c"]).algorithm == "c"
