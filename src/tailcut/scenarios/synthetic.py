"""Scenarios whose runtimes follow the model exactly: known weights, known noise, known censoring.

For demonstrations without data and for tests that need to know the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics.randomness import stream
from tailcut.types import PENALTY, Array


@dataclass(frozen=True)
class SyntheticScenario:
    """n instances and K algorithms with log-runtime x'theta + noise, cut off at `cutoff` seconds."""

    algorithms: tuple[str, ...]
    features: Array
    """Unit vectors, shape (n, d)."""
    theta: Array
    """True weights, shape (K, d)."""
    noise: float
    """Standard deviation of the log-runtime around x'theta."""
    runtimes: Array
    """Uncensored runtimes in seconds, shape (n, K)."""
    cutoff: float

    @property
    def solved(self) -> NDArray[np.bool_]:
        return self.runtimes <= self.cutoff

    @property
    def feature_cost(self) -> Array:
        return np.zeros(len(self.features))

    def losses(self, penalty: float = PENALTY) -> Array:
        return np.where(self.solved, self.runtimes, penalty * self.cutoff)


def generate(
    *,
    n_instances: int = 1000,
    n_algorithms: int = 5,
    n_features: int = 10,
    noise: float = 1.0,
    timeouts: float = 0.3,
    seed: int = 0,
) -> SyntheticScenario:
    """Return a scenario in which a share of about `timeouts` of all runs does not finish.

    >>> scenario = generate(n_instances=2000, timeouts=0.25)
    >>> scenario.features.shape, round(1.0 - float(scenario.solved.mean()), 2)
    ((2000, 10), 0.25)
    """
    rng = stream(seed, "synthetic scenario")
    features = rng.standard_normal((n_instances, n_features))
    features[:, 0] = 2.0  # a common level: without it, unit vectors know no "long" and "short"
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = 4.0 * rng.standard_normal((n_algorithms, n_features))
    theta[:, 0] += 6.0
    log_runtimes = features @ theta.T + noise * rng.standard_normal((n_instances, n_algorithms))
    runtimes = np.exp(log_runtimes)
    return SyntheticScenario(
        algorithms=tuple(f"solver-{number + 1}" for number in range(n_algorithms)),
        features=features,
        theta=theta,
        noise=noise,
        runtimes=runtimes,
        cutoff=float(np.quantile(runtimes, 1.0 - timeouts)),
    )
