"""Races in the benchmark: wall time counts, all cores are paid; the baseline is the best set in hindsight."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tailcut import Selector
from tailcut.bench import baselines
from tailcut.bench.baselines import best_set, replay_baseline
from tailcut.bench.labels import Conditions
from tailcut.bench.plan import Contender
from tailcut.bench.replay import replay
from tailcut.bench.summary import paid
from tailcut.errors import InputError
from tests.bench.test_metrics import TINY


def test_as_many_cores_as_algorithms_are_the_virtual_best_solver() -> None:
    cores = len(TINY.algorithms)
    selector = Selector("tailcut_schedule", TINY.algorithms, TINY.cutoff)
    trace = replay(TINY, selector, seed=0, conditions=Conditions(cores=cores))
    losses, solved = paid(TINY, trace)
    times = np.where(TINY.solved, TINY.runtimes, np.inf).min(axis=1)[trace.order]
    within = times + trace.feature_cost <= TINY.cutoff
    assert solved.tolist() == within.tolist()
    assert losses[within] == pytest.approx((times + trace.feature_cost)[within])
    assert selector.pending == ()  # every run was observed
    wall = np.minimum(times, TINY.cutoff - trace.feature_cost)
    assert trace.cpu == pytest.approx(trace.feature_cost + cores * wall)
    best, _ = paid(TINY, replay_baseline(TINY, "sbs", cores=cores, seed=0))
    assert best == pytest.approx(np.where(np.isfinite(times), times, 10 * TINY.cutoff))


@pytest.mark.parametrize("exact", [True, False])
def test_the_best_set_by_brute_force(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = np.random.default_rng(0).exponential(size=(40, 6))
    if not exact:
        monkeypatch.setattr(baselines, "_EXACT", 0)
    found = float(losses[:, best_set(losses, 3)].min(axis=1).mean())
    best = min(float(losses[:, list(one)].min(axis=1).mean()) for one in combinations(range(6), 3))
    assert found == pytest.approx(best) if exact else best <= found <= 1.1 * best


def test_only_the_single_best_has_a_set() -> None:
    conditions = Conditions(cores=2)
    assert Contender.of("sbs").under(conditions).label == "sbs@cores=2"
    assert Contender.of("oracle").under(conditions).label == "oracle"
    with pytest.raises(InputError, match="cores"):
        Conditions(cores=2, measure_first=5)
