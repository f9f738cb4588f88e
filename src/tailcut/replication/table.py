"""A scenario as the published experiment saw it: four arrays and a cutoff."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.scenarios import Scenario
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


def table_of(scenario: Scenario) -> Table:
    """Return the scenario with unsolved runs as 10 C, as the published experiment read it."""
    return Table(
        cutoff=scenario.cutoff,
        features=scenario.features,
        performances=scenario.losses(penalty=10.0),
        feature_cost=scenario.feature_cost,
    )
