"""The published protocol, and where the published table departs from the paper's formulas.

Each of ten seeds shuffles the instances, serves every one once, and adds up PAR10. All randomness of a run
comes from one stream, numpy's legacy RandomState(seed): first the order of the instances, then whatever the
policy draws. A `Generator` would draw other numbers.

The defaults of `Switches` reproduce the table. Turning one switch to the value in `PAPER` puts the paper's
formula in that one place. docs/background/replication.md says how each was found, and what it does to the
numbers. The paper is Tornede, Bengs, Hüllermeier, "Machine Learning for Online Algorithm Selection under
Censored Feedback", AAAI 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

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

    @staticmethod
    def read(folder: Path) -> ExperimentData:
        """Return the ASlib scenario in a folder, with unsolved runs as 10 C."""
        scenario = Scenario.read(folder)
        performances = scenario.losses(penalty=PENALTY)
        return ExperimentData(scenario.cutoff, scenario.features, performances, scenario.feature_cost)


@dataclass(frozen=True)
class Switches:
    """One field per departure from the paper; the default is what the table was made with."""

    first_outcome_goes_to_last: bool = True
    """The first outcome, of algorithm 0, is booked on algorithm K-1, not on the one that ran."""
    untried_are_forced: bool = False
    """If not, an untried algorithm has a very low score, and one with a lower score is run in its place."""
    means_of_observed_only: bool = False
    """If not, the mean that a missing feature takes is also of the values put in for missing ones before."""
    zero_vector_is_nan: bool = True
    """LinUCB divides an all-zero vector by its norm; the nan stays, and argmin chooses it ever after."""
    reaching_cutoff_is_censored: bool = True
    """m >= C is censored, not only m > C."""
    width_adds_one: bool = False
    """Bias-corrected width (1 + 2 log(C) sqrt(n_c)) w, instead of the same without the 1."""
    rand_scale: float = 0.25
    """Standard deviation of the half-normal factor. Paper: variance 0.25, so 0.5."""
    penalty_is_log: bool = True
    """`*_rev` charges log(10 C), not 10 C, for a timeout next to an expected time in seconds."""
    tail_uses_variance: bool = True
    """thompson_rev divides by the variance, not the deviation, in the probability of a timeout."""
    half_shift: bool = True
    """thompson_rev shifts by half the variance, not the variance, in the numerator of E_C."""
    bj_gives_up: bool = True
    """Buckley-James imputes log C if 19 draws stay below it. Paper: draws until one exceeds it."""


PUBLISHED = Switches()
"""What reproduces the table."""
_TURNED: dict[str, Any] = {field.name: not field.default for field in fields(Switches)}
PAPER = Switches(**_TURNED | {"rand_scale": 0.5})
"""The paper's formulas everywhere."""


def one_turned_back() -> dict[str, Switches]:
    """Return, per switch, the published settings with that one switch as in the paper.

    >>> one_turned_back()["rand_scale"].rand_scale
    0.5
    """
    return {name: replace(PUBLISHED, **{name: getattr(PAPER, name)}) for name in _TURNED}


class PublishedPolicy(Protocol):
    """What chooses and learns."""

    def select(self, features: Array) -> int:
        """Return the number of the algorithm to run on an instance with `features` (d,)."""

    def learn(self, algorithm: int, features: Array, performance: float) -> None:
        """Take in that `algorithm` had this performance (10 C if unsolved) on `features` (d,)."""


MakePolicy = Callable[[ExperimentData, np.random.RandomState], PublishedPolicy]
"""Builds a fresh policy for a table's sizes and cutoff, drawing from the given stream."""


@dataclass(frozen=True)
class Summary:
    """PAR10 over the seeds."""

    mean: float
    std: float
    """Population standard deviation, as published."""
    seeds: int


def choices(table: ExperimentData, make: MakePolicy, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Replay the table under `seed`; return the rows in order of arrival and the choices, shapes (n,)."""
    rng = np.random.RandomState(seed)  # the published numbers come from this generator
    order = np.argsort(rng.permutation(len(table.features)))  # row i arrives at position permutation[i]
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
