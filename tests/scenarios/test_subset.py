"""Parts of a scenario: what is taken, what goes with it, and what cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut import bench
from tailcut.errors import InputError
from tailcut.scenarios import Scenario
from tailcut.scenarios.arff import STATUSES
from tailcut.scenarios.scenario import FeatureStep

TIMEOUT = STATUSES.index("timeout")


@pytest.fixture
def whole() -> Scenario:
    """Two steps, of which the second requires the first, and one by itself."""
    fine = np.zeros(3, dtype=np.uint8)
    return Scenario(
        name="whole",
        cutoff=900.0,
        instances=("i1", "i2", "i3"),
        algorithms=("a", "b", "c"),
        feature_names=("size", "depth", "other"),
        features=np.arange(9.0).reshape(3, 3),
        runtimes=np.array([[1.0, 200.0, 900.5], [100.0, 30.0, 900.0], [899.0, 5.0, 40.0]]),
        solved=np.array([[True, True, False], [True, True, False], [True, True, False]]),
        statuses=np.array([[0, 0, TIMEOUT], [0, 0, TIMEOUT], [0, 0, 4]], dtype=np.uint8),
        feature_cost=np.array([111.0, 222.0, 333.0]),
        feature_steps=(
            FeatureStep("basic", ("size",), (), np.array([1.0, 2.0, 3.0]), fine),
            FeatureStep("probing", ("depth",), ("basic",), np.array([10.0, 20.0, 30.0]), fine),
            FeatureStep("more", ("other",), (), np.array([100.0, 200.0, 300.0]), fine),
        ),
        has_feature_costs=True,
        folds=np.array([1, 2, 1]),
        ground_truth={"answer": ("sat", None, "unsat"), "optimum": np.array([1.0, np.nan, 3.0])},
    )


def test_a_longer_cutoff_than_recorded_is_refused(whole: Scenario) -> None:
    with pytest.raises(InputError, match="whole: cutoff: the runs were recorded at 900 s") as raised:
        replace(whole, cutoff=9000.0)
    assert raised.value.field == "cutoff"
    with pytest.raises(InputError, match=r"Scenario\.subset\(cutoff=\.\.\.\) makes it shorter"):
        replace(whole, cutoff=90.0)
    with pytest.raises(InputError, match="what the runs do after 900 s is not recorded, got 9000 s"):
        whole.subset(cutoff=9000.0)
    short = whole.subset(cutoff=90.0)
    for longer in (900.0, 91.0):
        with pytest.raises(InputError, match="recorded at 90 s"):
            replace(short, cutoff=longer)
        with pytest.raises(InputError, match="after 90 s is not recorded"):
            short.subset(cutoff=longer)
    assert replace(whole, name="other").cutoff == 900.0


def test_parts_that_do_not_fit_are_named(whole: Scenario) -> None:
    for change, field in (
        ({"algorithms": ("a", "b")}, "runtimes"),
        ({"instances": ("i1",)}, "features"),
        ({"feature_names": ("size",)}, "features"),
        ({"folds": np.array([1])}, "folds"),
    ):
        with pytest.raises(InputError, match=rf"whole: {field}: expected the shape .*Scenario\.subset"):
            replace(whole, **change)


def test_algorithms_and_instances(whole: Scenario) -> None:
    part = whole.subset(algorithms=["c", "a"], instances=iter(["i3", "i1"]), name="part")
    assert (part.name, part.algorithms, part.instances) == ("part", ("a", "c"), ("i1", "i3"))
    np.testing.assert_array_equal(part.runtimes, [[1.0, 900.5], [899.0, 40.0]])
    np.testing.assert_array_equal(part.solved, [[True, False], [True, False]])
    np.testing.assert_array_equal(part.features, whole.features[[0, 2]])
    np.testing.assert_array_equal(part.feature_cost, [111.0, 333.0])
    np.testing.assert_array_equal(part.feature_steps[1].costs, [10.0, 30.0])
    assert part.folds is not None
    assert part.folds.tolist() == [1, 1]
    assert part.ground_truth is not None
    assert part.ground_truth["answer"] == ("sat", "unsat")
    assert whole.subset() == whole
    assert whole.subset(instances=whole.instances, features=whole.feature_names) == whole


def test_features_go_with_their_steps_and_steps_with_their_features(whole: Scenario) -> None:
    probing = whole.subset(features=["depth"])
    assert probing.feature_names == ("depth",)
    assert [(step.name, step.features) for step in probing.feature_steps] == [
        ("basic", ()),
        ("probing", ("depth",)),
    ]
    np.testing.assert_array_equal(probing.feature_cost, [11.0, 22.0, 33.0])
    np.testing.assert_array_equal(probing.features, whole.features[:, [1]])
    by_step = whole.subset(steps=["probing"])
    assert by_step.feature_names == ("size", "depth")
    np.testing.assert_array_equal(by_step.feature_cost, [11.0, 22.0, 33.0])
    assert whole.subset(steps=["basic", "more"], features=["size"]) == whole.subset(steps=["basic"])
    none = whole.subset(features=[])
    assert (none.features.shape, none.feature_steps, none.feature_cost.sum()) == ((3, 0), (), 0.0)
    with pytest.raises(InputError, match="features: 'other' needs the step 'more'"):
        whole.subset(steps=["basic"], features=["size", "other"])


def test_at_a_shorter_cutoff_runs_time_out_earlier(whole: Scenario) -> None:
    short = whole.subset(cutoff=100.0)
    np.testing.assert_array_equal(short.solved, [[1, 0, 0], [1, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(short.runtimes, [[1, 100, 100], [100, 30, 100], [100, 5, 40]])
    assert short.status(0, 1) == "timeout"
    assert short.status(2, 2) == STATUSES[4], "it ended before"
    assert whole.subset(cutoff=900.0) == whole, "what ran over a little is left as recorded"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithms": ["A"]}, r"algorithms: there is no 'A'$"),
        ({"instances": ["i4"]}, "instances: there is no 'i4'"),
        ({"algorithms": []}, "algorithms: expected at least one"),
        ({"features": ["sise"]}, r"features: there is no 'sise' \(did you mean 'size'\?\)"),
        ({"steps": ["all"]}, "steps: there is no 'all'"),
        ({"cutoff": -1}, "cutoff must be a finite number of seconds > 0, got -1"),
    ],
)
def test_unknown_parts_are_named(whole: Scenario, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        whole.subset(**given)


def test_a_part_is_written_read_and_replayed(whole: Scenario, tmp_path: Path) -> None:
    part = whole.subset(algorithms=["a", "b"], features=["depth"], cutoff=150.0, name="part")
    part.write(tmp_path / "part")
    again = Scenario.read(tmp_path / "part")
    assert again == part
    outcome = bench.run(["random", "sbs"], part, seeds=1, out=tmp_path / "r.db")
    sbs = next(row for row in outcome.rows if row["selector"] == "sbs")
    assert sbs["par10_mean"] == pytest.approx((1500.0 + 30.0 + 5.0) / 3)
