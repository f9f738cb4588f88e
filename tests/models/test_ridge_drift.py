"""After a million updates the bank still agrees with a batch solve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tailcut.models import RidgeBank
from tailcut.types import Array

N, D = 1_000_000, 6


def _spread(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_normal((n, D))


def _unit(rng: np.random.Generator, n: int) -> Array:
    x = rng.standard_normal((n, D))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _nearly_collinear(rng: np.random.Generator, n: int) -> Array:
    """Features of very different sizes scaled to unit norm, as raw ASlib features are: one dominates."""
    x = rng.standard_normal((n, D)) * np.array([1e4, 1e2, 1.0, 1e-1, 1e-2, 1e-3]) + np.array(
        [1e5] + [0.0] * 5
    )
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("stream", [_spread, _unit, _nearly_collinear])
def test_no_drift_after_a_million_updates(stream: Callable[[np.random.Generator, int], Array]) -> None:
    rng = np.random.default_rng(11)
    xs = stream(rng, N)
    targets = xs @ rng.standard_normal(D) + rng.standard_normal(N) + 3.0
    weights = np.where(rng.random(N) < 0.3, rng.random(N), 1.0)  # censored lessons weigh less than 1
    bank = RidgeBank(n_algorithms=1, n_features=D, ridge=0.5)
    for x, target, weight in zip(xs, targets.tolist(), weights.tolist(), strict=True):
        bank.update(0, x, target, weight)
    gram = 0.5 * np.eye(D) + (xs * weights[:, None]).T @ xs
    theta = np.linalg.solve(gram, (xs * weights[:, None]).T @ targets)
    assert np.linalg.norm(bank.theta[0] - theta) <= 1e-6 * np.linalg.norm(theta)
    probes = np.vstack([stream(rng, 20), np.eye(D)])
    exact = np.einsum("nd,nd->n", probes, np.linalg.solve(gram, probes.T).T)
    ours = np.array([bank.predict_one(0, probe)[1] for probe in probes])
    np.testing.assert_allclose(ours, exact, rtol=1e-6)
