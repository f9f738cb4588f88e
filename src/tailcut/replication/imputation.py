"""From recorded features to unit vectors, as published: running means, then unit norm."""

from __future__ import annotations

import numpy as np

from tailcut.replication.switches import Switches
from tailcut.types import Array

ALMOST_NOTHING = 1e-9
"""First entry that Thompson gives to an all-zero vector, so that it has a direction."""


class UnitVectors:
    """Missing values take running means that start at 0; then the vector is divided by its norm."""

    def __init__(self, n_features: int, switches: Switches, *, guard_zero: bool) -> None:
        self.switches = switches
        self.guard_zero = guard_zero
        self.means = np.zeros(n_features)
        self.seen = np.zeros(n_features)

    def imputed(self, features: Array) -> Array:
        """Return `features` (d,) without gaps."""
        full = np.where(np.isnan(features), self.means, features)
        if self.guard_zero and not full.any():
            full[0] = ALMOST_NOTHING
        return full

    def vector(self, features: Array) -> Array:
        """Return the unit vector of `features` (d,)."""
        full = self.imputed(features)
        norm = np.linalg.norm(full)
        if norm == 0.0 and not self.switches.zero_vector_is_nan:
            return full
        with np.errstate(invalid="ignore"):
            return np.asarray(full / norm)

    def update(self, features: Array) -> None:
        """Move the means; as published, values that were put in for missing ones count like seen ones."""
        full = self.imputed(features)
        counts = ~np.isnan(features) if self.switches.means_of_observed_only else np.ones(len(full), bool)
        self.seen[counts] += 1.0
        self.means[counts] += (1.0 / self.seen[counts]) * (full[counts] - self.means[counts])
