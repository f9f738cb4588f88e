"""What compiled kernels accept: arrays of doubles, one after the other, of the shape they expect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailcut.numerics import representation_kernels, ridge_kernels, tree_kernels


@pytest.mark.parametrize(
    "given",
    [
        np.arange(4),
        np.zeros(4, dtype=np.float32),
        np.zeros((2, 2)),
        np.zeros(8)[::2],
        np.zeros(4, dtype=">f8"),
    ],
    ids=["integers", "single", "a table", "every other", "other bytes"],
)
def test_other_arrays_are_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"doubles|contiguous"):
        representation_kernels.squared_length(given)


def test_no_array_at_all_is_refused() -> None:
    with pytest.raises(TypeError):
        representation_kernels.squared_length([1.0, 2.0])  # type: ignore[arg-type]


def test_a_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 2 entries, got 3"):
        representation_kernels.impute(np.zeros(2), np.zeros(3), np.zeros(2), 1.0, learn=True)
    with pytest.raises(ValueError, match="expected 2 entries, got 3"):
        ridge_kernels.mean(np.zeros((1, 2)), np.zeros(3))
    with pytest.raises(ValueError, match="expected 1 matrices of 2 rows"):
        ridge_kernels.predict(np.zeros((1, 4)), np.zeros((1, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="expected one of 1 algorithms, got 1"):
        ridge_kernels.update(np.zeros((1, 3)), np.zeros((1, 2)), 1, np.zeros(2), 1.0, 1.0)


def test_whole_numbers_of_another_width_are_refused() -> None:
    """One tree that is a leaf."""
    root, leaf, row = np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    threshold, loss, x = np.zeros(1), np.array([[0.25, 0.5]]), np.zeros(1)
    assert tree_kernels.mean_leaf(root, leaf, threshold, row, loss, x).tolist() == [0.25, 0.5]
    with pytest.raises(ValueError, match="expected an array of whole numbers of 32 bits"):
        tree_kernels.mean_leaf(root, leaf.astype(np.int64), threshold, row, loss, x)
    with pytest.raises(ValueError, match="expected an array of whole numbers of 64 bits"):
        tree_kernels.mean_leaf(row, leaf, threshold, row, loss, x)  # type: ignore[arg-type]


def test_what_is_read_only_is_read_and_never_written() -> None:
    x, seen = np.ones(2), np.zeros(2)
    x.flags.writeable = seen.flags.writeable = False
    assert representation_kernels.squared_length(x) == 2.0
    with pytest.raises(ValueError, match="read-only"):
        representation_kernels.impute(x, seen, np.zeros(2), 1.0, learn=True)


def test_empty_arrays_are_fine() -> None:
    assert representation_kernels.squared_length(np.zeros(0)) == 0.0
    mean, variance = ridge_kernels.predict(np.zeros((2, 0)), np.zeros((2, 0)), np.zeros(0))
    assert mean.tolist() == variance.tolist() == [0.0, 0.0]
