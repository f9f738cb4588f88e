"""The default selector's model: what it learns, and that it forgets, saves and restores completely."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut import Selector
from tailcut import state as statefile
from tailcut.models import ResidualLayers
from tailcut.models.model import Model
from tailcut.models.residual_layers import MOST_TREES, REGROW
from tailcut.models.trees import Trees
from tailcut.representation import Views
from tailcut.types import Array

ALL = Views(slice(None), slice(None))


def _model(n_algorithms: int = 3, n_features: int = 4, **options: float) -> ResidualLayers:
    return ResidualLayers(n_algorithms=n_algorithms, n_features=n_features, views=ALL, seed=1, **options)  # type: ignore[arg-type]


def _teach(model: ResidualLayers, rng: np.random.Generator, steps: int) -> None:
    """Which algorithm is good depends on the sign of the first feature; the last one is always bad."""
    for _ in range(steps):
        x = rng.normal(size=4)
        algorithm = int(rng.integers(len(model.arms.runs)))
        good = (algorithm == 0) == (x[0] > 0.0) and algorithm < 2
        model.update(algorithm, x, 0.1 if good else 1.0, 1.0)


def _at(model: ResidualLayers, x: Array) -> list[float]:
    return [float(value) for value in model.predict(x)[0]]


def test_who_is_good_where() -> None:
    model = _model()
    _teach(model, np.random.default_rng(0), 300)
    right, left = (_at(model, np.array([value, 0.0, 0.0, 0.0])) for value in (1.0, -1.0))
    assert right[0] < 0.4 < 0.6 < right[1]
    assert left[1] < 0.4 < 0.6 < left[0]
    assert min(right[2], left[2]) > 0.8


def test_a_trend_is_followed_beyond_the_steps_of_the_trees() -> None:
    """On a straight line the ridge beats what trees alone can do."""
    rng = np.random.default_rng(2)
    with_ridge, without = _model(1, ridge=1.0), _model(1, ridge=1e9)
    for _ in range(300):
        x = rng.uniform(-1.0, 1.0, size=4)
        for model in (with_ridge, without):
            model.update(0, x, float(0.5 + 0.1 * x.sum()), 1.0)
    test = rng.uniform(-1.0, 1.0, size=(100, 4))
    errors = [
        np.mean([abs(_at(model, x)[0] - 0.5 - 0.1 * x.sum()) for x in test])
        for model in (with_ridge, without)
    ]
    assert errors[0] < 0.8 * errors[1]


def test_the_views_tell_which_entries_go_where() -> None:
    """Trees that see a constant cannot split, a ridge that sees one has a level only."""
    rng = np.random.default_rng(3)
    model = ResidualLayers(n_algorithms=1, n_features=3, views=Views(slice(0, 1), slice(1, 3)), seed=0)
    for _ in range(100):
        u = float(rng.uniform())
        model.update(0, np.array([1.0, u, -10.0]), float(u > 0.5), 1.0)
    low, high = (_at(model, np.array([1.0, u, -10.0]))[0] for u in (0.2, 0.8))
    assert model.ridge.theta.shape == (1, 1)
    assert low < 0.4 < 0.6 < high


def test_a_removed_algorithm_leaves_nothing_behind() -> None:
    model = _model()
    _teach(model, np.random.default_rng(4), 120)
    x, target, *_ = (part.copy() for part in model.memory.table())
    model.remove(1)
    others = np.isnan(target[:, 1])
    assert np.array_equal(model.memory.table().x, x[others])
    assert np.array_equal(model.memory.table().target, target[others][:, [0, 2]], equal_nan=True)
    assert model.trees.loss.shape[1] == len(model.arms.mean) == len(model.ridge.theta) == 2
    for _ in range(2):  # down to nobody's runs
        model.add()
        model.remove(0)
    assert len(model.memory.table().x) == 0
    np.testing.assert_allclose(_at(model, np.zeros(4)), model.arms.mean)


def test_a_newcomer_is_expected_to_be_like_the_others() -> None:
    model = _model(1)
    rng = np.random.default_rng(5)
    for _ in range(200):
        x = rng.normal(size=4)
        model.update(0, x, 0.3 + 0.2 * float(x[0] > 0.0), 1.0)
    model.add()
    new = _at(model, np.zeros(4))[1]
    assert abs(new - model.arms.mean[1]) < 1e-9
    assert abs(new - 0.4) < 0.1


@pytest.mark.parametrize("steps", [0, 5, 90, 250])
def test_restored_it_continues_bit_for_bit(steps: int) -> None:
    """Also after algorithms have come and gone, and when the memory is full."""
    model = _model(memory=100, trees=5)
    rng = np.random.default_rng(6)
    _teach(model, rng, steps)
    model.remove(1)
    model.add()
    model.add()
    _teach(model, rng, steps // 2)
    other = _model(n_algorithms=4, memory=100, trees=5)
    other.restore(statefile.unpack(statefile.pack(model.state())))
    for copy in (model, other):
        _teach(copy, np.random.default_rng(7), 120)
    assert statefile.pack(model.state()) == statefile.pack(other.state())


def test_the_oldest_trees_are_grown_again_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 200 runs two of ten trees at once, each time that runs have grown by two tenths of a quarter."""
    model = _model(trees=10)
    monkeypatch.setattr("tailcut.models.trees._AT_ONCE", 400 * model.growth.candidates)
    rng = np.random.default_rng(9)
    _teach(model, rng, 199)
    for _ in range(60):
        before, due = model.trees, model._due()
        _teach(model, rng, 1)
        if model.memory.runs < due:
            assert model.trees is before
        else:
            assert model.grown == max(400 // model.memory.runs, 1)
            kept = before.loss[before.rows[model.grown] :]
            assert np.array_equal(model.trees.loss[: len(kept)], kept)
            assert model._due() == pytest.approx(model.memory.runs * (1.0 + REGROW * model.grown / 10))


def test_a_full_memory_is_grown_from_when_half_of_it_is_new() -> None:
    model = _model(memory=50, trees=3)
    _teach(model, np.random.default_rng(10), 400)
    grown_at = model.grown_at
    assert model._due() == 2 * grown_at > 400
    _teach(model, np.random.default_rng(11), 2 * grown_at - 400)
    assert model.grown_at == 2 * grown_at


def test_what_was_predicted_is_not_walked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _model()
    rng = np.random.default_rng(12)
    _teach(model, rng, 40)
    xs = [rng.normal(size=4) for _ in range(5)]
    walks: list[Array] = []
    mean = Trees.mean

    def counted(trees: Trees, x: Array) -> Array:
        walks.append(x)
        return mean(trees, x)

    monkeypatch.setattr(Trees, "mean", counted)
    monkeypatch.setattr(model, "_due", lambda: np.inf)
    for x in xs:
        model.predict(x)
    for x in xs:
        model.update(0, x, 0.5, 1.0)
    assert len(walks) == 5
    assert not model._recent


def test_the_memory_has_an_end() -> None:
    model = _model(memory=60, trees=3)
    rng = np.random.default_rng(8)
    sizes = set()
    for _ in range(5):
        _teach(model, rng, 100)
        sizes.add(len(model.memory.table().x))
    assert sizes == {60}
    assert model.memory.seen == model.memory.runs == 500


def test_there_are_more_trees_with_more_runs_up_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailcut.models.residual_layers.MORE_TREES", 40)
    model = _model(trees=3, memory=100)
    rng = np.random.default_rng(13)
    numbers, lengths = [], []
    for _ in range(20):
        _teach(model, rng, 40)
        numbers.append(len(model.trees))
        lengths.append(len(statefile.pack(model.state())))
    assert numbers[0] == 3
    assert numbers == sorted(numbers)
    assert numbers[-1] == 3 * MOST_TREES
    assert max(lengths[10:]) < 1.2 * lengths[10], "the state has an end, too"


def test_with_thousands_of_instances_trees_are_coarser_and_last_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tailcut.models.residual_layers.MORE_TREES", 40)
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=(200, 2)), np.full((200, 3), np.nan)
    target[np.arange(200), rng.integers(3, size=200)] = rng.random(200)
    few, many = _model(n_features=2), _model(n_features=2)
    few.update_many(x[:199], target[:199])
    many.update_many(x, target)
    leaves = [len(one.trees.loss) / len(one.trees) for one in (few, many)]
    assert leaves[1] <= 200 / 4 < leaves[0], "leaves of four instances, before of two"

    lasts = 0
    while many.grown_at == 200:
        many.update(0, rng.normal(size=2), 0.5, 1.0)
        lasts += 1
    assert lasts == math.ceil(200 * REGROW * math.sqrt(MOST_TREES)), "five times as many trees"


def _recorded(n: int, seed: int, n_algorithms: int = 3) -> tuple[Array, Array]:
    """Return instances and what some algorithms cost on them, as `_teach` does."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    good = (np.arange(n_algorithms) == 0) == (x[:, :1] > 0.0)
    good[:, 2:] = False
    target = np.where(good, 0.1, 1.0)
    target[rng.random(target.shape) < 0.4] = np.nan
    return x, target


def test_in_bulk_is_learned_what_is_learned_one_by_one() -> None:
    """Arms and memory are the same; trees and ridge say much the same."""
    bulk, single = _model(), _model()
    x, target = _recorded(200, 1)
    bulk.update_many(x, target)
    Model.update_many(single, x, target)
    for name in ("arms", "memory"):
        one, other = (statefile.pack(getattr(model, name).state()) for model in (bulk, single))
        assert one == other
    right, left = (_at(bulk, np.array([value, 0.0, 0.0, 0.0])) for value in (1.0, -1.0))
    assert right[0] < 0.4 < 0.6 < right[1]
    assert left[1] < 0.4 < 0.6 < left[0]


def test_after_recorded_runs_there_are_as_many_trees_as_ever_and_they_stay() -> None:
    x, target = _recorded(250, 3)
    model = _model(trees=4)
    model.update_many(x, target)
    runs = int((~np.isnan(target)).sum())
    assert len(model.trees) == model.grown == 4 * MOST_TREES
    assert model.grown_at == model.memory.runs == runs
    _teach(model, np.random.default_rng(4), runs)
    assert model.grown_at > runs
    model.remove(0)
    assert len(model.trees) == 4 * MOST_TREES


def test_a_few_more_recorded_runs_do_not_grow_all_trees_again() -> None:
    model = _model()
    x, target = _recorded(200, 4)
    model.update_many(x, target)
    before, kept = model.trees, model.memory.kept
    model.update_many(x[:0], target[:0])
    more, costs = _recorded(3, 5)
    model.update_many(more, costs)
    assert model.trees is before
    assert model.memory.kept == kept + 3
    model.update_many(*_recorded(100, 6))
    assert model.grown_at == model.memory.runs


@pytest.mark.parametrize("options", [{}, {"memory": 80}, {"window": 60}])
def test_learned_in_bulk_saved_and_restored_it_continues_bit_for_bit(options: dict[str, int]) -> None:
    model, same, other = (_model(trees=4, **options) for _ in range(3))
    for one in (model, same):
        one.update_many(*_recorded(150, 7))
    assert statefile.pack(model.state()) == statefile.pack(same.state())
    other.restore(statefile.unpack(statefile.pack(model.state())))
    for one in (model, other):
        _teach(one, np.random.default_rng(8), 60)
        one.update_many(*_recorded(90, 9))
        one.update_many(*_recorded(2, 10))
    assert statefile.pack(model.state()) == statefile.pack(other.state())


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.lists(
            st.sampled_from([0.0, 1.0, -5.5, 1e300, -1e300, 5e-324, float("nan")]), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=25,
    ),
    cutoff=st.sampled_from([1e-3, 1.0, 1e8]),
    n_algorithms=st.integers(1, 4),
    data=st.data(),
)
def test_scores_stay_finite_and_sane(
    rows: list[list[float]], cutoff: float, n_algorithms: int, data: st.DataObject
) -> None:
    selector = Selector("tailcut", [f"a{i}" for i in range(n_algorithms)], cutoff, trees=3)
    for row in rows:
        decision = selector.select(row)
        assert all(-3.0 < score < 4.0 for score in decision.scores.values())
        if data.draw(st.booleans()):
            selector.observe(decision, runtime=data.draw(st.sampled_from([0.0, 1e-9, 0.5, 1.0])) * cutoff)
        else:
            selector.observe(decision, censored_at=data.draw(st.sampled_from([0.01, 1.0])) * cutoff)


def test_no_features_at_all() -> None:
    selector = Selector("tailcut", ["good", "bad"], 10.0)
    for _ in range(60):
        decision = selector.select([])
        selector.observe(decision, **({"runtime": 1.0} if decision.algorithm == "good" else {"failed": True}))
    picks = [selector.select([]).algorithm for _ in range(10)]
    assert picks.count("good") >= 9


def test_with_a_window_only_the_latest_runs_count() -> None:
    rng = np.random.default_rng(0)
    model = ResidualLayers(
        n_algorithms=3, n_features=2, views=Views(slice(None), slice(None)), seed=0, window=20
    )
    runs = [(int(rng.integers(3)), rng.normal(size=2), float(rng.random())) for _ in range(75)]
    for algorithm, x, loss in runs:
        model.update(algorithm, x, loss, 1.0)
    latest = runs[-20:]
    assert sorted(_kept(model)) == sorted(loss for *_, loss in latest)
    for algorithm in range(3):
        own = [loss for number, _, loss in latest if number == algorithm]
        assert model.arms.runs[algorithm] == len(own)
        assert model.arms.total[algorithm] == pytest.approx(sum(own))
    model.remove(1)
    model.update(0, np.zeros(2), 0.123, 1.0)
    others = [loss for number, _, loss in latest if number != 1]
    assert _kept(model) == [*others, 0.123], "oldest first again"


def _kept(model: ResidualLayers) -> list[float]:
    """Return the losses of the latest runs, each in a row of its own."""
    target = model.memory.table().target
    known = ~np.isnan(target)
    assert (known.sum(axis=1) == 1).all()
    return [float(loss) for loss in target[known]]
