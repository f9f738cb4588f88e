"""Scenarios from two CSV files: runs and features, each with a line of column names."""

from __future__ import annotations

import csv
from pathlib import Path

from tailcut.errors import InputError
from tailcut.scenarios.scenario import Scenario


def scenario_from_csv(runs: Path, features: Path, *, cutoff: float, name: str) -> Scenario:
    """Return the scenario that two CSV files hold; their columns are those of `Scenario.from_frames`."""
    return Scenario.from_frames(read_columns(runs), read_columns(features), cutoff=cutoff, name=name)


def read_columns(path: Path) -> dict[str, list[str | None]]:
    """Return the columns of a CSV file; empty cells are None."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: is no CSV file in UTF-8: {error}") from None
    if not rows:
        raise InputError(f"{path}: is empty; expected a line of column names")
    names = [name.strip() for name in rows[0]]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}, line 1: column {name!r} comes twice")
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != len(names):
            raise InputError(f"{path}, row {number}: expected {len(names)} cells, got {len(row)}")
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell.strip() or None)
    return columns
