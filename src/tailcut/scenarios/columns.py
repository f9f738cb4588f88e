"""From the texts in a column to numbers, codes and statuses; each bad cell is noted with its line."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tailcut.scenarios.arff import ArffTable, Column
from tailcut.scenarios.problems import Problems, shown
from tailcut.types import Array

STATUSES = ("ok", "timeout", "memout", "not_applicable", "crash", "other", "presolved", "unknown")
"""How a run or a feature step can end (ASlib format); a status array holds positions in this tuple."""

Codes = NDArray[np.int64]


def numbers(table: ArffTable, position: int, problems: Problems) -> Array:
    """Return a column as float64, nan where a value is missing or not a number."""
    column = table.columns[position]
    missing = None in column
    given = [cell for cell in column if cell is not None] if missing else column
    try:
        values = np.array(list(map(float, given)), dtype=np.float64)  # type: ignore[arg-type]
        strict = "_" not in "".join(given)  # type: ignore[arg-type]
    except ValueError:
        strict = False
    if not strict:
        return _numbers_one_by_one(table, position, problems)
    if not missing:
        return values
    result = np.full(len(column), math.nan)
    result[np.fromiter((cell is not None for cell in column), bool, len(column))] = values
    return result


def _numbers_one_by_one(table: ArffTable, position: int, problems: Problems) -> Array:
    values = np.full(len(table.columns[position]), math.nan)
    for row, cell in enumerate(table.columns[position]):
        number = math.nan if cell is None else as_number(cell)
        if number is not None:
            values[row] = number
        else:
            problems.error(
                table.file,
                table.lines[row],
                table.attributes[position].name,
                f"expected a number or ?, got {shown(cell)}",
            )
    return values


def as_number(cell: str) -> float | None:
    """Return the number that a text is, or None; ``1_000``, which float() reads, is none."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def whole_numbers(table: ArffTable, position: int, problems: Problems) -> Codes:
    """Return a column of whole numbers >= 1; bad cells are noted and read as 0."""
    before = len(problems.found)
    values = numbers(table, position, problems)
    good = np.isfinite(values) & (values >= 1.0) & (values <= 2.0**53) & (values == np.floor(values))
    if not good.all() and len(problems.found) == before:
        for row in np.flatnonzero(~good).tolist():
            problems.error(
                table.file,
                table.lines[row],
                table.attributes[position].name,
                f"expected a whole number >= 1, got {shown(table.columns[position][row] or '?')}",
            )
    return np.where(good, values, 0.0).astype(np.int64)


def texts(table: ArffTable, position: int, problems: Problems) -> list[str]:
    """Return a column of names; missing or empty ones are noted and read as ''."""
    column = table.columns[position]
    if None in column or "" in column:
        for row, cell in enumerate(column):
            if not cell:
                problems.error(
                    table.file, table.lines[row], table.attributes[position].name, "expected a name, got none"
                )
    return [cell or "" for cell in column]


def codes(column: Column | list[str], numbering: Mapping[str, int]) -> Codes:
    """Return the number of each name, -1 for unknown ones."""
    get = numbering.get
    return np.fromiter((get(cell, -1) for cell in column), np.int64, len(column))  # type: ignore[arg-type]


_STATUS_NUMBER = {status: number for number, status in enumerate(STATUSES)}


def statuses(table: ArffTable, position: int, problems: Problems) -> Codes:
    """Return a column of statuses as positions in `STATUSES`; bad cells are noted and read as 'other'."""
    column = table.columns[position]
    found = codes(column, _STATUS_NUMBER)
    for row in np.flatnonzero(found < 0).tolist():
        lowered = (column[row] or "").lower()
        found[row] = _STATUS_NUMBER.get(lowered, _STATUS_NUMBER["other"])
        if lowered not in _STATUS_NUMBER:
            problems.error(
                table.file,
                table.lines[row],
                table.attributes[position].name,
                f"expected one of {', '.join(STATUSES)}; got {shown(column[row] or '?')}",
            )
    return found
