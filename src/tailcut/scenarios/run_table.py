"""From the table of runs to arrays: repetitions are combined, gaps and bad rows are reported."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tailcut.scenarios import aggregate
from tailcut.scenarios import columns as in_column
from tailcut.scenarios.arff import ArffTable
from tailcut.scenarios.columns import STATUSES, Codes
from tailcut.scenarios.problems import Problems, shown
from tailcut.scenarios.tables import IDENTITY, check_levels, columns_named, doubles, number_of
from tailcut.types import Array


class RunColumns(NamedTuple):
    """algorithm_runs.arff as arrays."""

    instances: tuple[str, ...]
    algorithms: tuple[str, ...]
    runtimes: Array
    statuses: Codes


def runs(
    table: ArffTable, measure: str, cutoff: float, problems: Problems, *, any_sign: bool = False
) -> RunColumns | None:
    """Return the runs with repetitions made one, or None if columns are missing.

    With `any_sign` the measure is no time: any finite number is one.

    After an error the arrays are of no use, but other files can still be compared with them.
    """
    positions = columns_named(table, (*IDENTITY, "algorithm", measure, "runstatus"), problems)
    if positions is None:
        return None
    instance, repetition, algorithm, runtime, status = positions
    instance_texts = in_column.texts(table, instance, problems)
    algorithm_texts = in_column.texts(table, algorithm, problems)
    repetitions = in_column.whole_numbers(table, repetition, problems)
    status_codes = in_column.statuses(table, status, problems)
    check_levels(table, (status,), problems)
    seconds = _seconds(table, runtime, status_codes, problems, any_sign=any_sign)
    if not table.lines:
        problems.error(table.file, None, None, "has no runs")
    return collect_runs(
        instance_texts,
        algorithm_texts,
        repetitions,
        seconds,
        status_codes,
        cutoff,
        lambda row, field, message: problems.error(
            table.file, None if row is None else table.lines[row], field, message
        ),
    )


def collect_runs(
    instance_texts: list[str],
    algorithm_texts: list[str],
    repetitions: Codes,
    seconds: Array,
    status_codes: Codes,
    cutoff: float,
    complain: Callable[[int | None, str, str], None],
) -> RunColumns:
    """Return runs in any order as full arrays; `complain(row, field, message)` about doubles and gaps."""
    instances = tuple(sorted(set(instance_texts)))
    algorithms = tuple(sorted(set(algorithm_texts)))
    n, k = len(instances), len(algorithms)
    row_codes = in_column.codes(instance_texts, number_of(instances))
    cell_codes = row_codes * k + in_column.codes(algorithm_texts, number_of(algorithms))
    for row in doubles(cell_codes, repetitions):
        complain(row, "repetition", "this instance, repetition and algorithm already had a row")
    gaps = _gaps(cell_codes, n * k)
    for gap in gaps:
        complain(None, "algorithm", f"no run of {shown(algorithms[gap % k])} on {shown(instances[gap // k])}")
    if gaps:  # a full table may not even fit into memory: names that are damaged come in great numbers
        nothing = np.empty((0, 0))
        return RunColumns(instances, algorithms, nothing, nothing.astype(np.int64))
    runtimes = aggregate.median(cell_codes, seconds, n * k)
    runtimes[np.isnan(runtimes)] = cutoff
    modes = aggregate.most_frequent(cell_codes, status_codes, n * k, len(STATUSES))
    return RunColumns(instances, algorithms, runtimes.reshape(n, k), modes.reshape(n, k))


def _gaps(cell_codes: Codes, n_cells: int, at_most: int = 1000) -> list[int]:
    """Return the first cells that no row has, without an array of all cells.

    >>> _gaps(np.array([5, 1, 1, 2]), 8)
    [0, 3, 4, 6, 7]
    """
    present = [*np.unique(cell_codes).tolist(), n_cells]
    gaps: list[int] = []
    expected = 0
    for cell in present:
        gaps += range(expected, min(cell, expected + at_most - len(gaps)))
        expected = cell + 1
    return gaps


def _seconds(
    table: ArffTable, position: int, status_codes: Codes, problems: Problems, *, any_sign: bool
) -> Array:
    """Return runtimes; the time of an `ok` run must be known, that of another may be missing."""
    before = len(problems.found)
    seconds = in_column.numbers(table, position, problems)
    if len(problems.found) > before:
        return seconds
    name = table.attributes[position].name
    bad = ~(np.isfinite(seconds) & ((seconds >= 0.0) | any_sign))
    kind = "value" if any_sign else "time"
    what = "value of an ok run, a finite number" if any_sign else "seconds of an ok run, a finite number >= 0"
    for row in np.flatnonzero(bad).tolist():
        cell = table.columns[position][row]
        if status_codes[row] == 0:
            problems.error(
                table.file,
                table.lines[row],
                name,
                f"expected the {what}, got {shown(cell or '?')}",
            )
        elif cell is not None:
            problems.warning(
                table.file,
                table.lines[row],
                name,
                f"{shown(cell)} is not a {kind}; treated as not recorded",
            )
    return np.where(bad, math.nan, seconds)
