"""Curves against plain loops over the traces and the scenario."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tailcut.bench.replay import shuffled
from tailcut.bench.store import opened
from tailcut.report.curves import regret, shares, solved_by
from tailcut.report.gather import gather
from tailcut.scenarios import Scenario
from tailcut.types import Array


def test_regret_equals_a_loop_over_the_scenario(results: Path, scenarios_folder: Path) -> None:
    scenario = Scenario.read(scenarios_folder / "ALPHA")
    losses = scenario.losses()
    with opened(results, read_only=True) as store:
        part = gather(store).scenarios[0]
        rows = [r for r in store.rows() if (r["scenario"], r["selector"]) == ("ALPHA", "thompson")]
        totals = []
        for row in rows:
            choices, _, _ = store.trace(row["hash"])
            order, total = shuffled(60, row["seed"]), 0.0
            for step, choice in enumerate(choices):
                instance = order[step]
                paid = scenario.runtimes[instance, choice] + scenario.feature_cost[instance]
                if not scenario.solved[instance, choice] or paid > scenario.cutoff:
                    paid = 10 * scenario.cutoff
                total += paid - losses[instance].min()
            totals.append(total)
    assert part.regret is not None
    mean, deviation = part.regret.bands["thompson"]
    assert part.regret.at[-1] == 60
    assert mean[-1] == pytest.approx(np.mean(totals))
    assert deviation[-1] == pytest.approx(np.std(totals))
    assert np.abs(part.regret.bands["oracle"][0]).max() == 0.0


def test_regret_without_an_oracle_is_none() -> None:
    assert regret("x", {"a": {0: np.ones(3)}}, {}) is None
    assert regret("x", {"a": {0: np.ones(3)}}, {1: np.ones(3)}) is None


@given(
    arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0.01, 9.9)),
    st.floats(0.0, 1.0),
)
def test_solved_by_counts_what_ended_in_time(times: Array, share: float) -> None:
    losses = np.where(times <= 10.0 * share, times, 100.0)
    found = solved_by("x", {"a": {0: losses}}, 10.0)
    mean, _ = found.bands["a"]
    for at, value in zip(found.at, mean, strict=True):
        assert value == sum(loss <= at for loss in losses) / len(losses)
    assert mean[-1] == np.mean(losses <= 10.0)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.integers(1, 30))
def test_shares_sum_to_one_and_average_to_the_totals(choices: list[int], windows: int) -> None:
    found = shares("x", [np.array(choices, dtype=np.int16)] * 2, 5, windows)
    assert found.share.sum(axis=1) == pytest.approx(np.ones(len(found.at)))
    sizes = np.diff(np.concatenate([[0.0], found.at]))
    counts = (found.share * sizes[:, None]).sum(axis=0)
    assert counts == pytest.approx(np.bincount(choices, minlength=5))
