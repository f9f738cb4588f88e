"""What is written reads back equal and valid, whatever the names."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.errors import InputError, ScenarioError
from tailcut.scenarios import FeatureStep, Scenario, check_scenario

ODD = "'\"\\,%?{}[]:#&*!|>@` \t\n\r-_ae0Ü語\u2028\x00\x85\ufeff"
names = st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), min_size=1, max_size=6)
seconds = st.floats(0.0, 1e300) | st.sampled_from([0.0, 50.0, 50.000001, 5e-324])
values = st.none() | st.floats(allow_nan=True, allow_infinity=False)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    instances = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    algorithms = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    columns = draw(
        st.lists(names.filter(lambda n: n not in ("instance", "repetition")), max_size=3, unique=True)
    )
    steps = draw(
        st.lists(names.filter(lambda n: n not in ("instance", "repetition")), max_size=2, unique=True)
    )
    pairs = [(i, a) for i in instances for a in algorithms]
    status = st.sampled_from(["ok", "timeout", "memout", "crash", "other", "not_applicable"])
    n = len(instances)

    def column(of: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(of, min_size=n, max_size=n))

    scenario = Scenario.from_frames(
        {
            "instance": [i for i, _ in pairs],
            "algorithm": [a for _, a in pairs],
            "runtime": [draw(seconds) for _ in pairs],
            "status": [draw(status) for _ in pairs],
        },
        {"instance": instances} | {name: column(values) for name in columns},
        cutoff=draw(st.sampled_from([50.0, 1e-3, 1e8, 1e300])),
        name=draw(names),
        feature_costs={"instance": instances} | {name: column(seconds) for name in steps} if steps else None,
    )
    if draw(st.booleans()):
        texts = st.none() | st.text(st.sampled_from(ODD), max_size=4)
        scenario = replace(
            scenario,
            folds=np.arange(1, n + 1),
            ground_truth={
                "answer ": tuple(column(texts)),
                "cost, %": np.array(column(st.floats(allow_infinity=False))),
            },
        )
    return scenario


@settings(max_examples=80, deadline=None)
@given(scenarios())
def test_generated_scenarios_read_back_equal_and_valid(scenario: Scenario) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "s"
        scenario.write(target)
        again = Scenario.read(target, cache=False)
        problems = check_scenario(target)
        kept, from_cache = Scenario.read(target), Scenario.read(target)
    assert again == scenario
    assert kept == scenario
    assert from_cache == scenario
    assert problems == []


def test_equality_sees_every_difference(small: Scenario) -> None:
    assert small == replace(small)
    changes: dict[str, Any] = {
        "name": "other",
        "features": np.nan_to_num(small.features),
        "runtimes": small.runtimes + 1.0,
        "solved": ~small.solved,
        "folds": np.ones(3, dtype=np.int64),
        "ground_truth": {"x": (None, None, None)},
        "feature_steps": small.feature_steps[:1],
    }
    for field, value in changes.items():
        assert small != replace(small, **{field: value}), field
    assert small != replace(small, cutoff=101.0, recorded_at=None)
    step = small.feature_steps[0]
    assert step == replace(step)
    assert step != replace(step, costs=step.costs + 1.0)
    assert step != FeatureStep("x", (), (), step.costs, step.statuses)
    assert small != "small"


def test_writing_over_a_scenario_is_refused_and_changes_nothing(small: Scenario, small_folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in small_folder.iterdir()}
    with pytest.raises(InputError, match=r"already holds description\.txt; nothing was written"):
        replace(small, name="new").write(small_folder)
    assert {path.name: path.read_bytes() for path in small_folder.iterdir()} == before


def test_names_that_no_file_can_hold_are_refused(small: Scenario, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="which no file can hold"):
        replace(small, instances=("\ud800", "b", "c")).write(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_place_that_cannot_be_written_is_told(small: Scenario, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ScenarioError, match="cannot be written"):
        small.write(tmp_path / "file")
    with pytest.raises(ScenarioError, match="cannot be written"):
        small.write(tmp_path / "file" / "below")


def test_numbers_are_written_to_the_last_digit(tmp_path: Path) -> None:
    value = math.nextafter(0.1, 1.0)
    runs: dict[str, list[object]] = {"instance": ["i"], "algorithm": ["a"], "runtime": [value]}
    scenario = Scenario.from_frames(runs, {"instance": ["i"], "f": [-value]}, cutoff=1.0)
    scenario.write(tmp_path / "s")
    again = Scenario.read(tmp_path / "s")
    assert again.runtimes[0, 0] == value
    assert again.features[0, 0] == -value
