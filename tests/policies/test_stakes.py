"""Runs that are due wait for an instance where there is little to lose, but not for ever."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut import Selector
from tailcut.policies.stakes import FEWEST, PATIENCE, RECENT, Stakes


def _admitted(losses: list[float], hardest: float = 0.2, stakes: Stakes | None = None) -> list[bool]:
    stakes = Stakes() if stakes is None else stakes
    return [stakes.admits(due=True, loss=loss, hardest=hardest) for loss in losses]


def test_the_first_instances_are_as_good_as_any() -> None:
    assert _admitted([0.1] * FEWEST) == [True] * FEWEST


@pytest.mark.parametrize("hardest", [0.1, 0.3, 0.5])
def test_of_a_stream_in_random_order_the_hardest_share_is_admitted(hardest: float) -> None:
    losses = np.random.default_rng(0).random(4000).tolist()
    stakes = Stakes()
    _admitted(losses[:RECENT], hardest, stakes)
    found = np.array(_admitted(losses[RECENT:], hardest, stakes))
    chosen = np.array(losses[RECENT:])[found]
    assert found.mean() == pytest.approx(max(hardest, 1.0 / (PATIENCE + 1)), abs=0.06)
    assert np.median(chosen) > 1.0 - hardest


def test_instances_all_alike_are_not_waited_for() -> None:
    assert all(_admitted([0.4] * 50))


def test_no_run_waits_for_ever_while_instances_become_easier() -> None:
    found = _admitted(np.linspace(1.0, 0.0, 300).tolist())
    gaps = np.diff(np.flatnonzero(found))
    assert gaps.max() == PATIENCE + 1


def test_the_wait_is_over_when_nothing_is_due() -> None:
    stakes = Stakes()
    _admitted([0.9] * FEWEST, stakes=stakes)
    assert _admitted([0.1] * 3, stakes=stakes) == [False] * 3
    assert not stakes.admits(due=False, loss=0.1, hardest=0.2)
    assert stakes.waited == 0


def test_first_runs_are_made_on_hard_instances() -> None:
    """Every other instance is solved at once, half of the others not at all, whoever runs."""
    rng = np.random.default_rng(0)
    selector = Selector("tailcut", [f"a{number}" for number in range(30)], 10.0, hardest=0.2)
    on_hard = []
    for step in range(400):
        hard = step % 2
        decision = selector.select([float(hard), float(rng.normal())])
        if decision.reason == "first run" and step > 10:
            on_hard.append(hard)
        if hard and rng.random() < 0.5:
            selector.observe(decision, censored_at=10.0)
        else:
            selector.observe(
                decision, runtime=float(rng.uniform(5.0, 9.0) if hard else rng.uniform(0.1, 1.0))
            )
    assert len(on_hard) >= 5
    assert np.mean(on_hard) > 0.85
