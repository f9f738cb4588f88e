"""Scenarios from tables in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tailcut import Scenario
from tailcut.errors import InputError
from tailcut.scenarios import STATUSES

RUNS: dict[str, list[Any]] = {
    "instance": ["i2", "i2", "i1", "i1"],
    "algorithm": ["b", "a", "b", "a"],
    "runtime": [5.0, 60.0, None, 61.0],
}
FEATURES: dict[str, list[Any]] = {"instance": ["i1", "i2"], "size": [1, None], "kind": [0.5, math.nan]}


class NAType:
    """As pandas' missing value: no number, and not comparable."""

    def __float__(self) -> float:
        raise TypeError

    def __bool__(self) -> bool:
        raise TypeError


class Columns:
    """As a data frame of pandas or polars: columns by name, names by `.columns`, no mapping."""

    def __init__(self, columns: dict[Any, list[Any]]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[Any]:
        return list(self._columns)

    def __getitem__(self, name: Any) -> Any:
        return np.array(self._columns[name], dtype=object)


def test_rows_and_columns_are_ordered_and_statuses_follow_from_the_cutoff() -> None:
    scenario = Scenario.from_frames(RUNS, FEATURES, cutoff=60.0, name="s")
    assert (scenario.instances, scenario.algorithms) == (("i1", "i2"), ("a", "b"))
    assert scenario.runtimes.tolist() == [[61.0, 60.0], [60.0, 5.0]]
    assert scenario.solved.tolist() == [[False, False], [True, True]]
    assert [[STATUSES[s] for s in row] for row in scenario.statuses] == [["timeout"] * 2, ["ok"] * 2]
    np.testing.assert_array_equal(scenario.features, [[1.0, 0.5], [math.nan, math.nan]])
    (step,) = scenario.feature_steps
    assert (step.name, step.features) == ("all", ("size", "kind"))
    assert [STATUSES[s] for s in step.statuses] == ["ok", "unknown"]
    assert not scenario.has_feature_costs


def test_data_frames_need_no_more_than_columns_and_items() -> None:
    runs = Columns({**RUNS, "runtime": [5.0, np.float32(60.0), NAType(), np.int64(61)]})
    assert Scenario.from_frames(runs, Columns(FEATURES), cutoff=60.0) == Scenario.from_frames(
        RUNS, FEATURES, cutoff=60.0
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_data_frames_of_libraries(library: str) -> None:
    frames = pytest.importorskip(library)
    runs, features = frames.DataFrame(RUNS), frames.DataFrame(FEATURES)
    assert Scenario.from_frames(runs, features, cutoff=60.0) == Scenario.from_frames(
        RUNS, FEATURES, cutoff=60.0
    )


def test_whole_numbers_are_names_too() -> None:
    runs = {"instance": np.array([10, 9]), "algorithm": ["a", "a"], "runtime": [1.0, 2.0]}
    scenario = Scenario.from_frames(runs, {"instance": [9, 10]}, cutoff=5.0)  # type: ignore[arg-type]
    assert scenario.instances == ("10", "9")  # ordered as strings
    assert scenario.features.shape == (2, 0)


def test_repetitions_and_costs_are_aggregated() -> None:
    runs: dict[str, list[Any]] = {
        "instance": ["i"] * 3,
        "algorithm": ["a"] * 3,
        "runtime": [1.0, 9.0, 2.0],
        "repetition": [1, 2, 3],
    }
    features: dict[str, list[Any]] = {"instance": ["i", "i"], "repetition": [1, 2], "f": [1.0, 4.0]}
    costs: dict[str, list[Any]] = {
        "instance": ["i", "i"],
        "repetition": [1, 2],
        "pre": [1.0, None],
        "main": [2, 2],
    }
    scenario = Scenario.from_frames(runs, features, cutoff=5.0, feature_costs=costs)
    assert scenario.runtimes.tolist() == [[2.0]]
    assert scenario.features.tolist() == [[2.5]]
    assert scenario.feature_cost.tolist() == [2.5]
    assert [(s.name, s.features, s.requires) for s in scenario.feature_steps] == [
        ("pre", (), ()),
        ("main", ("f",), ("pre",)),
    ]


@pytest.mark.parametrize(
    ("runs", "features", "message"),
    [
        ({"runtime": [1, 2, 3, "x"]}, {}, "runs, row 3, runtime: expected a number or [?], got 'x'"),
        (
            {"runtime": [1, 2, 3, -4.0]},
            {},
            "runs, row 3, runtime: expected the seconds of an ok run, .* >= 0, got '-4.0'",
        ),
        ({"runtime": [1, 2, 3, math.inf]}, {}, "runs, row 3, runtime: 'inf' is not a time$"),
        ({"runtime": [1, 2, 3]}, {}, "the columns of runs differ in length"),
        ({"status": ["ok"] * 4}, {}, "runs, row 2, runtime: expected the seconds of an ok run, .* got '[?]'"),
        (
            {"status": ["ok", "ok", "timeout", "late"]},
            {},
            "runs, row 3, status: expected one of ok, .*'late'",
        ),
        ({"instance": ["i2", "i2", "i2", "i1"]}, {}, "runs, row 2, repetition: this instance, rep"),
        ({"algorithm": ["b", "a", "c", "a"]}, {}, "runs, algorithm: no run of 'b' on 'i1'"),
        ({"instance": ["i2", "i2", None, "i1"]}, {}, "runs, row 2, instance: expected a name, got none"),
        ({"repetition": [1, 1, 1, 0]}, {}, "runs, row 3, repetition: expected a whole number >= 1"),
        ({}, {"instance": ["i1", "i1"]}, "features, row 1, repetition: this instance and rep"),
        ({}, {"instance": ["i1", "i3"]}, "features, row 1, instance: 'i3' has no algorithm runs$"),
        ({}, {"instance": ["i1"], "size": [1], "kind": [2]}, "features, instance: no row for instance 'i2'"),
        ({}, {"size": [1, "big"]}, "features, row 1, size: expected a number or [?], got 'big'"),
        ({}, {"instance_id": [1, 2]}, "'instance_id' is a name that ASlib's own columns have"),
    ],
)
def test_errors_name_table_column_and_row(
    runs: dict[str, Any], features: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Scenario.from_frames(RUNS | runs, FEATURES | features, cutoff=60.0)


def test_wrong_calls_are_told() -> None:
    with pytest.raises(InputError, match="runs must be a mapping of columns or a data frame, got int"):
        Scenario.from_frames(3, FEATURES, cutoff=60.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="runs, algorithm: this column is missing"):
        Scenario.from_frames({"instance": ["i"], "runtime": [1.0]}, FEATURES, cutoff=60.0)
    with pytest.raises(InputError, match="cutoff must be a finite number"):
        Scenario.from_frames(RUNS, FEATURES, cutoff=0.0)
    with pytest.raises(InputError, match="name must be a non-empty string"):
        Scenario.from_frames(RUNS, FEATURES, cutoff=60.0, name="")
    with pytest.raises(InputError, match="runs: has no runs"):
        Scenario.from_frames({"instance": [], "algorithm": [], "runtime": []}, FEATURES, cutoff=60.0)
    with pytest.raises(InputError, match="feature_costs, row 0, c: expected seconds >= 0"):
        Scenario.from_frames(RUNS, FEATURES, cutoff=60.0, feature_costs={"instance": ["i1"], "c": [-1.0]})
