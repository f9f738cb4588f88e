"""The hindsight baselines: what they are, what they cost, and in which order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailcut.bench.baselines import FIXED, PICKS, replay_baseline
from tailcut.bench.summary import paid
from tailcut.catalogue import BASELINES
from tailcut.scenarios.synthetic import generate


def test_they_are_those_whose_names_the_catalogue_keeps() -> None:
    assert {*PICKS, *FIXED} == set(BASELINES)
    assert not set(PICKS) & set(FIXED)


def test_the_fixed_schedules_are_traced_run_by_run_and_in_order_of_their_power() -> None:
    runs = generate(n_instances=200, n_algorithms=4, timeouts=0.5, seed=5)
    means = {}
    for name in ("sbs", "sbs_pair", "sbs_schedule", "oracle"):
        trace = replay_baseline(runs, name, seed=3)
        means[name] = float(paid(runs, trace)[0].mean())
        assert not trace.feature_cost.any()
        assert (trace.slices is None) == (name in ("sbs", "oracle"))
        if trace.slices is not None:
            assert np.bincount(trace.slices.step).max() <= (2 if name == "sbs_pair" else 3)
            assert (np.diff(trace.slices.step) >= 0).all()
    assert means["sbs"] >= means["sbs_pair"] >= means["sbs_schedule"] >= means["oracle"]


@pytest.mark.aslib
def test_fixed_schedules_close_much_of_the_gap(aslib: Path) -> None:
    """On real scenarios: three stages do no worse than two, two no worse than one."""
    from tailcut import Scenario
    from tailcut.bench.summary import ReferenceCosts, normalised

    scenario = Scenario.read(aslib / "MAXSAT12-PMS")
    reference = ReferenceCosts.of(scenario)
    pair, triple = (
        normalised(float(paid(scenario, replay_baseline(scenario, name, seed=0))[0].mean()), reference)
        for name in ("sbs_pair", "sbs_schedule")
    )
    assert 0.0 < triple <= 0.11
    assert triple < pair < 0.25
