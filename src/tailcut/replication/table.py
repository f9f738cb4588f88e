"""A scenario as the published experiment saw it: four arrays and a cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tailcut.types import Array


@dataclass(frozen=True)
class Table:
    """n instances, K algorithms, d features; rows and columns in the order of their names."""

    cutoff: float
    features: Array
    """Feature values, nan where missing, shape (n, d)."""
    performances: Array
    """Runtime in seconds, 10 times the cutoff where a run did not solve its instance, shape (n, K)."""
    feature_cost: Array
    """Seconds to compute all features of an instance, shape (n,)."""


class Recorded(Protocol):
    """What is read of an ASlib scenario (`tailcut.aslib.Scenario` has it)."""

    @property
    def cutoff(self) -> float:
        """Seconds after which a run was stopped."""
        ...

    @property
    def features(self) -> Array:
        """Feature values, shape (n, d)."""
        ...

    @property
    def runtimes(self) -> Array:
        """Seconds each run took, shape (n, K)."""
        ...

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Which runs solved their instance, shape (n, K)."""
        ...

    @property
    def feature_cost(self) -> Array:
        """Seconds to compute the features of each instance, shape (n,)."""
        ...


def table_of(scenario: Recorded) -> Table:
    """Return the scenario with unsolved runs as 10 C, as the published experiment read it."""
    return Table(
        cutoff=scenario.cutoff,
        features=scenario.features,
        performances=np.where(scenario.solved, scenario.runtimes, 10.0 * scenario.cutoff),
        feature_cost=scenario.feature_cost,
    )
