"""What LinUCB and Thompson share: unit vectors, one ridge regression per algorithm, the rules around it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from tailcut.replication.protocol import ExperimentData
from tailcut.replication.switches import Switches
from tailcut.types import PENALTY, Array

SMALLEST_RUNTIME = 1e-4
"""Seconds that a runtime of 0 counts, since 0 has no logarithm."""
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


class RidgeBandit(ABC):
    """A policy with A = lambda I + sum x x', b = sum y x and theta = A^-1 b per algorithm.

    The inverse is computed again from A whenever A changed. Updating it instead is faster, and its
    rounding errors change decisions where scores tie: two algorithms of which nothing was learned.
    """

    untried: float
    """Score of an algorithm without runs. Finite as published."""
    guards_zero_vectors: bool

    def __init__(
        self, table: ExperimentData, rng: np.random.RandomState, *, ridge: float, switches: Switches
    ) -> None:
        d, k = table.features.shape[1], table.performances.shape[1]
        self.cutoff = table.cutoff
        self.log_cutoff = math.log(table.cutoff)
        self.rng = rng
        self.switches = switches
        self.vectors = UnitVectors(d, switches, guard_zero=self.guards_zero_vectors)
        self.gram = np.tile(ridge * np.eye(d), (k, 1, 1))
        self.inverse = np.tile(np.linalg.inv(ridge * np.eye(d)), (k, 1, 1))
        self.moment = np.zeros((k, d))
        self.theta = np.zeros((k, d))
        self.runs = np.zeros(k)
        self.timeouts = np.zeros(k)

    @property
    def penalty(self) -> float:
        """What the `*_rev` scores charge for a timeout."""
        worst = PENALTY * self.cutoff
        return math.log(worst) if self.switches.penalty_is_log else worst

    @abstractmethod
    def scores(self, known: NDArray[np.intp], mean: Array, variance: Array) -> Array:
        """Return the scores of the algorithms numbered `known`; mean is x'theta, variance x'A^-1 x."""

    @abstractmethod
    def target(self, algorithm: int, x: Array, performance: float, censored: bool) -> float | None:
        """Return the log-runtime to learn, or None to learn nothing."""

    def belief(self, known: NDArray[np.intp], x: Array) -> tuple[Array, Array]:
        """Return x'theta and x'A^-1 x of the algorithms numbered `known`.

        Sums run through einsum, row by row alike: a matrix product may round equal rows differently,
        and equal algorithms must tie.
        """
        mean = np.einsum("kd,d->k", self.theta, x)
        variance = np.einsum("kd,d->k", np.matmul(self.inverse, x), x)
        return mean[known], variance[known]

    def select(self, features: Array) -> int:
        """Return the algorithm with the lowest score; ties and nan resolve as numpy's argmin does."""
        known = np.flatnonzero(self.runs)
        scores = np.full(len(self.runs), self.untried)
        if known.size:
            scores[known] = self.scores(known, *self.belief(known, self.vectors.vector(features)))
        if self.switches.untried_are_forced and known.size < len(scores):
            return int(np.argmin(self.runs))
        return int(np.argmin(scores))

    def learn(self, algorithm: int, features: Array, performance: float) -> None:
        """Take in an outcome, then the features."""
        if self.switches.first_outcome_goes_to_last and not self.runs.any():
            algorithm = len(self.runs) - 1
        x = self.vectors.vector(features)
        self.vectors.update(features)
        if self.switches.reaching_cutoff_is_censored:
            censored = performance >= self.cutoff
        else:
            censored = performance > self.cutoff
        y = self.target(algorithm, x, performance, censored)
        self.runs[algorithm] += 1
        self.timeouts[algorithm] += censored
        if y is not None:
            self.moment[algorithm] += y * x
            self.gram[algorithm] += np.outer(x, x)
            self.inverse[algorithm] = np.linalg.inv(self.gram[algorithm])
            self.theta[algorithm] = self.inverse[algorithm] @ self.moment[algorithm]


def log_runtime(performance: float) -> float:
    """Return the logarithm of a runtime, of 1e-4 for 0.

    >>> log_runtime(0.0) == log_runtime(1e-4)
    True
    """
    return math.log(performance or SMALLEST_RUNTIME)
