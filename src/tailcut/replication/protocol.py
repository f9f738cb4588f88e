"""The published protocol: ten seeds, each shuffles the instances, serves every one once, adds up PAR10.

All randomness of a run comes from one stream, numpy's legacy RandomState(seed): first the order of the
instances, then whatever the policy draws. A `Generator` would draw other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tailcut.scenarios import Scenario
from tailcut.types import PENALTY, Array

SEEDS = tuple(range(1, 11))
"""The seeds of the published table."""


@dataclass(frozen=True)
class ExperimentData:
    """A scenario as the published experiment saw it.

    n instances, K algorithms, d features; rows and columns in the order of their names.
    """

    cutoff: float
    features: Array
    """Feature values, nan where missing, shape (n, d)."""
    performances: Array
    """Runtime in seconds, 10 times the cutoff where a run did not solve its instance, shape (n, K)."""
    feature_cost: Array
    """Seconds to compute all features of an instance, shape (n,)."""


def experiment_data(scenario: Scenario) -> ExperimentData:
    """Return the scenario with unsolved runs as 10 C, as the published experiment read it."""
    return ExperimentData(
        cutoff=scenario.cutoff,
        features=scenario.features,
        performances=scenario.losses(penalty=PENALTY),
        feature_cost=scenario.feature_cost,
    )


class PublishedPolicy(Protocol):
    """What chooses and learns."""

    def select(self, features: Array) -> int:
        """Return the number of the algorithm to run on an instance with `features` (d,)."""
        ...

    def learn(self, algorithm: int, features: Array, performance: float) -> None:
        """Take in that `algorithm` had this performance (10 C if unsolved) on `features` (d,)."""
        ...


MakePolicy = Callable[[ExperimentData, np.random.RandomState], PublishedPolicy]
"""Builds a fresh policy for a table's sizes and cutoff, drawing from the given stream."""


@dataclass(frozen=True)
class Summary:
    """PAR10 over the seeds."""

    mean: float
    std: float
    """Population standard deviation, as published."""
    seeds: int


def arrival(n: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return the row served at each step: row i of the table arrives at position permutation[i].

    >>> rng = np.random.RandomState(1)
    >>> arrival(4, rng).tolist(), np.random.RandomState(1).permutation(4).tolist()
    ([2, 3, 1, 0], [3, 2, 0, 1])
    """
    return np.asarray(np.argsort(rng.permutation(n)))


def choices(table: ExperimentData, make: MakePolicy, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Replay the table under `seed`; return the rows in order of arrival and the choices, shapes (n,)."""
    rng = np.random.RandomState(seed)  # the published numbers come from this generator
    order = arrival(len(table.features), rng)
    policy = make(table, rng)
    chosen = np.empty(len(order), dtype=np.intp)
    for step, row in enumerate(order):
        features = table.features[row]
        chosen[step] = policy.select(features)
        policy.learn(int(chosen[step]), features, float(table.performances[row, chosen[step]]))
    return order, chosen


def par10(table: ExperimentData, rows: NDArray[np.intp], chosen: NDArray[np.intp]) -> float:
    """Return mean PAR10: runtime plus the cost of all features, above C counts 10 C.

    >>> two = ExperimentData(100.0, np.zeros((2, 1)), np.array([[60.0], [60.0]]), np.array([40.0, 41.0]))
    >>> par10(two, np.array([0, 1]), np.array([0, 0]))
    550.0
    """
    total = table.performances[rows, chosen] + table.feature_cost[rows]
    return float(np.where(total <= table.cutoff, total, PENALTY * table.cutoff).mean())


def evaluate(table: ExperimentData, make: MakePolicy, seeds: Iterable[int] = SEEDS) -> Summary:
    """Return the policy's PAR10 on the table over the seeds."""
    scores = np.array([par10(table, *choices(table, make, seed)) for seed in seeds])
    return Summary(float(scores.mean()), float(scores.std()), len(scores))
