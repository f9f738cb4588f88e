"""From ARFF tables to the arrays of a scenario: one function per file, each noting what does not fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from tailcut.scenarios import aggregate
from tailcut.scenarios import columns as in_column
from tailcut.scenarios.arff import ArffTable
from tailcut.scenarios.columns import STATUSES, Codes
from tailcut.scenarios.problems import Problems, shown
from tailcut.types import Array

IDENTITY = ("instance_id", "repetition")


@dataclass(frozen=True)
class PerInstance:
    """A table with one row per instance and repetition."""

    table: ArffTable
    rows: Codes
    """Number of each row's instance, shape (rows,)."""
    others: tuple[int, ...]
    """Positions of the columns that are neither instance nor repetition."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of these columns."""
        return tuple(self.table.attributes[i].name for i in self.others)


def columns_named(table: ArffTable, names: tuple[str, ...], problems: Problems) -> list[int] | None:
    """Return the positions of required columns, or None after noting which are missing."""
    found = [table.find(name) for name in names]
    for name, position in zip(names, found, strict=True):
        if position is None:
            problems.error(table.file, None, name, "this column is missing")
    present = [position for position in found if position is not None]
    return present if len(present) == len(found) else None


def per_instance(
    table: ArffTable,
    numbering: Mapping[str, int],
    problems: Problems,
    *,
    all_needed: bool,
    repetition: bool = True,
) -> PerInstance | None:
    """Return a table's rows matched to the instances of the runs, or None if columns are missing.

    Rows of other instances are left out with a warning: nothing can be replayed on them.
    """
    positions = columns_named(table, IDENTITY if repetition else IDENTITY[:1], problems)
    if positions is None:
        return None
    names = in_column.texts(table, positions[0], problems)
    repetitions = (
        in_column.whole_numbers(table, positions[1], problems) if repetition else np.ones(len(names))
    )
    for row in doubles(in_column.codes(names, number_of(tuple(set(names)))), repetitions.astype(np.int64)):
        problems.error(
            table.file, table.lines[row], "repetition", "this instance and repetition already had a row"
        )
    rows = in_column.codes(names, numbering)
    for row in np.flatnonzero(rows < 0).tolist():
        problems.warning(
            table.file,
            table.lines[row],
            "instance_id",
            f"{shown(names[row])} has no algorithm runs; the row is left out",
        )
    missing = sorted(numbering.keys() - set(names))
    for name in missing if all_needed else ():
        problems.error(table.file, None, "instance_id", f"no row for instance {shown(name)}")
    if missing and not all_needed:
        problems.warning(table.file, None, "instance_id", f"{len(missing)} instances have no row")
    others = tuple(i for i in range(len(table.attributes)) if i not in positions)
    return PerInstance(_rows_kept(table, rows >= 0), rows[rows >= 0], others)


def _rows_kept(table: ArffTable, kept: NDArray[np.bool_]) -> ArffTable:
    if kept.all():
        return table
    columns = [list(compress(column, kept)) for column in table.columns]
    return ArffTable(table.file, table.attributes, columns, list(compress(table.lines, kept)))


def feature_values(found: PerInstance, n: int, problems: Problems) -> Array:
    """Return the mean of each feature over repetitions, shape (n, d); nan where missing."""
    result = np.empty((n, len(found.others)))
    for number, position in enumerate(found.others):
        values = in_column.numbers(found.table, position, problems)
        odd = ~np.isfinite(values)
        if odd.any():
            _note_odd(found.table, position, odd, problems)
            values[odd] = math.nan
        result[:, number] = aggregate.mean(found.rows, values, n)
    return result


def _note_odd(table: ArffTable, position: int, odd: NDArray[np.bool_], problems: Problems) -> None:
    """Note values that are neither finite nor ``?``; selectors know no infinite features."""
    for row in np.flatnonzero(odd).tolist():
        cell = table.columns[position][row]
        if cell is not None and in_column.as_number(cell) is not None:
            problems.warning(
                table.file,
                table.lines[row],
                table.attributes[position].name,
                f"{shown(cell)} is not finite; taken as missing",
            )


def feature_costs(found: PerInstance, n: int, problems: Problems) -> dict[str, Array]:
    """Return the median cost of each step over repetitions, missing ones as 0: name -> shape (n,)."""
    costs = {}
    for position in found.others:
        name = found.table.attributes[position].name
        seconds = in_column.numbers(found.table, position, problems)
        for row in np.flatnonzero((seconds < 0.0) | np.isinf(seconds)).tolist():
            problems.error(
                found.table.file,
                found.table.lines[row],
                name,
                f"expected seconds >= 0 or ?, got {shown(found.table.columns[position][row])}",
            )
        costs[name] = np.nan_to_num(aggregate.median(found.rows, np.nan_to_num(seconds), n), copy=False)
    return costs


def feature_statuses(found: PerInstance, n: int, problems: Problems) -> dict[str, Codes]:
    """Return the most frequent status of each step over repetitions: name -> shape (n,)."""
    check_levels(found.table, found.others, problems)
    absent = np.bincount(found.rows, minlength=n) == 0
    result = {}
    for position in found.others:
        codes = in_column.statuses(found.table, position, problems)
        modes = aggregate.most_frequent(found.rows, codes, n, len(STATUSES))
        modes[absent] = STATUSES.index("unknown")
        result[found.table.attributes[position].name] = modes
    return result


def folds(found: PerInstance, n: int, problems: Problems) -> Codes | None:
    """Return each instance's fold in the first repetition, or None if some have none."""
    position = found.table.find("fold")
    repetition = found.table.find("repetition")
    if position is None or repetition is None:
        problems.error(found.table.file, None, "fold", "this column is missing")
        return None
    numbers = in_column.whole_numbers(found.table, position, problems)
    first = in_column.whole_numbers(found.table, repetition, problems) == 1
    result = np.zeros(n, dtype=np.int64)
    result[found.rows[first]] = numbers[first]
    if (result == 0).any():
        problems.warning(
            found.table.file, None, "fold", f"{int((result == 0).sum())} instances have no fold; folds unused"
        )
        return None
    return result


def ground_truth(found: PerInstance, n: int, problems: Problems) -> dict[str, Array | tuple[str | None, ...]]:
    """Return what is known about the instances' answers: numbers, or texts with None where unknown."""
    result: dict[str, Array | tuple[str | None, ...]] = {}
    check_levels(found.table, found.others, problems)
    for position in found.others:
        attribute = found.table.attributes[position]
        if attribute.kind == "numeric":
            values = np.full(n, math.nan)
            values[found.rows] = in_column.numbers(found.table, position, problems)
            result[attribute.name] = values
        else:
            texts: list[str | None] = [None] * n
            for row, cell in zip(found.rows.tolist(), found.table.columns[position], strict=True):
                texts[row] = cell
            result[attribute.name] = tuple(texts)
    return result


def check_levels(table: ArffTable, positions: tuple[int, ...], problems: Problems) -> None:
    """Note values of nominal columns that the header does not declare."""
    for position in positions:
        attribute = table.attributes[position]
        levels = {*attribute.levels, None}
        if attribute.kind != "nominal" or set(table.columns[position]) <= levels:
            continue
        for row, cell in enumerate(table.columns[position]):
            if cell not in levels:
                problems.error(
                    table.file,
                    table.lines[row],
                    attribute.name,
                    f"{shown(cell)} is not among the declared values {shown(', '.join(attribute.levels))}",
                )


def number_of(names: tuple[str, ...]) -> dict[str, int]:
    """Return the position of each name."""
    return {name: number for number, name in enumerate(names)}


def doubles(cell_codes: Codes, repetitions: Codes) -> list[int]:
    """Return the rows whose cell and repetition an earlier row already had.

    >>> doubles(np.array([0, 1, 0, 0]), np.array([1, 1, 2, 1]))
    [3]
    """
    if len(np.unique(cell_codes)) == len(cell_codes):
        return []
    order = np.lexsort((repetitions, cell_codes))  # stable: within equal pairs, file order
    same = (np.diff(cell_codes[order]) == 0) & (np.diff(repetitions[order]) == 0)
    return sorted(order[1:][same].tolist())
