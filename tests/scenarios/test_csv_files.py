"""Scenarios from CSV files, called from Python; `tests/cli/test_scenario.py` has what users can get wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.scenarios.frames import read_csv, scenario_from_csv


def test_two_files_make_a_scenario(tmp_path: Path) -> None:
    runs, features = tmp_path / "runs.csv", tmp_path / "features.csv"
    runs.write_text("instance,algorithm,runtime\ni1,a,1.5\ni1,b,\ni2,a,99\ni2,b,4\n")
    features.write_text("instance,size\ni1,10\ni2,\n")
    scenario = scenario_from_csv(runs, features, cutoff=10.0, name="mine")
    assert scenario.name == "mine"
    assert scenario.solved.tolist() == [[True, False], [False, True]]
    assert scenario.losses().tolist() == [[1.5, 100.0], [100.0, 4.0]]


def test_empty_cells_are_missing_and_ragged_rows_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a, b\n1,\n\n 2 ,x\n")
    table = read_csv(path)
    assert [column.name for column in table.attributes] == ["a", "b", "repetition"]
    assert (table.columns[:2], table.lines) == ([["1", "2"], [None, "x"]], [2, 4])
    path.write_text("a,b\n1\n")
    with pytest.raises(InputError, match=r"t\.csv, line 2: expected 2 cells, got 1"):
        read_csv(path)
