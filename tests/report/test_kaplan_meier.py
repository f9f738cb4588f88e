"""Survival curves, against the definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.report.curves import kaplan_meier, survival_curves
from tailcut.scenarios import Scenario


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=60))
def test_kaplan_meier_equals_the_product_over_event_times(runs: list[tuple[int, bool]]) -> None:
    times = np.array([float(t) for t, _ in runs])
    solved = np.array([s for _, s in runs])
    events, share = kaplan_meier(times, solved)
    alive, expected = 1.0, []
    for event in sorted({float(t) for t, s in runs if s}):
        at_risk = sum(t >= event for t in times)
        died = sum(t == event and s for t, s in zip(times, solved, strict=True))
        alive *= 1.0 - died / at_risk
        expected.append(alive)
    assert share == pytest.approx(np.array(expected))
    assert events.tolist() == sorted({float(t) for t, s in runs if s})


def test_without_early_failures_survival_ends_at_the_share_of_timeouts(scenarios_folder: Path) -> None:
    scenario = Scenario.read(scenarios_folder / "GAMMA")
    curves = survival_curves(scenario)
    for name, timeouts in zip(scenario.algorithms, scenario.timeout_shares(), strict=True):
        time, share = curves[name]
        assert share[-1] == pytest.approx(timeouts)
        assert time[-1] == scenario.cutoff
        assert (np.diff(share) <= 0).all()
