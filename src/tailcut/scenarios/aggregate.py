"""From rows to arrays: repetitions are combined as is usual in the field, gaps and double rows are found.

A cell is an (instance, algorithm) pair or an instance, given by its number; several rows with the same
number are repetitions. Functions take the cell of each row, shape (rows,), and the number of cells.
"""

from __future__ import annotations

import math

import numpy as np

from tailcut.scenarios.arff import Codes
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


def gaps(cells: Codes, n_cells: int, at_most: int = 1000) -> list[int]:
    """Return the first cells that no row has, without an array of all cells.

    >>> gaps(np.array([5, 1, 1, 2]), 8)
    [0, 3, 4, 6, 7]
    """
    missing: list[int] = []
    expected = 0
    for cell in [*np.unique(cells).tolist(), n_cells]:
        missing += range(expected, min(cell, expected + at_most - len(missing)))
        expected = cell + 1
    return missing
