"""The online greedy schedule against Exp3 by hand, and against the greedy choice found by brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from tailcut.peers.online_greedy import DURATIONS, OnlineGreedy
from tailcut.types import Outcome, Progress

FRESH = Progress(64.0, 0.0, np.zeros(2))


def _served(schedule: OnlineGreedy, runtimes: np.ndarray, rounds: int) -> None:
    for step in range(rounds):
        choice = schedule.choose(np.zeros(0), None, FRESH)
        taken = float(runtimes[step % len(runtimes), choice.algorithm])
        outcome = Outcome.solved(taken) if taken <= choice.budget else Outcome.censored(choice.budget)
        schedule.learn(choice.algorithm, choice.x, outcome, FRESH, choice.budget)


def test_gains_are_those_of_exp3() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0, gamma=0.2)
    weights = np.ones((2, 6))
    for _ in range(50):
        choice = schedule.choose(np.zeros(0), None, FRESH)
        duration = int(choice.x[1])
        p = 0.8 * weights / weights.sum() + 0.2 / 12
        assert choice.x[2] == pytest.approx(p[choice.algorithm, duration])
        assert choice.budget == 64.0 * DURATIONS[duration]
        solved = choice.algorithm == 1 and choice.budget >= 8.0
        if solved:
            reward = 2.0 / choice.budget
            weights[1, duration] *= math.exp(0.2 * reward / (p[1, duration] * 12))
        outcome = Outcome.solved(8.0) if solved else Outcome.censored(choice.budget)
        schedule.learn(choice.algorithm, choice.x, outcome, FRESH, choice.budget)
    assert schedule.probabilities(0) == pytest.approx(0.8 * weights / weights.sum() + 0.2 / 12)


def test_the_first_place_learns_the_greedy_run() -> None:
    runtimes = np.array([[3.0, 30.0], [3.5, 30.0], [99.0, 30.0], [3.0, 99.0], [99.0, 20.0]])

    def per_second(run: tuple[int, float]) -> float:
        algorithm, share = run
        return float((runtimes[:, algorithm] <= 64.0 * share).mean()) / share

    algorithm, share = max(product((0, 1), DURATIONS.tolist()), key=per_second)
    schedule = OnlineGreedy(n_algorithms=2, seed=1, gamma=0.3)
    _served(schedule, runtimes, 4000)
    found = np.unravel_index(int(schedule.gains[0].argmax()), schedule.gains[0].shape)
    assert (int(found[0]), float(DURATIONS[found[1]])) == (algorithm, share)


def test_a_run_that_failed_is_followed_by_a_longer_one_or_another() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0)
    for _ in range(100):
        following = schedule.proceed(
            np.array([0.0, 1.0, 0.5]), None, Progress(64.0, 32.0, np.array([32.0, 0.0]))
        )
        assert following is not None
        assert (following.algorithm, following.x[0]) == (1, 1.0), "32 s are left: not enough for the first"
    assert (
        schedule.proceed(np.array([0.0, 0.0, 0.5]), None, Progress(64.0, 60.0, np.array([32.0, 28.0])))
        is None
    )


def test_recorded_runs_say_which_durations_are_long_enough() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0)
    schedule.learn(0, np.zeros(0), Outcome.solved(10.0), FRESH, 64.0)
    assert (schedule.gains[0, 0] > 0.0).tolist() == [True, True, True, False, False, False]
    assert schedule.gains[0, 0, 2] == schedule.gains[0, 0].max(), (
        "the shortest that is long enough earns most"
    )
    assert not schedule.gains[0, 1].any()
