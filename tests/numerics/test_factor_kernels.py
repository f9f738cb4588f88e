"""Adding a row to a triangular factor, against LAPACK and against the product that it must have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg.lapack import dtpqrt

from tailcut.numerics.factor_kernels import add_row


@pytest.mark.parametrize("n_columns", [1, 2, 3, 8, 40])
def test_the_factor_has_the_product_of_all_rows(n_columns: int) -> None:
    rows = np.random.default_rng(n_columns).normal(size=(30, n_columns))
    factor = np.zeros((n_columns, n_columns))
    for row in rows:
        add_row(factor, row.copy())
    assert np.array_equal(factor, np.triu(factor))
    np.testing.assert_allclose(factor.T @ factor, rows.T @ rows, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150, 1e-300, 5e-324], ids=str)
def test_as_lapack_does(scale: float) -> None:
    """Some entries are 0, some columns tiny or large: numbers that would overflow on the way do not."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(25, 12)).round(1)
    rows[:, ::3] *= scale
    ours, theirs = np.zeros((12, 12)), np.zeros((12, 12))
    for row in rows:
        theirs = np.ascontiguousarray(dtpqrt(0, 1, theirs, row[None])[0])
        add_row(ours, row.copy())
    assert np.isfinite(ours).all()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=0.0 if scale > 1e-290 else 1e-300)


def test_a_factor_that_is_not_square_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a square factor, got 2 rows of 3"):
        add_row(np.zeros((2, 3)), np.zeros(3))
