"""The ridge bank against a batch solve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.models import RidgeBank
from tailcut.types import Array


class Batch:
    """The same regressions, solved from all data at once with numpy: the independent source."""

    def __init__(self, n_algorithms: int, n_features: int, ridge: float) -> None:
        self.gram = np.stack([ridge * np.eye(n_features)] * n_algorithms)
        self.moment = np.zeros((n_algorithms, n_features))

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        self.gram[algorithm] += weight * np.outer(x, x)
        self.moment[algorithm] += weight * target * x

    def predict(self, x: Array) -> tuple[Array, Array]:
        means = [x @ np.linalg.solve(g, m) for g, m in zip(self.gram, self.moment, strict=True)]
        variances = [x @ np.linalg.solve(g, x) for g in self.gram]
        return np.array(means), np.array(variances)


@given(
    n_algorithms=st.integers(1, 4),
    n_features=st.integers(1, 6),
    steps=st.integers(0, 60),
    ridge=st.floats(0.01, 10.0),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_bank_equals_batch(n_algorithms: int, n_features: int, steps: int, ridge: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bank = RidgeBank(n_algorithms=n_algorithms, n_features=n_features, ridge=ridge)
    batch = Batch(n_algorithms, n_features, ridge)
    for _ in range(steps):
        algorithm, x = int(rng.integers(n_algorithms)), rng.standard_normal(n_features)
        target, weight = float(rng.standard_normal() * 5), float(rng.uniform(0.0, 2.0))
        bank.update(algorithm, x, target, weight)
        batch.update(algorithm, x, target, weight)
    x = rng.standard_normal(n_features)
    for ours, exact in zip(bank.predict(x), batch.predict(x), strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-9)
    for algorithm in range(n_algorithms):
        all_at_once = (bank.predict(x)[0][algorithm], bank.predict(x)[1][algorithm])
        assert bank.predict_one(algorithm, x) == pytest.approx(all_at_once, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n_features", [*range(20), 31, 32, 33])
def test_every_length_of_a_row_is_read(n_features: int) -> None:
    """Rows are read four at a time, eight entries at a time, and the rest one by one."""
    rng = np.random.default_rng(n_features)
    bank = RidgeBank(n_algorithms=2, n_features=n_features)
    full = rng.normal(size=(2, n_features, n_features))
    full += full.transpose(0, 2, 1) + 2.0 * n_features * np.eye(n_features)
    row, column = np.tril_indices(n_features)
    bank.halves, x = np.ascontiguousarray(full[:, row, column]), rng.normal(size=n_features)
    np.testing.assert_allclose(bank.predict(x)[1], [x @ one @ x for one in full], rtol=1e-12)


def test_weight_zero_teaches_nothing() -> None:
    bank = RidgeBank(n_algorithms=1, n_features=2)
    bank.update(0, np.array([1.0, 2.0]), 5.0, 0.0)
    assert bank.predict_one(0, np.array([1.0, 1.0])) == (0.0, 2.0)


def test_add_and_remove_keep_the_others() -> None:
    rng = np.random.default_rng(1)
    bank = RidgeBank(n_algorithms=3, n_features=3)
    for step in range(30):
        bank.update(step % 3, rng.standard_normal(3), float(step), 1.0)
    x = rng.standard_normal(3)
    before = [bank.predict_one(algorithm, x) for algorithm in range(3)]
    bank.add()
    assert bank.predict_one(3, x) == pytest.approx((0.0, float(x @ x)))
    bank.remove(1)
    assert [bank.predict_one(algorithm, x) for algorithm in (0, 1)] == [before[0], before[2]]
    bank.update(2, x, 1.0, 1.0)
    assert bank.predict(x)[0].shape == (3,)
