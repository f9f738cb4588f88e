"""From rows to arrays: repetitions are combined as is usual in the field, gaps and double rows are found.

A cell is an (instance, algorithm) pair or an instance, given by its number; several rows with the same
number are repetitions. Functions take the cell of each row, shape (rows,), and the number of cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tailcut.scenarios.arff import STATUSES, Codes, codes, shown
from tailcut.types import Array


def median(cells: Codes, values: Array, n_cells: int) -> Array:
    """Return the median of each cell's values that are not nan, shape (n_cells,); nan without any.

    >>> median(np.array([0, 1, 0, 1, 1]), np.array([1.0, 5.0, 2.0, np.nan, 9.0]), 3).tolist()
    [1.5, 7.0, nan]
    """
    known = ~np.isnan(values)
    cells, values = cells[known], values[known]
    order = np.lexsort((values, cells))
    counts = np.bincount(cells, minlength=n_cells)
    starts = np.cumsum(counts) - counts
    found = counts > 0
    ordered = values[order]
    low = ordered[(starts + (counts - 1) // 2)[found]]
    high = ordered[(starts + counts // 2)[found]]
    result = np.full(n_cells, math.nan)
    result[found] = np.where(low == high, low, 0.5 * low + 0.5 * high)  # halves first: no overflow
    return result


def mean(cells: Codes, values: Array, n_cells: int) -> Array:
    """Return the mean of each cell's values that are not nan, shape (n_cells,); nan without any.

    >>> mean(np.array([0, 0, 1]), np.array([1.0, 2.0, np.nan]), 2).tolist()
    [1.5, nan]
    """
    result = np.full(n_cells, math.nan)
    if len(cells) == n_cells and np.bincount(cells, minlength=n_cells).max(initial=0) <= 1:
        result[cells] = values
        return result
    known = ~np.isnan(values)
    counts = np.bincount(cells[known], minlength=n_cells)
    # Shares are summed, not values: the sum of two huge values would overflow.
    shares = values[known] / counts[cells[known]]
    found = counts > 0
    result[found] = np.bincount(cells[known], weights=shares, minlength=n_cells)[found]
    return result


def most_frequent(cells: Codes, values: Codes, n_cells: int, n_values: int) -> Codes:
    """Return the most frequent value of each cell, on a tie the one that came first; 0 without any.

    >>> most_frequent(np.array([0, 0, 0, 1, 1]), np.array([2, 1, 1, 3, 2]), 2, 4).tolist()
    [1, 3]
    """
    pairs = cells * n_values + values
    counts = np.bincount(pairs, minlength=n_cells * n_values)
    first = np.full(n_cells * n_values, len(cells), dtype=np.int64)
    np.minimum.at(first, pairs, np.arange(len(cells)))
    rank = counts * (len(cells) + 1) - first
    return np.asarray(rank.reshape(n_cells, n_values).argmax(axis=1), dtype=np.int64)


class RunColumns(NamedTuple):
    """All runs of a scenario, with repetitions combined."""

    instances: tuple[str, ...]
    algorithms: tuple[str, ...]
    runtimes: Array
    statuses: Codes


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
    cells = codes(instance_texts, instances) * k + codes(algorithm_texts, algorithms)
    for row in doubles(cells, repetitions):
        complain(row, "repetition", "this instance, repetition and algorithm already had a row")
    gaps = _gaps(cells, n * k)
    for gap in gaps:
        complain(None, "algorithm", f"no run of {shown(algorithms[gap % k])} on {shown(instances[gap // k])}")
    if gaps:  # a full table may not even fit into memory: names that are damaged come in great numbers
        return RunColumns(instances, algorithms, np.empty((0, 0)), np.empty((0, 0), dtype=np.int64))
    runtimes = median(cells, seconds, n * k)
    runtimes[np.isnan(runtimes)] = cutoff
    modes = most_frequent(cells, status_codes, n * k, len(STATUSES))
    return RunColumns(instances, algorithms, runtimes.reshape(n, k), modes.reshape(n, k))


def doubles(cells: Codes, repetitions: Codes) -> list[int]:
    """Return the rows whose cell and repetition an earlier row already had.

    >>> doubles(np.array([0, 1, 0, 0]), np.array([1, 1, 2, 1]))
    [3]
    """
    if len(np.unique(cells)) == len(cells):
        return []
    order = np.lexsort((repetitions, cells))  # stable: within equal pairs, file order
    same = (np.diff(cells[order]) == 0) & (np.diff(repetitions[order]) == 0)
    return sorted(order[1:][same].tolist())


def _gaps(cells: Codes, n_cells: int, at_most: int = 1000) -> list[int]:
    """Return the first cells that no row has, without an array of all cells.

    >>> _gaps(np.array([5, 1, 1, 2]), 8)
    [0, 3, 4, 6, 7]
    """
    gaps: list[int] = []
    expected = 0
    for cell in [*np.unique(cells).tolist(), n_cells]:
        gaps += range(expected, min(cell, expected + at_most - len(gaps)))
        expected = cell + 1
    return gaps
