"""MedleySolver's orders and slices against formulas worked out by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from tailcut.peers.schedules import Exp3Medley, MedleySchedule, NearestMedley, ThompsonMedley, slices
from tailcut.representation import pipeline
from tailcut.types import Outcome, Progress

FRESH = Progress(100.0, 0.0, np.zeros(3))


def _taught(kind: type[MedleySchedule], runs: list[tuple[int, float, float, bool]]) -> MedleySchedule:
    schedule = kind(n_algorithms=3, seed=0, representation=pipeline("trees", 1))
    for algorithm, feature, seconds, solved in runs:
        x = schedule.representation(np.array([feature]))
        outcome = Outcome.solved(seconds) if solved else Outcome.censored(seconds)
        schedule.learn(algorithm, x, outcome, FRESH, seconds)
    return schedule


def test_a_run_is_stopped_when_it_would_hardly_answer_before_the_cutoff() -> None:
    runtimes = np.random.default_rng(0).exponential(40.0, size=400_000)
    (stopped,) = slices(np.array([1.0 / 40.0]), 100.0, 0.95)
    assert ((runtimes > stopped) & (runtimes <= 100.0)).mean() == pytest.approx(0.05, abs=0.001)
    by_search = brentq(lambda t: math.exp(-t / 40.0) - math.exp(-2.5) - 0.05, 0.0, 100.0)
    assert stopped == pytest.approx(by_search)


def test_one_that_solves_next_to_nothing_gets_nothing() -> None:
    assert slices(np.array([1e-4, 1e-3]), 100.0, 0.95).tolist()[0] == 0.0
    assert slices(np.array([1e-3]), 100.0, 0.95)[0] > 0.0, "9.5% of its runs end before the cutoff"


def test_a_stopped_run_counts_as_what_it_would_have_taken() -> None:
    schedule = _taught(ThompsonMedley, [(0, 0.0, 4.0, True), (0, 0.0, 10.0, False)])
    runtimes = np.random.default_rng(0).exponential(4.0, size=2_000_000)
    later = runtimes[runtimes > 10.0].mean()
    assert schedule.seconds[0] == pytest.approx(4.0 + later, rel=0.01)
    assert schedule.rates(100.0).tolist() == [2.0 / 18.0, 0.03, 0.03], "before the first run, K per cutoff"


def test_the_nearest_solved_instances_vote() -> None:
    rng = np.random.default_rng(0)
    features, solver = rng.random(60), rng.integers(3, size=60)
    runs = [(int(a), float(f), 1.0, True) for a, f in zip(solver, features, strict=True)]
    schedule = _taught(NearestMedley, [*runs, (2, 0.5, 90.0, False)])
    near = schedule.representation.transform(np.array([0.4]))
    assert isinstance(schedule, NearestMedley)
    schedule.explore = 0.0
    closest = np.argsort(np.abs(schedule.x - near).sum(axis=1), kind="stable")[:10]
    votes = np.bincount(solver[closest], minlength=3)
    found = np.array([schedule.order(near, rng) for _ in range(300)])
    assert np.ceil(found).tolist() == [(-votes).tolist()] * 300


def test_ties_and_the_first_orders_are_drawn() -> None:
    schedule = _taught(NearestMedley, [])
    rng, nowhere = np.random.default_rng(1), np.zeros(schedule.representation.width)
    firsts = [int(schedule.order(nowhere, rng).argmin()) for _ in range(6_000)]
    assert np.bincount(firsts) / 6_000 == pytest.approx([1 / 3] * 3, abs=0.03)
    schedule.learn(1, nowhere, Outcome.solved(1.0), FRESH, 100.0)
    firsts = [int(schedule.order(nowhere, rng).argmin()) for _ in range(6_000)]
    assert np.mean(np.array(firsts) == 1) == pytest.approx(1 - 0.9**2 * 2 / 3, abs=0.03)


def test_thompson_draws_beta_distributions() -> None:
    schedule = _taught(ThompsonMedley, [(0, 0.0, 1.0, True)] * 3 + [(1, 0.0, 1.0, False)])
    rng = np.random.default_rng(1)
    means = -np.mean([schedule.order(np.zeros(0), rng) for _ in range(20_000)], axis=0)
    assert means == pytest.approx([4 / 5, 1 / 3, 1 / 2], abs=0.01)


def test_exp3_follows_its_formula() -> None:
    schedule = Exp3Medley(n_algorithms=2, seed=0, representation=pipeline("none", 0), gamma=0.2)
    weights = np.ones(2)
    for algorithm, solved in ((0, True), (0, True), (1, True), (1, False)):
        p = 0.8 * weights / weights.sum() + 0.2 / 2
        weights[algorithm] *= math.exp(0.2 * solved / (p[algorithm] * 2))
        outcome = Outcome.solved(20.0) if solved else Outcome.censored(20.0)
        schedule.learn(algorithm, np.zeros(0), outcome, FRESH, 100.0)
    expected = 0.8 * weights / weights.sum() + 0.1
    assert schedule.probabilities() == pytest.approx(expected)
    rng = np.random.default_rng(2)
    firsts = [int(schedule.order(np.zeros(0), rng).argmin()) for _ in range(20_000)]
    assert np.bincount(firsts) / 20_000 == pytest.approx(expected, abs=0.012)


def test_what_no_slice_claims_goes_to_the_first() -> None:
    schedule = _taught(ThompsonMedley, [(a, 0.0, 2.0, True) for a in (0, 1, 2)])
    claim = slices(np.array([0.5]), 100.0, 0.95)[0]
    first = schedule.choose(np.zeros(1), None, FRESH)
    assert first.budget == pytest.approx(100.0 - 2 * claim)
    failed = np.zeros(3)
    failed[first.algorithm] = first.budget
    second = schedule.proceed(np.zeros(1), None, Progress(100.0, first.budget, failed))
    assert second is not None
    assert second.budget == pytest.approx(claim)


def test_the_last_to_run_gets_what_is_left() -> None:
    schedule = _taught(ThompsonMedley, [(0, 0.0, 1.0, True)])
    progress = Progress(100.0, 60.0, np.array([1.0, 59.0, 0.0]))
    last = schedule.proceed(np.zeros(2), None, progress)
    assert last is not None
    assert (last.algorithm, last.budget) == (2, 40.0)
    assert schedule.proceed(np.zeros(2), None, Progress(100.0, 90.0, np.array([1.0, 2.0, 3.0]))) is None


def test_one_without_hope_is_skipped_unless_nobody_else_is_left() -> None:
    schedule = _taught(ThompsonMedley, [(1, 0.0, 1.0, True)])
    schedule.runs[0] = schedule.solved[0] = 1e3
    schedule.runs[2] = 1e3
    schedule.seconds[[0, 2]] = 1e8
    assert {schedule.choose(np.zeros(1), None, FRESH).algorithm for _ in range(20)} == {1}
    left = schedule.proceed(np.zeros(1), None, Progress(100.0, 70.0, np.array([0.0, 70.0, 5.0])))
    assert left is not None
    assert (left.algorithm, left.budget) == (0, 30.0)
