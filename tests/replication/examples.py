"""Small tables with everything that the published experiment met: gaps, zeros, timeouts, zero runtimes."""

from __future__ import annotations

import numpy as np

from tailcut.replication import ExperimentData


def random_table(seed: int, n: int = 60, k: int = 4, d: int = 3) -> ExperimentData:
    rng = np.random.default_rng(seed)
    features = rng.normal(1.0, 2.0, (n, d))
    features[rng.random((n, d)) < 0.15] = np.nan
    cutoff = 50.0
    runtimes = np.exp(rng.normal(2.5, 2.0, (n, k)))
    runtimes[rng.random((n, k)) < 0.03] = 0.0
    runtimes[0, :] = cutoff  # solved, but not in less than the cutoff
    performances = np.where(runtimes <= cutoff, runtimes, 10.0 * cutoff)
    return ExperimentData(cutoff, features, performances, rng.random(n))
