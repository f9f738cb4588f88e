"""Cross-validation: the folds, and its numbers counted again by other means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailcut import Selector
from tailcut.bench.benchmark import guarded
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.replay import FrozenSelector, cross_validate, folds_of, replay, shuffled
from tailcut.bench.store import Result
from tailcut.errors import InputError
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.scenarios import Scenario
from tests.bench.conftest import write_scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """Five folds of different sizes, read from cv.arff."""
    made = write_scenario(tmp_path, "ONE", n_instances=60)
    folds = np.sort(np.arange(60) % 7).clip(1, 5).astype(np.int64)
    replace(made, folds=folds).write(tmp_path / "CV")
    found = Scenario.read(tmp_path / "CV")
    assert found.folds is not None
    assert found.folds.tolist() == folds.tolist()
    return found


def _cell(scenario: Scenario, label: str, seed: int = 0) -> tuple[Cell, Result]:
    (cell,) = plan([("x", scenario)], [Contender.parse_label(label)], 1, first_seed=seed)
    result = guarded(cell, lambda: scenario)
    assert result.error is None, result.error
    return cell, result


def test_one_pick_is_trained_on_the_other_folds_and_judged_without_learning(scenario: Scenario) -> None:
    """The same by `consider`, with the folds cut out of the scenario beforehand."""
    folds, losses, choices = scenario.folds, np.empty(60), np.empty(60, dtype=int)
    assert folds is not None
    for fold in range(1, 6):
        train = folds != fold
        selector = Selector("thompson", scenario.algorithms, scenario.cutoff, seed=4)
        whole = RecordedRuns.of(scenario)
        selector.fit(replace(whole, features=whole.features[train], runtimes=whole.runtimes[train],
                             solved=whole.solved[train], instances=None, feature_cost=None))  # fmt: skip
        for row in np.flatnonzero(~train):
            name = selector.consider(scenario.features[row]).algorithm
            choices[row] = scenario.algorithms.index(name)
            total = scenario.runtimes[row, choices[row]] + scenario.feature_cost[row]
            fine = scenario.solved[row, choices[row]] and total <= scenario.cutoff
            losses[row] = total if fine else 10 * scenario.cutoff
    _, result = _cell(scenario, "thompson@cv", seed=4)
    assert result.par == pytest.approx(losses.mean())
    assert result.losses is not None
    assert result.losses == pytest.approx(losses[shuffled(60, 4)])


def test_the_best_of_the_training_folds_is_a_baseline_and_a_reference(scenario: Scenario) -> None:
    table, expected = scenario.losses(), []
    assert scenario.folds is not None
    for row, fold in enumerate(scenario.folds):
        means = [np.mean([table[i, k] for i in range(60) if scenario.folds[i] != fold]) for k in range(3)]
        expected.append(table[row, int(np.argmin(means))])
    _, result = _cell(scenario, "sbs_train@cv")
    assert result.par == pytest.approx(np.mean(expected)) == pytest.approx(result.sbs_train)
    _, best = _cell(scenario, "sbs@cv")
    assert best.par == pytest.approx(best.sbs)
    assert best.sbs_train == result.sbs_train


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule", "round_robin", "epsilon_greedy"])
def test_judged_without_learning_the_order_does_not_matter_and_nothing_changes(
    scenario: Scenario, name: str
) -> None:
    selector = Selector(name, scenario.algorithms, scenario.cutoff)
    assert scenario.folds is not None
    training = np.broadcast_to((scenario.folds != 5)[:, None], scenario.solved.shape)
    selector.fit(scenario, known=training)
    before = selector.to_bytes()
    rows = np.flatnonzero(scenario.folds == 5)
    forth, back = (replay(scenario, FrozenSelector(selector), seed=0, order=o) for o in (rows, rows[::-1]))
    assert selector.to_bytes() == before
    assert forth.choices.tolist() == back.choices.tolist()[::-1]
    assert forth.cpu == pytest.approx(back.cpu[::-1])
    if name == "round_robin":
        fresh = Selector(name, scenario.algorithms, scenario.cutoff)
        usual = replay(scenario, fresh, seed=0, order=rows)
        assert usual.slices is not None
        assert forth.slices is not None
        assert forth.slices.total == pytest.approx(usual.slices.total)
        assert forth.slices.solved.tolist() == usual.slices.solved.tolist()


def test_with_learning_on_each_fold_is_a_stream_of_its_own(scenario: Scenario) -> None:
    def new() -> Selector:
        return Selector("tailcut_schedule", scenario.algorithms, scenario.cutoff, seed=2)

    folds = scenario.folds
    assert folds is not None
    trace = cross_validate(scenario, new, folds, seed=2, learn_on=True)
    assert sorted(trace.order.tolist()) == list(range(60))
    alone = new()
    alone.fit(scenario, known=np.broadcast_to((folds != 3)[:, None], scenario.solved.shape))
    places = np.flatnonzero(folds[trace.order] == 3)
    part = replay(scenario, alone, seed=2, order=trace.order[places])
    assert part.choices.tolist() == trace.choices[places].tolist()
    assert part.cpu == pytest.approx(trace.cpu[places])
    assert trace.slices is not None
    assert part.slices is not None
    assert trace.slices.total[places] == pytest.approx(part.slices.total)


def test_folds_are_made_by_the_seed_where_there_are_none(scenario: Scenario) -> None:
    without = replace(scenario, folds=None)
    folds = folds_of(without, 10, seed=0)
    assert np.bincount(folds)[1:].tolist() == [6] * 10
    assert (folds != folds_of(without, 10, seed=1)).any()
    assert folds_of(scenario, 10, seed=0) is scenario.folds
    with pytest.raises(InputError, match="61 folds are too many for 60 instances"):
        folds_of(without, 61, seed=0)
    with pytest.raises(InputError, match="expected 2 folds or more"):
        folds_of(replace(scenario, folds=np.ones(60, dtype=np.int64)), 0, seed=0)
