"""The online greedy schedule against Exp3 by hand, and against the greedy choice found by brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from tailcut.peers.schedules import DURATIONS, SHARES, OnlineGreedy, _exp3
from tailcut.types import Outcome, Progress

FRESH = Progress(64.0, 0.0, np.zeros(2))


def _served(schedule: OnlineGreedy, runtimes: np.ndarray, rounds: int) -> None:
    for step in range(rounds):
        choice = schedule.choose(np.zeros(0), None, FRESH)
        taken = float(runtimes[step % len(runtimes), choice.algorithm])
        outcome = Outcome.solved(taken) if taken <= choice.budget else Outcome.censored(choice.budget)
        schedule.learn(choice.algorithm, choice.x, outcome, FRESH, choice.budget)


def test_gains_are_those_of_exp3() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0, gamma=0.2, slots=3)
    weights = np.ones((3, 2, 6))
    for _ in range(80):
        choice = schedule.choose(np.zeros(0), None, FRESH)
        slot, duration = min(int(choice.x[0]), 2), int(choice.x[1])
        p = 0.8 * weights[slot] / weights[slot].sum() + 0.2 / 12
        assert choice.x[2] == pytest.approx(p[choice.algorithm, duration])
        assert choice.budget == 64.0 * DURATIONS[duration]
        solved = choice.algorithm == 1 and choice.budget >= 8.0
        if solved:
            reward = 1.0 if choice.x[0] < 3 else 2.0 / choice.budget
            weights[slot, 1, duration] *= math.exp(0.2 * reward / (p[1, duration] * 12))
        outcome = Outcome.solved(8.0) if solved else Outcome.censored(choice.budget)
        schedule.learn(choice.algorithm, choice.x, outcome, FRESH, choice.budget)
    for slot in range(3):
        expected = 0.8 * weights[slot] / weights[slot].sum() + 0.2 / 12
        assert _exp3(schedule.gains[slot], schedule.gamma) == pytest.approx(expected)


def test_a_run_takes_its_slot_with_the_shortest_duration_over_its_own() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0)
    first = np.array([schedule.choose(np.zeros(0), None, FRESH).x for _ in range(6000)])
    in_first = first[first[:, 0] == 0.0]
    counts = np.bincount(in_first[:, 1].astype(int), minlength=6)
    expected = SHARES / 6  # all are drawn equally often
    assert np.abs(counts / 6000 - expected).max() < 4.0 * np.sqrt(expected.max() / 6000)
    assert first[:, 0].max() > 5.0, "most slots stay empty at times"


def test_behind_the_last_slot_runs_take_place_for_certain() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0, slots=4)
    x = np.array([3.0, 5.0, 0.5])
    durations = []
    for _ in range(600):
        further = schedule.proceed(x, None, FRESH)
        assert further is not None
        assert further.x[0] == 4.0
        durations.append(int(further.x[1]))
    assert np.bincount(durations).min() > 60, "all durations, equally often"
    schedule.learn(1, np.array([4.0, 0.0, 0.5]), Outcome.solved(40.0), FRESH, 64.0)
    assert schedule.gains[3, 1, 0] == pytest.approx(0.1 / 32 / (0.5 * 12))


def test_slots_take_the_cutoff_on_average() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0)
    lengths = []
    for _ in range(400):
        length, x = 0.0, np.zeros(0)
        choice = schedule.choose(np.zeros(0), None, FRESH)
        while choice.x[0] < 32.0:
            length, x = length + choice.budget, choice.x
            following = schedule.proceed(x, None, FRESH)  # as if time were unlimited and nobody had failed
            assert following is not None
            choice = following
        lengths.append(length)
    assert np.mean(lengths) == pytest.approx(64.0, abs=4.0 * float(np.std(lengths)) / 20.0)


def test_the_first_slot_learns_the_greedy_run() -> None:
    runtimes = np.array([[3.0, 30.0], [3.5, 30.0], [99.0, 30.0], [3.0, 99.0], [99.0, 20.0]])

    def per_second(run: tuple[int, float]) -> float:
        algorithm, share = run
        return float((runtimes[:, algorithm] <= 64.0 * share).mean()) / share

    algorithm, share = max(product((0, 1), DURATIONS.tolist()), key=per_second)
    schedule = OnlineGreedy(n_algorithms=2, seed=1, gamma=0.3)
    _served(schedule, runtimes, 8000)
    found = np.unravel_index(int(schedule.gains[0].argmax()), schedule.gains[0].shape)
    assert (int(found[0]), float(DURATIONS[found[1]])) == (algorithm, share)


def test_a_run_that_failed_is_followed_by_a_longer_one_or_another() -> None:
    schedule = OnlineGreedy(n_algorithms=2, seed=0)
    for _ in range(100):
        following = schedule.proceed(
            np.array([0.0, 1.0, 0.5]), None, Progress(64.0, 32.0, np.array([32.0, 0.0]))
        )
        assert following is not None
        assert following.algorithm == 1, "32 s are left: not enough for the first"
        assert following.x[0] >= 1.0
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
