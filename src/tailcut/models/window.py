"""The sliding window of a ridge bank: the runs it holds, and the arithmetic of letting one go.

A run leaves by the rank-one formula that took it in, with its weight negative. That undoes the update, but
not its rounding: where taking in shrinks an error of A^-1, letting go lets it grow again. So an algorithm's
posterior is computed anew from the runs in the window, one algorithm at a time, after every so many runs
let go that the average cost per run stays O(d^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tailcut.models.latest import Latest
from tailcut.types import Array

SAFE = 1e-6
"""A run whose leaving would divide by less than this is not subtracted: its algorithm is computed anew."""

Kept = tuple[int, Array, float, float]
"""Algorithm, x of shape (d,), target, weight."""


class Window:
    """The latest `size` runs of a bank of K algorithms and d features, and whose turn it is to be renewed."""

    def __init__(self, size: int, n_algorithms: int) -> None:
        self.runs: Latest[Kept] = Latest(size)
        self.count = [0] * n_algorithms
        """How many of the runs are of each algorithm."""
        self.gone = 0
        """How many runs were let go since the last renewal by turn."""
        self.turn = 0
        """Who is renewed next."""

    def push(self, run: Kept) -> Kept | None:
        """Take in a run; return the one that is to be let go, if any."""
        self.count[run[0]] += 1
        oldest = self.runs.push(run)
        if oldest is not None:
            self.count[oldest[0]] -= 1
        return oldest

    def due(self, n_features: int) -> int | None:
        """Count a run that was let go; return who is to be renewed now, if anybody.

        Renewing costs O(n d^2 + d^3) for the n runs of one algorithm. After every max(size / K, d) runs let
        go, that is O(d^2) per run on average.
        """
        self.gone += 1
        n_algorithms = len(self.count)
        if self.gone < max(self.runs.size // n_algorithms, n_features):
            return None
        self.gone, self.turn = 0, (self.turn + 1) % n_algorithms
        return self.turn

    def posterior(self, algorithm: int, ridge: float, n_features: int) -> tuple[Array, Array]:
        """Return A^-1, shape (d, d), and theta, shape (d,), of the runs in the window."""
        own = [run for run in self.runs if run[0] == algorithm]
        x = np.array([run[1] for run in own]).reshape(len(own), n_features)
        weighted = x * np.array([run[3] for run in own])[:, None]
        gram = weighted.T @ x
        gram[np.diag_indices(n_features)] += ridge
        inverse = np.linalg.inv(gram)
        inverse = 0.5 * (inverse + inverse.T)
        return inverse, inverse @ (weighted.T @ np.array([run[2] for run in own]))

    def add(self) -> None:
        """Make room for one more algorithm."""
        self.count.append(0)

    def remove(self, algorithm: int) -> None:
        """Drop the runs of an algorithm."""
        self.runs.remove(algorithm)
        del self.count[algorithm]
        self.turn = 0

    def state(self) -> dict[str, Any]:
        """Return the runs, oldest first, and whose turn it is."""
        runs = list(self.runs)
        return {
            "algorithm": np.array([run[0] for run in runs], dtype=np.int64),
            "x": np.array([run[1] for run in runs], dtype=np.float64),
            "target": np.array([run[2] for run in runs], dtype=np.float64),
            "weight": np.array([run[3] for run in runs], dtype=np.float64),
            "gone": self.gone,
            "turn": self.turn,
        }

    def restore(self, state: dict[str, Any], n_algorithms: int) -> None:
        """Continue from the runs and whose turn it is."""
        columns = (
            state["algorithm"].tolist(),
            state["x"],
            state["target"].tolist(),
            state["weight"].tolist(),
        )
        self.runs.replace(zip(*columns, strict=True))
        self.count = np.bincount(state["algorithm"], minlength=n_algorithms).tolist()
        self.gone, self.turn = state["gone"], state["turn"]
