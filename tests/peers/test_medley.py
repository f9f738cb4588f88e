"""MedleySolver's orders and slices against formulas worked out by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tailcut.peers.medley import Exp3Medley, MedleySchedule, NearestMedley, ThompsonMedley, rate
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


def test_the_rate_is_the_most_likely_one() -> None:
    seconds, solved = np.array([3.0, 8.0, 20.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0])

    def minus_log_likelihood(r: float) -> float:
        return -float((solved * math.log(r) - r * seconds).sum())

    best = minimize_scalar(
        minus_log_likelihood, bounds=(1e-4, 1.0), method="bounded", options={"xatol": 1e-10}
    )
    assert rate(seconds, solved) == pytest.approx(best.x, rel=1e-5)


def test_a_slice_is_long_enough_with_the_confidence() -> None:
    schedule = _taught(ThompsonMedley, [(0, 0.0, 2.0, True), (0, 0.0, 6.0, True)])
    runtimes = np.random.default_rng(0).exponential(4.0, size=200_000)
    assert (runtimes <= schedule.slice(0, np.zeros(0), 100.0)).mean() == pytest.approx(0.9, abs=0.003)
    assert schedule.slice(1, np.zeros(0), 90.0) == 30.0, "an equal share where nothing is known"


def test_the_nearest_runs_decide_the_order() -> None:
    runs = [
        (a, side + 0.01 * i, 50.0 if (a == 0) == (side < 5.0) else 2.0, True)
        for a in (0, 1)
        for side in (0.0, 10.0)
        for i in range(10)
    ]
    schedule = _taught(NearestMedley, [*runs, (2, 0.0, 100.0, False)])
    firsts = [schedule.choose(np.array([side]), None, FRESH).algorithm for side in (0.0, 10.0)]
    assert firsts == [1, 0]
    near = schedule.representation.peek(np.array([0.0]))
    distance = np.abs(schedule.x[:20] - near).sum(axis=1)
    brute = np.sort(schedule.seconds[:20][np.argsort(distance, kind="stable")[:10]])
    assert np.sort(schedule.evidence(0, near)[0]).tolist() == brute.tolist()


def test_thompson_draws_beta_distributions() -> None:
    schedule = _taught(ThompsonMedley, [(0, 0.0, 1.0, True)] * 3 + [(1, 0.0, 1.0, False)])
    rng = np.random.default_rng(1)
    means = -np.mean([schedule.order(np.zeros(0), rng) for _ in range(20_000)], axis=0)
    assert means == pytest.approx([4 / 5, 1 / 3, 1 / 2], abs=0.01)


def test_exp3_follows_its_formula() -> None:
    schedule = Exp3Medley(n_algorithms=2, seed=0, representation=pipeline("none", 0), gamma=0.2)
    weights = np.ones(2)
    for algorithm, seconds in ((0, 20.0), (0, 10.0), (1, 60.0)):
        p = 0.8 * weights / weights.sum() + 0.2 / 2
        weights[algorithm] *= math.exp(0.2 * (1.0 - seconds / 100.0) / (p[algorithm] * 2))
        schedule.learn(algorithm, np.zeros(0), Outcome.solved(seconds), FRESH, 100.0)
    expected = 0.8 * weights / weights.sum() + 0.1
    assert schedule.probabilities() == pytest.approx(expected)
    rng = np.random.default_rng(2)
    firsts = [int(schedule.order(np.zeros(0), rng).argmin()) for _ in range(20_000)]
    assert np.bincount(firsts) / 20_000 == pytest.approx(expected, abs=0.012)


def test_the_last_to_run_gets_what_is_left() -> None:
    schedule = _taught(ThompsonMedley, [(0, 0.0, 1.0, True)])
    progress = Progress(100.0, 60.0, np.array([1.0, 59.0, 0.0]))
    last = schedule.proceed(np.zeros(2), None, progress)
    assert last is not None
    assert (last.algorithm, last.budget) == (2, 40.0)
    assert schedule.proceed(np.zeros(2), None, Progress(100.0, 90.0, np.array([1.0, 2.0, 3.0]))) is None
