"""Schedules in the benchmark: what a replay makes of them, what they pay, and how they are marked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tailcut import Selector
from tailcut.bench.replay import replay
from tailcut.bench.summary import paid
from tests.bench.test_metrics import TINY
from tests.schedules.test_proceed import ROW


def test_every_slice_starts_from_scratch_and_all_of_them_are_paid() -> None:
    selector = Selector("round_robin", TINY.algorithms, TINY.cutoff)
    trace = replay(TINY, selector, seed=0)
    slices = trace.slices
    assert slices is not None
    by_row = np.argsort(trace.order)
    # Five seconds each: a solves the first and the last instance within them, b the second after 5 + 2 s.
    assert np.bincount(slices.step, minlength=3)[by_row].tolist() == [1, 2, 1]
    assert slices.total[by_row].tolist() == [1.0, 7.0, 4.0]
    assert trace.choices[by_row].tolist() == [0, 1, 0]
    assert slices.solved.all()
    losses, solved = paid(TINY, trace)
    assert losses[by_row].tolist() == [1.0, 7.0, 4.0], "it looks at no features, so it pays for none"
    assert solved.all()
    assert (trace.seconds > 0.0).all()


def test_what_no_slice_solves_costs_the_penalty() -> None:
    runs = replace(TINY, runtimes=np.array([[6.0, 9.5], [10.0, 5.0], [5.0, 3.0]]))
    trace = replay(runs, Selector("round_robin", runs.algorithms, runs.cutoff), seed=1)
    losses, solved = paid(runs, trace)
    by_row = np.argsort(trace.order)
    assert losses[by_row].tolist() == [100.0, 10.0, 5.0]
    assert solved[by_row].tolist() == [False, True, True]


def test_computing_features_uses_up_the_cutoff() -> None:
    """The first slice is a tenth of the cutoff of the last algorithm, the rest of the time its own again."""
    runs = replace(TINY, feature_cost=np.array([9.0, 9.5, 12.0]), runtimes=np.full((3, 2), 0.75))
    runs = replace(runs, solved=np.ones((3, 2), dtype=np.bool_))
    trace = replay(runs, Selector(ROW, runs.algorithms, runs.cutoff), seed=2)
    slices = trace.slices
    assert slices is not None
    by_row = np.argsort(trace.order)
    # One second is left of the first, half a second of the second, and nothing of the third.
    assert np.bincount(slices.step, minlength=3)[by_row].tolist() == [1, 1, 0]
    assert slices.total[by_row].tolist() == [0.75, 0.5, 0.0]
    assert trace.choices[by_row].tolist() == [1, 1, -1]
    losses, solved = paid(runs, trace)
    assert losses[by_row].tolist() == [9.75, 100.0, 100.0]
    assert solved[by_row].tolist() == [True, False, False]
