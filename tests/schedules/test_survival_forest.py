"""The survival forest: shifts, who is near, what they say, trust, what is kept and what is saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from tailcut import state as statefile
from tailcut.errors import StateFileError
from tailcut.numerics.survival_kernels import slopes
from tailcut.schedules.curves import CUTS
from tailcut.schedules.hazards import Hardness, Hazards
from tailcut.schedules.survival_forest import (
    ALIKE,
    DISTRUST,
    LARGEST,
    LEAST_CURVATURE,
    LOCAL,
    NEAREST,
    TREES,
    TRUST,
    Near,
    SurvivalForest,
)
from tailcut.types import Array

ODDS = Hazards(n_algorithms=3).log_odds()
CLASSES = np.eye(len(Hardness().shift))
"""Certainly of each class of hardness."""
MIDDLE = CLASSES[2]
"""Certainly of the class of hardness 0."""


def _forest(size: int = 1000, **options: Any) -> SurvivalForest:
    given = {"size": size, "n_algorithms": 3, "n_features": 2, "hardness": Hardness(), "seed": 0}
    return SurvivalForest(**{**given, **options})


def _stir(forest: SurvivalForest, seed: int, count: int = 60, runs: int = 150) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 2))
    for _ in range(runs):
        row, algorithm = int(rng.integers(count)), int(rng.integers(3))
        forest.put(x[row], algorithm, float(rng.uniform(0.01, 1.0)), rng.random() < 0.5, MIDDLE)


def _stirred(seed: int = 1, *, count: int = 60, runs: int = 150, size: int = 1000) -> SurvivalForest:
    """Return a forest that has seen runs on few instances, and has grown its trees."""
    forest = _forest(size)
    _stir(forest, seed, count, runs)
    forest.grow(ODDS, CUTS)
    return forest


def _path(forest: SurvivalForest, tree: int, x: Array) -> list[int]:
    """Return the nodes that an instance passes in a tree, one step after the other."""
    trees = forest.forest
    path = [int(trees.roots[tree])]
    while trees.feature[path[-1]] >= 0:
        beyond = x[trees.feature[path[-1]]] > trees.threshold[path[-1]]
        path.append(int(trees.child[path[-1]]) + int(beyond))
    return path


def _alike(forest: SurvivalForest, x: Array) -> Array:
    """Return how much each instance kept is like `x`, by walking all of them down all trees."""
    kept = forest.table().x
    weight = np.zeros(len(kept))
    for tree in range(len(forest.forest)):
        paths = [_path(forest, tree, one) for one in kept]
        left = 1.0
        for node in reversed(_path(forest, tree, x)):
            here = np.array([node in path for path in paths])
            size = int(here.sum())
            if size > LARGEST and left < 1.0:
                break
            weight += here * left / (size + ALIKE)
            left *= ALIKE / (size + ALIKE)
    weight[(kept == x).all(axis=1)] = 0.0
    return weight


@pytest.mark.parametrize(("count", "runs"), [(60, 150), (150, 300)])
def test_near_are_the_instances_on_the_same_paths(count: int, runs: int) -> None:
    forest = _stirred(count=count, runs=runs)
    for x in np.random.default_rng(5).normal(size=(5, 2)):
        near, weight = forest.near(x), _alike(forest, x)
        best = np.sort(weight)[::-1][:NEAREST]
        best = best[best > 0.0]
        assert len(near.rows) == len(best)
        np.testing.assert_allclose(np.sort(near.weight)[::-1], best / best.sum(), rtol=1e-9)
        np.testing.assert_allclose(weight[near.rows] / best.sum(), near.weight, rtol=1e-9)


def test_an_instance_is_not_like_itself() -> None:
    forest = _stirred(count=30, runs=60)
    runs = forest.table()
    for row in range(0, len(runs.x), 5):
        near, weight = forest.near(runs.x[row].copy()), _alike(forest, runs.x[row])
        assert row not in near.rows
        np.testing.assert_allclose(near.weight, weight[near.rows] / weight.sum(), rtol=1e-9)
        assert near.weight.sum() == pytest.approx(1.0)


def test_no_more_are_near_than_are_looked_at() -> None:
    forest = _stirred(count=400, runs=800)
    near = forest.near(np.zeros(2))
    assert len(near.rows) == NEAREST
    assert near.weight.sum() == pytest.approx(1.0)
    assert (np.diff(near.rows) > 0).all()


def test_without_trees_nothing_is_shifted_near_or_trusted() -> None:
    forest = _forest()
    near = forest.near(np.zeros(2))
    assert (len(near.rows), len(near.weight), forest.trust) == (0, 0, 0.0)
    np.testing.assert_array_equal(forest.shift(np.zeros(2)), np.zeros(3))
    np.testing.assert_array_equal(forest.classes(near), forest.hardness.frequencies())
    forest.weigh(0.9, 0.1)
    assert (forest.trusted, forest.distrusted) == (TRUST, DISTRUST)


def test_trees_need_features_and_instances() -> None:
    empty, blind = _forest(), _forest(n_features=0)
    blind.put(np.zeros(0), 0, 1.0, False, MIDDLE)
    for forest in (empty, blind):
        forest.grow(ODDS, CUTS)
        assert not forest.grown


def test_the_root_moves_by_the_slopes_over_the_curvatures() -> None:
    """Instances of the same features cannot be split: one node, one step from a shift of nothing."""
    forest = _forest(n_features=1)
    for number, (end, solved) in enumerate([(0.01, True), (0.5, True), (1.0, False), (0.2, False)]):
        forest.put(np.array([0.0 if number % 2 else -0.0]), number % 3, end, solved, MIDDLE)
    forest.grow(ODDS, CUTS)
    runs = forest.table()
    slope, curvature, classes = slopes(
        ODDS,
        runs.end,
        runs.solved.view(np.uint8),
        runs.order,
        CUTS,
        forest.hardness.shift,
        forest.hardness.frequencies(),
        LEAST_CURVATURE,
    )
    expected = slope.sum(axis=0) / (curvature.sum(axis=0) + 1.5)
    np.testing.assert_allclose(forest.shift(np.array([7.0])), expected, rtol=1e-12)
    np.testing.assert_array_equal(runs.classes, classes)


def _drawn(odds: Array, rng: np.random.Generator) -> float:
    """Return when a run at these log-odds (J,) ends, as a share of the cutoff; inf if never."""
    ends = np.flatnonzero(rng.random(len(CUTS)) < expit(odds))
    if not len(ends):
        return float(np.inf)
    low, high = np.concatenate(([0.0], CUTS))[ends[0] : ends[0] + 2]
    return float(rng.uniform(low, high))


@pytest.mark.parametrize(("runs", "tolerance"), [(1, 0.35), (3, 0.6)])
def test_a_stream_from_the_model_is_learned(runs: int, tolerance: float) -> None:
    """One feature moves two algorithms apart, the third not at all; runs are stopped by chance.

    Where several run on an instance, each steps as if the others were where they should be: those that move
    apart move too far, one step being all there is. Where only one runs, it may fall short: the time of a
    run is explained by the classes in part.
    """
    rng, hardness = np.random.default_rng(8), Hardness()
    forest = _forest(5000, hardness=hardness)
    moved = np.array([0.8, -0.8, 0.0])
    for _ in range(4000):
        x = rng.normal(size=2)
        hard = rng.choice(hardness.shift, p=hardness.frequencies())
        for a in rng.permutation(3)[:runs]:
            runtime = _drawn(ODDS[a] + moved[a] * np.sign(x[0]) + hard, rng)
            budget = float(rng.choice([0.1, 0.5, 1.0]))
            forest.put(x, a, min(runtime, budget), runtime <= budget, MIDDLE)
    forest.grow(ODDS, CUTS)
    new = rng.normal(size=(400, 2))
    shifts = np.array([forest.shift(x) for x in new]) * np.sign(new[:, :1])
    np.testing.assert_allclose(shifts.mean(axis=0), moved, atol=tolerance)
    assert (shifts[:, 0] > 0.0).mean() > 0.75
    assert (shifts[:, 1] < 0.0).mean() > 0.75


def test_classes_are_those_of_the_instances_alike() -> None:
    forest = _forest()
    hard, easy = CLASSES[0], CLASSES[4]
    forest.put(np.zeros(2), 0, 1.0, False, hard)
    forest.put(np.ones(2), 0, 0.1, True, easy)
    found = forest.classes(Near(np.array([0, 1]), np.array([0.8, 0.2])))
    alike = 1.0 / (0.8**2 + 0.2**2)
    share = alike / (alike + LOCAL)
    everywhere = forest.hardness.frequencies()
    np.testing.assert_allclose(found, share * (0.8 * hard + 0.2 * easy) + (1.0 - share) * everywhere)
    assert found.sum() == pytest.approx(1.0)


def test_what_an_instance_alike_says_of_each_algorithm() -> None:
    """The first solved it at 10%, the second was stopped at 10%, the third has not run."""
    forest, x = _forest(), np.array([1.0, 2.0])
    easy = CLASSES[3]
    forest.put(x, 0, 0.1, True, easy)
    forest.put(x, 1, 0.1, False, easy)
    odds = forest.odds(np.array([0]), ODDS, CUTS)[:, :, -1]  # behind the classes of hardness
    as_hard = ODDS + forest.hardness.shift[3]
    survival = np.cumprod(expit(-odds), axis=1)
    by_base = np.cumprod(expit(-as_hard), axis=1)
    assert survival[0, 1] > 0.85 > 0.2 > survival[0, 3], "it solves between 3 and 20%"
    assert survival[1, 2] > 0.8 > by_base[1, 2], "not before 10%, most likely"
    np.testing.assert_allclose(odds[1, 3:], as_hard[1, 3:])
    np.testing.assert_allclose(odds[2], as_hard[2])


def test_trust_follows_bayes_rule() -> None:
    forest = _stirred()
    forest.trusted, forest.distrusted = 2.0, 6.0
    assert forest.trust == 0.25
    forest.weigh(0.8, 0.4)  # 0.25 * 0.8 against 0.75 * 0.4
    assert forest.trusted == pytest.approx(2.4)
    assert forest.distrusted == pytest.approx(6.6)
    assert forest.trust == pytest.approx(2.4 / 9.0)


def test_what_could_not_have_been_says_nothing_of_trust() -> None:
    forest = _stirred()
    before = forest.trusted, forest.distrusted
    forest.weigh(0.0, 0.0)
    assert (forest.trusted, forest.distrusted) == before


def test_runs_on_the_same_features_are_one_row() -> None:
    forest = _forest()
    one, other = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    classes = CLASSES
    forest.put(one, 0, 0.2, True, classes[1])
    forest.put(other, 0, 0.3, False, classes[2])
    forest.put(one, 2, 0.4, False, classes[3])
    runs = forest.table()
    np.testing.assert_array_equal(runs.x, [one, other])
    np.testing.assert_array_equal(runs.end, [[0.2, 0.0, 0.4], [0.3, 0.0, 0.0]])
    np.testing.assert_array_equal(runs.solved, [[True, False, False], [False, False, False]])
    np.testing.assert_array_equal(runs.classes, classes[[3, 2]])  # the latest word
    assert (forest.kept, forest.seen) == (2, 2)


def test_of_slices_the_longest_is_kept_and_a_solution_always() -> None:
    forest, x = _forest(), np.zeros(2)

    def put(end: float, solved: bool) -> tuple[float, bool]:
        forest.put(x, 0, end, solved, MIDDLE)
        runs = forest.table()
        return float(runs.end[0, 0]), bool(runs.solved[0, 0])

    assert put(0.4, False) == (0.4, False)
    assert put(0.2, False) == (0.4, False)
    assert put(0.5, False) == (0.5, False)
    assert put(0.3, True) == (0.3, True)  # a run from scratch with more luck
    assert put(0.6, False) == (0.3, True)


def test_how_long_an_algorithm_failed() -> None:
    forest, x = _forest(), np.zeros(2)
    forest.put(x, 0, 0.4, False, MIDDLE)
    forest.put(x, 1, 0.4, True, MIDDLE)
    assert [forest.failed_for(x, algorithm) for algorithm in range(3)] == [0.4, 0.0, 0.0]
    assert forest.failed_for(np.ones(2), 0) == 0.0


def test_the_sample_is_bounded_and_of_the_whole_past() -> None:
    thirds = np.zeros(3)
    for seed in range(50):
        forest = _forest(30, seed=seed, n_features=1)
        for number in range(300):
            forest.put(np.array([float(number)]), 0, 0.5, True, MIDDLE)
        runs = forest.table()
        assert (len(runs.x), forest.seen) == (30, 300)
        assert len(np.unique(runs.x)) == 30
        thirds += np.bincount((runs.x[:, 0] // 100).astype(int), minlength=3)
    np.testing.assert_allclose(thirds / 50, 10.0, atol=1.4)  # four standard errors


def test_a_row_taken_by_another_instance_knows_nothing_of_the_first() -> None:
    forest = _forest(1, n_features=1)
    forest.put(np.array([0.0]), 0, 0.5, True, MIDDLE)
    number = 0.0
    while forest.table().x[0, 0] == 0.0:
        number += 1.0
        forest.put(np.array([number]), 1, 0.7, False, MIDDLE)
    assert forest.table().end.tolist() == [[0.0, 0.7, 0.0]]
    assert not forest.table().solved.any()
    seen = forest.seen
    forest.put(np.array([0.0]), 0, 0.5, True, MIDDLE)  # gone, so it is new
    assert forest.seen == seen + 1


def test_room_is_made_without_losing_anyone() -> None:
    forest = _forest(n_features=1)
    for number in range(200):
        forest.put(np.array([float(number)]), number % 3, 0.5, True, CLASSES[number % 7])
    runs = forest.table()
    np.testing.assert_array_equal(runs.x[:, 0], np.arange(200.0))
    np.testing.assert_array_equal(runs.classes, CLASSES[np.arange(200) % 7])
    np.testing.assert_array_equal(np.nonzero(runs.end)[1], np.arange(200) % 3)


def test_trees_are_due_when_there_are_more_instances() -> None:
    forest = _forest(n_features=1)
    due = []
    for number in range(30):
        forest.put(np.array([float(number)]), 0, 0.5, True, MIDDLE)
        if forest.due:
            due.append(forest.seen)
            forest.grow(ODDS, CUTS)
    assert due == [5, 7, 9, 12, 15, 19, 24, 30]  # each at least 25 % more than the one before
    assert forest.grown
    assert len(forest.forest) == TREES


def test_an_algorithm_more_has_not_run() -> None:
    forest = _stirred()
    before = [values.copy() for values in forest.table()]
    forest.add()
    runs = forest.table()
    np.testing.assert_array_equal(runs.end, np.hstack([before[1], np.zeros((len(before[1]), 1))]))
    np.testing.assert_array_equal(runs.solved[:, :3], before[2])
    assert not runs.solved[:, 3].any()
    forest.put(runs.x[4].copy(), 3, 0.5, True, MIDDLE)
    assert (forest.table().end[4, 3], forest.kept) == (0.5, len(before[0]))


def test_an_algorithm_that_leaves_takes_its_runs_along() -> None:
    forest = _stirred()
    before = [values.copy() for values in forest.table()]
    forest.remove(1)
    runs = forest.table()
    np.testing.assert_array_equal(runs.end, before[1][:, [0, 2]])
    np.testing.assert_array_equal(runs.solved, before[2][:, [0, 2]])
    np.testing.assert_array_equal(runs.x, before[0])
    np.testing.assert_array_equal(runs.order, before[3][:, [0, 2]])
    np.testing.assert_array_equal(runs.classes, before[4])


def test_with_other_features_all_instances_are_new() -> None:
    forest = _stirred()
    forest.add_features(4)
    assert (forest.kept, forest.seen, forest.grown, forest.trust) == (0, 0, False, 0.0)
    forest.put(np.arange(4.0), 2, 0.5, True, MIDDLE)
    assert forest.table().x.tolist() == [[0.0, 1.0, 2.0, 3.0]]


def _restored(forest: SurvivalForest, size: int = 1000) -> SurvivalForest:
    again = _forest(size)
    again.restore(statefile.unpack(statefile.pack(forest.state())))
    return again


@pytest.mark.parametrize("grown", [False, True])
def test_restored_it_continues_bit_for_bit(grown: bool) -> None:
    one = _forest(40)
    _stir(one, 1)
    if grown:
        one.grow(ODDS, CUTS)
        one.weigh(0.7, 0.2)
    other = _restored(one, 40)
    for _ in range(2):
        assert statefile.pack(one.state()) == statefile.pack(other.state())
        for x in np.random.default_rng(3).normal(size=(5, 2)):
            np.testing.assert_array_equal(one.shift(x), other.shift(x))
            for here, there in zip(one.near(x), other.near(x), strict=True):
                np.testing.assert_array_equal(here, there)
        for each in (one, other):
            _stir(each, 2)
            each.grow(ODDS, CUTS)


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
    "nan": lambda state: state["filled"]["classes"].__setitem__((2, 0), np.nan),
    "less than no chance": lambda state: state["filled"]["classes"].__setitem__((2, 0), -0.5),
    "one instance twice": lambda state: state["filled"]["x"].__setitem__(2, state["filled"]["x"][3]),
    "a number as trees": lambda state: state.update(forest=7),
    "members of another tree": lambda state: state.update(members=state["members"][1:]),
    "a member beyond the end": lambda state: state["members"].__setitem__((0, 0), 10_000),
    "a member twice": lambda state: state["members"].__setitem__((0, 0), state["members"][0, 1]),
    "more members": lambda state: state.update(members=np.tile(state["members"], (1, 2))),
    "a node without instances": lambda state: state["spans"].__setitem__((0, 1), state["spans"][0, 0]),
    "a node beyond the end": lambda state: state["spans"].__setitem__((0, 1), 10_000),
    "a node too few": lambda state: state.update(spans=state["spans"][1:]),
    "trees of other algorithms": lambda state: state["forest"].update(loss=state["forest"]["loss"][:, 1:]),
    "a feature that is not there": lambda state: state["forest"]["feature"].__setitem__(
        state["forest"]["feature"] >= 0, 2
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_state_is_refused(damage: Damage) -> None:
    state = statefile.unpack(statefile.pack(_stirred().state()))
    damage(state)
    with pytest.raises(StateFileError):
        _forest().restore(state)


def test_a_state_of_more_instances_than_there_is_room_for_is_refused() -> None:
    with pytest.raises(StateFileError):
        _restored(_stirred(), size=5)


def test_a_later_run_is_not_blamed_for_harder_instances() -> None:
    """The same failure says less of an algorithm when another has failed on the instance before."""

    def shift(*algorithms: int, recorded: bool = False) -> Array:
        forest = _forest(n_features=1)
        for algorithm in algorithms:
            forest.put(np.zeros(1), algorithm, 1.0, False, MIDDLE, recorded=recorded)
        forest.grow(ODDS, CUTS)
        return forest.shift(np.zeros(1))

    first, alone, both, recorded = shift(0), shift(1), shift(0, 1), shift(0, 1, recorded=True)
    assert alone[1] < both[1] < 0.0
    assert both[0] == first[0]  # what came later is no reason
    assert (recorded[1], recorded[2]) == (both[1], 0.0)
    assert first[0] < recorded[0] < 0.0  # recorded runs are taken together


def test_an_instance_is_known_as_far_as_algorithms_ran_there() -> None:
    forest = _forest(n_features=1)
    for number in range(6):
        for algorithm in range(1 + number % 3):
            forest.put(np.array([float(number)]), algorithm, 0.5, True, MIDDLE)
    forest.grow(ODDS, CUTS)
    near = forest.near(np.array([2.5]))
    rows, likely = forest.alike(near)
    assert rows.tolist() == near.rows.tolist()
    assert likely == pytest.approx(forest.trust * near.weight * (1 + near.rows % 3) / 3)
    far = near._replace(weight=np.where(near.rows == 0, 1e-3, near.weight))
    assert forest.alike(far)[0].tolist() == [row for row in near.rows.tolist() if row != 0]
