"""Losses with feature costs and their relation to the hindsight baselines, by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tailcut import Selector
from tailcut.bench.baselines import replay_baseline
from tailcut.bench.replay import Trace, replay, shuffled
from tailcut.bench.summary import ReferenceCosts, normalised, paid, relative
from tailcut.types import Array


@dataclass(frozen=True)
class Tiny:
    """Three instances, two algorithms, cutoff 10 s."""

    algorithms: tuple[str, ...]
    cutoff: float
    features: Array
    runtimes: Array
    solved: NDArray[np.bool_]
    feature_cost: Array


TINY = Tiny(
    algorithms=("a", "b"),
    cutoff=10.0,
    features=np.ones((3, 1)),
    runtimes=np.array([[1.0, 9.5], [10.0, 2.0], [4.0, 3.0]]),
    solved=np.array([[True, True], [False, True], [True, True]]),
    feature_cost=np.array([0.25, 1.0, 0.0]),
)


def _trace(choices: list[int], paid_features: bool, cost: Array = TINY.feature_cost) -> Trace:
    paid_for = cost if paid_features else np.zeros(3)
    return Trace(np.arange(3), np.array(choices), np.zeros(3), paid_for, cpu=np.zeros(3))


def test_the_loss_is_runtime_plus_feature_cost_and_above_the_cutoff_the_penalty() -> None:
    losses, solved = paid(TINY, _trace([0, 0, 0], True))
    assert losses.tolist() == [1.25, 100.0, 4.0]
    assert solved.tolist() == [True, False, True]
    losses, solved = paid(TINY, _trace([1, 1, 1], True), penalty=2.0)
    assert losses.tolist() == [9.75, 3.0, 3.0]
    slow = Tiny(**{**TINY.__dict__, "feature_cost": np.array([0.75, 0.0, 0.0])})
    assert paid(slow, _trace([1, 1, 1], True, slow.feature_cost))[0].tolist() == [100.0, 2.0, 3.0]
    assert paid(slow, _trace([1, 1, 1], False))[0].tolist() == [9.5, 2.0, 3.0]


def test_the_hindsight_baselines_pay_for_no_features() -> None:
    reference = ReferenceCosts.of(TINY)
    assert reference == ReferenceCosts(vbs=(1.0 + 2.0 + 3.0) / 3, sbs=(9.5 + 2.0 + 3.0) / 3)
    assert relative(4.0, reference) == 2.0
    assert normalised(reference.sbs, reference) == 1.0
    assert normalised(reference.vbs, reference) == 0.0


def test_where_nothing_can_be_gained_the_relation_is_undefined() -> None:
    assert math.isnan(normalised(1.0, ReferenceCosts(1.0, 1.0)))
    assert math.isnan(relative(1.0, ReferenceCosts(0.0, 1.0)))


def test_every_selector_sees_the_same_order_and_every_instance_once() -> None:
    traces = [
        replay(TINY, Selector(name, TINY.algorithms, TINY.cutoff), seed=4)
        for name in ("thompson", "blinducb")
    ]
    assert (
        traces[0].order.tolist()
        == traces[1].order.tolist()
        == replay_baseline(TINY, "sbs", seed=4).order.tolist()
    )
    assert sorted(traces[0].order) == [0, 1, 2]
    assert len({tuple(shuffled(20, seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize(("name", "pays"), [("thompson", True), ("random", False), ("epsilon_greedy", False)])
def test_selectors_that_look_at_no_features_pay_for_none(name: str, pays: bool) -> None:
    trace = replay(TINY, Selector(name, TINY.algorithms, TINY.cutoff), seed=0)
    assert trace.feature_cost.tolist() == (TINY.feature_cost[trace.order] * pays).tolist()
