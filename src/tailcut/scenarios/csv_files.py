"""Scenarios from two CSV files: runs and features, each with a line of column names."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tailcut.errors import InputError
from tailcut.scenarios.frames import FileColumns
from tailcut.scenarios.scenario import Scenario


def scenario_from_csv(runs: Path, features: Path, *, cutoff: float, name: str) -> Scenario:
    """Return the scenario that two CSV files hold; their columns are those of `Scenario.from_frames`.

    Errors name the file and the line.
    """
    return Scenario.from_frames(read_columns(runs), read_columns(features), cutoff=cutoff, name=name)


def read_columns(path: Path) -> FileColumns:
    """Return the columns of a CSV file; empty cells are None."""
    rows, lines = _rows(path)
    if not rows:
        raise InputError(f"{path}: is empty; expected a line of column names")
    names = [name.strip() for name in rows[0]]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}, line {lines[0]}: column {name!r} comes twice")
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(names):
            raise InputError(f"{path}, line {line}: expected {len(names)} cells, got {len(row)}")
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell.strip() or None)
    return FileColumns(columns, str(path), lines[1:])


def _rows(path: Path) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not empty, and the line of the file on which each begins."""
    rows, lines, line = [], [], 1
    try:
        content = path.read_bytes()
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: is not a CSV file in UTF-8: {error.reason}") from None
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: is not a CSV file: {error}") from None
    return rows, lines
