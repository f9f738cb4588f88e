"""Neighbours: who is near, what they say, how far they are trusted, what is kept and what is saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tailcut.errors import StateFileError
from tailcut.models.trees import Trees
from tailcut.schedules.neighbours import (
    DISTRUST,
    DOUBT,
    NEAREST,
    TREES,
    TRUST,
    Near,
    Neighbours,
    PastRuns,
    expected_losses,
)
from tailcut.state import statefile
from tailcut.types import Array

CUTS = np.array([0.1, 0.4, 1.0])


def _neighbours(size: int = 1000, **options: Any) -> Neighbours:
    return Neighbours(**{"size": size, "n_algorithms": 3, "n_features": 2, "seed": 0, **options})


def _stirred(seed: int = 1, *, count: int = 60, runs: int = 150, size: int = 1000) -> Neighbours:
    """Return neighbours that have seen runs on few instances, and have grown their trees."""
    neighbours = _neighbours(size)
    _stir(neighbours, seed, count, runs)
    neighbours.grow(expected_losses(neighbours.runs(), 0.3))
    return neighbours


def _stir(neighbours: Neighbours, seed: int, count: int = 60, runs: int = 150) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 2))
    for _ in range(runs):
        row, algorithm = int(rng.integers(count)), int(rng.integers(3))
        neighbours.put(x[row], algorithm, float(rng.uniform(0.01, 1.0)), rng.random() < 0.5, 0.3)


def _leaf(forest: Trees, tree: int, x: Array) -> int:
    """Return where an instance ends in a tree, one step after the other."""
    node = int(forest.roots[tree])
    while forest.feature[node] >= 0:
        beyond = x[forest.feature[node]] > forest.threshold[node]
        node = int(forest.child[node]) + int(beyond)
    return int(forest.child[node])


def _alike(neighbours: Neighbours, x: Array) -> Array:
    """Return how much each instance kept is like `x`, by walking all of them down all trees."""
    forest, runs = neighbours.forest, neighbours.runs()
    weight = np.zeros(len(runs.x))
    for tree in range(len(forest)):
        same = np.array([_leaf(forest, tree, one) for one in runs.x]) == _leaf(forest, tree, x)
        weight += same / same.sum() / len(forest)
    weight[(runs.x == x).all(axis=1)] = 0.0
    return weight


def test_near_are_the_instances_in_the_same_leaves() -> None:
    neighbours = _stirred()
    for x in np.random.default_rng(5).normal(size=(10, 2)):
        near, weight = neighbours.near(x), _alike(neighbours, x)
        best = np.sort(weight)[::-1][:NEAREST]
        best = best[best > 0.0]
        np.testing.assert_allclose(near.weight, best / best.sum(), rtol=1e-12)
        np.testing.assert_allclose(weight[near.rows], best, rtol=1e-12)


def test_an_instance_is_not_its_own_neighbour() -> None:
    neighbours = _stirred()
    runs = neighbours.runs()
    for row in range(len(runs.x)):
        near, weight = neighbours.near(runs.x[row]), _alike(neighbours, runs.x[row])
        assert row not in near.rows
        np.testing.assert_allclose(weight[near.rows], np.sort(weight)[::-1][: len(near.rows)], rtol=1e-12)
        assert near.weight.sum() == pytest.approx(1.0)


def test_no_more_are_near_than_are_looked_at() -> None:
    neighbours = _neighbours()
    for number in range(3 * NEAREST):  # all cost the same, but not the same instance: leaves are large
        neighbours.put(np.array([float(number), 0.0]), 0, 1.0, False, 0.0)
    neighbours.grow(expected_losses(neighbours.runs(), 0.3))
    assert len(neighbours.near(np.array([7.5, 0.0])).rows) <= NEAREST


def test_without_trees_nobody_is_near_or_trusted() -> None:
    neighbours = _neighbours()
    near = neighbours.near(np.zeros(2))
    assert (len(near.rows), len(near.weight), neighbours.trust) == (0, 0, 0.0)
    neighbours.weigh(0.9, 0.1)
    assert (neighbours.trusted, neighbours.distrusted) == (TRUST, DISTRUST)


def test_trees_need_features_and_instances() -> None:
    empty, blind = _neighbours(), _neighbours(n_features=0)
    blind.put(np.zeros(0), 0, 1.0, False, 0.0)
    for neighbours in (empty, blind):
        neighbours.grow(expected_losses(neighbours.runs(), 0.3))
        assert not neighbours.grown


def test_what_a_neighbour_says_of_each_algorithm() -> None:
    """The first solved it in the middle interval, the second was stopped there, the third has not run."""
    neighbours = _neighbours()
    x = np.array([1.0, 2.0])
    neighbours.put(x, 0, 0.3, True, 0.5)
    neighbours.put(x, 1, 0.3, False, 0.5)
    base = np.array([[-1.0, 2.0, 0.5], [-1.0, 2.0, 0.5], [-1.0, 2.0, 0.5]])
    odds = neighbours.odds(Near(np.array([0]), np.array([1.0])), base, CUTS)
    doubt = np.log(DOUBT)
    expected = [
        # Not before, most likely; then it solves; what comes after that does not matter.
        [doubt - 0.5, -doubt, 0.0],
        # Not before; from the interval in which it was stopped on it is as without neighbours, but as hard.
        [doubt - 0.5, 2.5, 1.0],
        [-0.5, 2.5, 1.0],
    ]
    np.testing.assert_allclose(odds[:, :, 0], expected, rtol=1e-12)


def test_a_timeout_fails_up_to_the_last_interval_whatever_is_expected() -> None:
    neighbours = _neighbours()
    neighbours.put(np.zeros(2), 0, 1.0, False, 0.0)
    odds = neighbours.odds(Near(np.array([0]), np.array([1.0])), np.full((3, 3), 4.0), CUTS)
    np.testing.assert_allclose(odds[0, :2, 0], np.log(DOUBT))  # likely before: then as good as even


def test_trust_follows_bayes_rule() -> None:
    neighbours = _stirred()
    neighbours.trusted, neighbours.distrusted = 2.0, 6.0
    assert neighbours.trust == 0.25
    neighbours.weigh(0.8, 0.4)  # 0.25 * 0.8 against 0.75 * 0.4
    assert neighbours.trusted == pytest.approx(2.4)
    assert neighbours.distrusted == pytest.approx(6.6)
    assert neighbours.trust == pytest.approx(2.4 / 9.0)


def test_what_could_not_have_been_says_nothing_of_trust() -> None:
    neighbours = _stirred()
    before = neighbours.trusted, neighbours.distrusted
    neighbours.weigh(0.0, 0.0)
    assert (neighbours.trusted, neighbours.distrusted) == before


def test_runs_on_the_same_features_are_one_row() -> None:
    neighbours = _neighbours()
    one, other = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    neighbours.put(one, 0, 0.2, True, 0.1)
    neighbours.put(other, 0, 0.3, False, 0.2)
    neighbours.put(one, 2, 0.4, False, 0.3)
    runs = neighbours.runs()
    np.testing.assert_array_equal(runs.x, [one, other])
    np.testing.assert_array_equal(runs.end, [[0.2, 0.0, 0.4], [0.3, 0.0, 0.0]])
    np.testing.assert_array_equal(runs.solved, [[True, False, False], [False, False, False]])
    np.testing.assert_array_equal(runs.hardness, [0.3, 0.2])  # the latest word
    assert (neighbours.kept, neighbours.seen) == (2, 2)


def test_of_slices_the_longest_is_kept_and_a_solution_always() -> None:
    neighbours, x = _neighbours(), np.zeros(2)

    def put(end: float, solved: bool) -> tuple[float, bool]:
        neighbours.put(x, 0, end, solved, 0.0)
        runs = neighbours.runs()
        return float(runs.end[0, 0]), bool(runs.solved[0, 0])

    assert put(0.4, False) == (0.4, False)
    assert put(0.2, False) == (0.4, False)
    assert put(0.5, False) == (0.5, False)
    assert put(0.3, True) == (0.3, True)  # a run from scratch with more luck


def test_how_long_an_algorithm_failed() -> None:
    neighbours, x = _neighbours(), np.zeros(2)
    neighbours.put(x, 0, 0.4, False, 0.0)
    neighbours.put(x, 1, 0.4, True, 0.0)
    assert [neighbours.failed_for(x, algorithm) for algorithm in range(3)] == [0.4, 0.0, 0.0]
    assert neighbours.failed_for(np.ones(2), 0) == 0.0


def test_the_sample_is_bounded_and_of_the_whole_past() -> None:
    thirds = np.zeros(3)
    for seed in range(50):
        neighbours = _neighbours(30, seed=seed, n_features=1)
        for number in range(300):
            neighbours.put(np.array([float(number)]), 0, 0.5, True, 0.0)
        runs = neighbours.runs()
        assert (len(runs.x), neighbours.seen) == (30, 300)
        assert len(np.unique(runs.x)) == 30
        thirds += np.bincount((runs.x[:, 0] // 100).astype(int), minlength=3)
    np.testing.assert_allclose(thirds / 50, 10.0, atol=1.4)  # four standard errors


def test_a_row_taken_by_another_instance_knows_nothing_of_the_first() -> None:
    neighbours = _neighbours(1, n_features=1)
    neighbours.put(np.array([0.0]), 0, 0.5, True, 0.0)
    number = 0.0
    while neighbours.runs().x[0, 0] == 0.0:
        number += 1.0
        neighbours.put(np.array([number]), 1, 0.7, False, 0.0)
    assert neighbours.runs().end.tolist() == [[0.0, 0.7, 0.0]]
    assert not neighbours.runs().solved.any()
    seen = neighbours.seen
    neighbours.put(np.array([0.0]), 0, 0.5, True, 0.0)  # gone, so it is new
    assert neighbours.seen == seen + 1


def test_room_is_made_without_losing_anyone() -> None:
    neighbours = _neighbours(n_features=1)
    for number in range(200):
        neighbours.put(np.array([float(number)]), number % 3, 0.5, True, float(number))
    runs = neighbours.runs()
    np.testing.assert_array_equal(runs.x[:, 0], np.arange(200.0))
    np.testing.assert_array_equal(runs.hardness, np.arange(200.0))
    np.testing.assert_array_equal(np.nonzero(runs.end)[1], np.arange(200) % 3)


def test_trees_are_due_when_there_are_more_instances() -> None:
    neighbours = _neighbours(n_features=1)
    due = []
    for number in range(30):
        neighbours.put(np.array([float(number)]), 0, 0.5, True, 0.0)
        if neighbours.due:
            due.append(neighbours.seen)
            neighbours.grow(expected_losses(neighbours.runs(), 0.3))
    assert due == [5, 6, 7, 9, 11, 13, 15, 18, 21, 25, 29]  # each at least 15 % more than the one before
    assert neighbours.grown
    assert len(neighbours.forest) == TREES


def test_an_algorithm_more_has_not_run() -> None:
    neighbours = _stirred()
    before = [values.copy() for values in neighbours.runs()]
    neighbours.add()
    runs = neighbours.runs()
    np.testing.assert_array_equal(runs.end, np.hstack([before[1], np.zeros((len(before[1]), 1))]))
    np.testing.assert_array_equal(runs.solved[:, :3], before[2])
    assert not runs.solved[:, 3].any()
    neighbours.put(runs.x[4].copy(), 3, 0.5, True, 0.0)
    assert (neighbours.runs().end[4, 3], neighbours.kept) == (0.5, len(before[0]))


def test_an_algorithm_that_leaves_takes_its_runs_along() -> None:
    neighbours = _stirred()
    before = [values.copy() for values in neighbours.runs()]
    neighbours.remove(1)
    runs = neighbours.runs()
    np.testing.assert_array_equal(runs.end, before[1][:, [0, 2]])
    np.testing.assert_array_equal(runs.solved, before[2][:, [0, 2]])
    np.testing.assert_array_equal(runs.x, before[0])
    np.testing.assert_array_equal(runs.hardness, before[3])


def test_with_other_features_all_instances_are_new() -> None:
    neighbours = _stirred()
    neighbours.widen(4)
    assert (neighbours.kept, neighbours.seen, neighbours.grown, neighbours.trust) == (0, 0, False, 0.0)
    neighbours.put(np.arange(4.0), 2, 0.5, True, 0.0)
    assert neighbours.runs().x.tolist() == [[0.0, 1.0, 2.0, 3.0]]


def _restored(neighbours: Neighbours, size: int = 1000) -> Neighbours:
    again = _neighbours(size)
    again.restore(statefile.unpack(statefile.pack(neighbours.state())))
    return again


@pytest.mark.parametrize("grown", [False, True])
def test_restored_they_continue_bit_for_bit(grown: bool) -> None:
    one = _neighbours(40)
    _stir(one, 1)
    if grown:
        one.grow(expected_losses(one.runs(), 0.3))
        one.weigh(0.7, 0.2)
    other = _restored(one, 40)
    for _ in range(2):
        assert statefile.pack(one.state()) == statefile.pack(other.state())
        for x in np.random.default_rng(3).normal(size=(5, 2)):
            for here, there in zip(one.near(x), other.near(x), strict=True):
                np.testing.assert_array_equal(here, there)
        for each in (one, other):
            _stir(each, 2)
            each.grow(expected_losses(each.runs(), 0.3))


Damage = Callable[[dict[str, Any]], object]

DAMAGES: dict[str, Damage] = {
    "seen": lambda state: state.update(seen=3),
    "no trust": lambda state: state.update(trusted=0.0),
    "endless trust": lambda state: state.update(trusted=np.inf),
    "a field missing": lambda state: state["filled"].pop("end"),
    "a list": lambda state: state["filled"].update(end=[0.5]),
    "a row missing": lambda state: state["filled"].update(end=state["filled"]["end"][1:]),
    "another width": lambda state: state["filled"].update(x=state["filled"]["x"][:, :1]),
    "another type": lambda state: state["filled"].update(solved=state["filled"]["end"]),
    "nan": lambda state: state["filled"]["hardness"].__setitem__(2, np.nan),
    "one instance twice": lambda state: state["filled"]["x"].__setitem__(2, state["filled"]["x"][3]),
    "a number as trees": lambda state: state.update(forest=7),
    "members of another tree": lambda state: state.update(members=state["members"][1:]),
    "a member beyond the end": lambda state: state["members"].__setitem__((0, 0), 10_000),
    "a member twice": lambda state: state["members"].__setitem__((0, 0), state["members"][0, 1]),
    "more members": lambda state: state.update(members=np.tile(state["members"], (1, 2))),
    "a leaf without instances": lambda state: state["spans"].__setitem__((0, 1), state["spans"][0, 0]),
    "a leaf beyond the end": lambda state: state["spans"].__setitem__((0, 1), 10_000),
    "a leaf too few": lambda state: state.update(spans=state["spans"][1:]),
    "a feature that is not there": lambda state: state["forest"]["feature"].__setitem__(
        state["forest"]["feature"] >= 0, 2
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_state_is_refused(damage: Damage) -> None:
    state = statefile.unpack(statefile.pack(_stirred().state()))
    damage(state)
    with pytest.raises(StateFileError):
        _neighbours().restore(state)


def test_a_state_of_more_instances_than_there_is_room_for_is_refused() -> None:
    with pytest.raises(StateFileError):
        _restored(_stirred(), size=5)


def test_what_runs_cost_against_a_plain_average() -> None:
    rng = np.random.default_rng(4)
    end = np.where(rng.random((40, 3)) < 0.3, 0.0, rng.choice([0.05, 0.2, 0.5, 1.0], (40, 3)))
    solved = (end > 0.0) & (rng.random((40, 3)) < 0.5)
    runs = PastRuns(np.zeros((40, 0)), end, solved, np.zeros(40))
    share = 0.3
    finished = [
        (seconds if done else np.inf, share * np.log1p(99.0 * seconds) / np.log(100.0) if done else 1.0)
        for seconds, done in zip(end.ravel().tolist(), solved.ravel().tolist(), strict=True)
        if done or seconds == 1.0
    ]

    def cost(seconds: float, done: bool) -> float:
        if seconds == 0.0:
            return np.nan
        if done:
            return float(share * np.log1p(99.0 * seconds) / np.log(100.0))
        if seconds == 1.0:
            return 1.0
        later = [loss for other, loss in finished if other > seconds]
        return float(np.mean([*later, 1.0]))  # and one that never ended, so that there is one at all

    expected = [
        [cost(*run) for run in zip(*row, strict=True)]
        for row in zip(end.tolist(), solved.tolist(), strict=True)
    ]
    np.testing.assert_allclose(expected_losses(runs, share), expected, rtol=1e-12)


def test_costs_at_both_ends() -> None:
    end, solved = np.array([[1.0, 1.0, 0.5, 0.0]]), np.array([[True, False, False, False]])
    losses = expected_losses(PastRuns(np.zeros((1, 0)), end, solved, np.zeros(1)), 0.3)
    np.testing.assert_allclose(losses, [[0.3, 1.0, (0.3 + 1.0 + 1.0) / 3.0, np.nan]])
