"""Who has to be tried, and when."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut import Selector
from tailcut.policies.first_runs import FirstRuns


def _served(selector: Selector, steps: int, **outcome: float) -> list[str]:
    picks = []
    for _ in range(steps):
        decision = selector.select([0.0])
        selector.observe(decision, **outcome)  # type: ignore[arg-type]
        picks.append(decision.algorithm)
    return picks


def test_the_number_of_algorithms_tried_follows_the_square_root() -> None:
    """As long as what is known is good, nobody else is tried before it is due."""
    names = [f"a{i}" for i in range(30)]
    tried = [
        len(set(_served(Selector("tailcut", names, 10.0), steps, runtime=0.0))) for steps in (1, 2, 26, 101)
    ]
    assert tried[:2] == [1, 2]
    assert 6 <= tried[2] <= 8
    assert 11 <= tried[3] <= 14


def test_bad_experience_makes_for_earlier_tries() -> None:
    names = [f"a{i}" for i in range(30)]
    assert len(set(_served(Selector("tailcut", names, 10.0), 101, censored_at=10.0))) > 20


def test_the_order_of_first_runs_is_drawn() -> None:
    names = [f"a{i}" for i in range(30)]
    firsts = {_served(Selector("tailcut", names, 10.0, seed=seed), 1, runtime=0.0)[0] for seed in range(20)}
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
    assert FirstRuns(pace=1.0, again=1.0).due(np.array(runs, dtype=float)) is due


def test_all_at_once_and_never() -> None:
    assert FirstRuns().due(np.array([10.0, 1.0, 0.0]))
    assert not FirstRuns().due(np.array([1e9, 1.0]))
    assert not FirstRuns(pace=0.0).due(np.array([0.0, 0.0]))


def test_only_of_those_offered() -> None:
    selector = Selector("tailcut", ["a", "b", "c"], 10.0)
    for _ in range(50):
        selector.observe(selector.select([1.0], among=["b"]), runtime=1.0)
    assert selector.select([1.0], among=["b", "c"]).algorithm == "c"
