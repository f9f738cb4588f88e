"""The best fixed schedules against brute force, and where brute force cannot go, against each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tailcut.bench import fixed_schedules
from tailcut.bench.baselines import follow
from tailcut.bench.fixed_schedules import Stages, best_schedule
from tailcut.types import Array

CUTOFF, PENALTY = 10.0, 10.0

# Whole seconds, so that every sum is exact and ties with the cutoff occur.
tables = st.tuples(st.integers(1, 6), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([*map(float, range(1, 11)), math.inf]))
)


def _loss(stages: Sequence[tuple[int, float]], times: Array) -> float:
    """Mean PAR10 of running the stages one after the other, told instance by instance."""
    losses = []
    for row in times:
        clock, loss = 0.0, PENALTY * CUTOFF
        for algorithm, seconds in stages:
            if row[algorithm] <= seconds:
                loss = clock + row[algorithm]
                break
            clock += seconds
        losses.append(loss)
    return float(np.mean(losses))


def _every(times: Array, most: int) -> Iterator[list[tuple[int, float]]]:
    """Every schedule that switches at whole seconds."""
    algorithms = range(times.shape[1])
    for count in range(1, most + 1):
        for order in itertools.product(algorithms, repeat=count):
            for ends in itertools.combinations(range(1, 10), count - 1):
                lengths = np.diff([0, *ends, CUTOFF]).tolist()
                yield list(zip(order, lengths, strict=True))


@pytest.mark.parametrize("most", [1, 2, 3])
@given(times=tables)
@settings(max_examples=40, deadline=None)
def test_small_tables_are_searched_through_completely(most: int, times: Array) -> None:
    stages = best_schedule(times, CUTOFF, PENALTY, most)
    assert len(stages) <= most
    assert sum(stage.seconds for stage in stages) == CUTOFF
    assert all(stage.seconds > 0.0 for stage in stages)
    best = min(_loss(other, times) for other in _every(times, most))
    assert _loss(stages, times) == pytest.approx(best, rel=1e-12)


def _random(seed: int, n: int, k: int) -> Array:
    rng = np.random.default_rng(seed)
    times = np.exp(rng.normal(1.5, 1.5, (n, 1)) + rng.normal(0.0, 1.5, (n, k)))
    return np.where(times <= CUTOFF, times, math.inf)


@pytest.mark.parametrize("seed", range(4))
def test_thinned_triples_are_no_worse_than_pairs_and_near_the_best(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = _random(seed, 60, 4)
    complete = [_mean(best_schedule(times, CUTOFF, PENALTY, most), times) for most in (1, 2)]
    monkeypatch.setattr(fixed_schedules, "_MOST_SWITCHES", 60)  # at most 60 distinct runtimes: all of them
    fixed_schedules._best.cache_clear()
    complete.append(_mean(best_schedule(times, CUTOFF, PENALTY, 3), times))
    monkeypatch.setattr(fixed_schedules, "_MOST_SWITCHES", 3)
    fixed_schedules._best.cache_clear()
    thinned = _mean(best_schedule(times, CUTOFF, PENALTY, 3), times)
    assert complete[0] >= complete[1] >= thinned >= complete[2]
    assert thinned <= complete[2] + 0.25 * (complete[1] - complete[2])
    fixed_schedules._best.cache_clear()


def _mean(stages: Stages, times: Array) -> float:
    return _loss(stages, times)


def test_any_pair_of_a_larger_table_is_no_better() -> None:
    times = _random(9, 300, 5)
    best = _mean(best_schedule(times, CUTOFF, PENALTY, 2), times)
    rng = np.random.default_rng(0)
    for _ in range(300):
        first, then = rng.integers(5, size=2).tolist()
        switch = float(rng.choice(times[np.isfinite(times[:, first]), first]))
        assert _loss([(first, switch), (then, CUTOFF - switch)], times) >= best - 1e-9


def test_following_costs_what_the_search_says() -> None:
    times = _random(3, 200, 4)
    stages = best_schedule(times, CUTOFF, PENALTY, 3)
    slices = follow(stages, times)
    losses = np.where(slices.solved, slices.total, PENALTY * CUTOFF)
    assert losses.mean() == pytest.approx(_mean(stages, times), rel=1e-12)
    assert np.bincount(slices.step).max() <= len(stages)
    assert slices.total.max() <= CUTOFF * (1 + 1e-12)
