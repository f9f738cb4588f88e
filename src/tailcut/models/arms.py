"""How good each algorithm is overall, by empirical Bayes: an algorithm with few runs borrows from all.

The mean loss of algorithm a is theta_a ~ N(m, tau^2), a run of it costs y ~ N(theta_a, s^2). All three
constants are learned from the stream, each from a start that counts as a few algorithms or runs:

    s^2    the mean squared error of the predictions made before each outcome
    m      the precision-weighted mean of the algorithms' means
    tau^2  the mean of (theta_a - m)^2 over the algorithms that were run, by expectation maximisation

m and tau^2 are learned again when there are more runs by a hundredth: at first after each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import arm_kernels
from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array

MEAN, MEAN_WEIGHT = 0.5, 1.0
"""Where m starts, and how many algorithms that counts for."""
SPREAD, SPREAD_WEIGHT = 0.03, 3.0
"""Where tau^2 starts, and how many algorithms that counts for."""
NOISE, NOISE_WEIGHT = 0.12, 10.0
"""Where s^2 starts, and how many runs that counts for."""
_STEPS = 3
"""Of expectation maximisation, which starts from the beginning each time; enough for two digits."""
_AGAIN = 0.01
"""Share of new runs that m and tau^2 are learned again for."""


class Arms(Stateful):
    """Posterior mean and variance of each algorithm's mean loss, shapes (K,).

    >>> arms = Arms(2)
    >>> for loss in (0.1, 0.1, 0.1):
    ...     arms.update(0, loss)
    >>> bool(arms.mean[0] < arms.mean[1] < MEAN)  # the other one is expected to be better, too
    True
    """

    STATE = ("runs", "total", "predictions", "squared_errors", "middle", "spread", "due")

    mean: Array
    variance: Array

    def __init__(self, n_algorithms: int, *, prior_weight: float = 1.0) -> None:
        self.prior_weight = prior_weight
        """How strongly m and tau^2 are held to their starting values; if infinite, nothing is borrowed."""
        self.runs = np.zeros(n_algorithms)
        self.total = np.zeros(n_algorithms)
        """Sum of the losses of each algorithm's runs, shape (K,)."""
        self.predictions = NOISE_WEIGHT
        self.squared_errors = NOISE * NOISE_WEIGHT
        """Of as many predictions; those of algorithms that were removed since are among them."""
        self._learn_population()

    def update(self, algorithm: int, loss: float, weight: float = 1.0) -> None:
        """Learn that a run of `algorithm` cost `loss`, weighing `weight` runs."""
        self.squared_errors += weight * (loss - float(self.mean[algorithm])) ** 2
        self.predictions += weight
        self.runs[algorithm] += weight
        self.total[algorithm] += weight * loss
        if self.predictions >= self.due:
            self._learn_population()
        else:
            self._infer()

    def recount(self, algorithms: NDArray[np.int64], losses: Array, weights: Array) -> None:
        """Count only these runs, shapes (n,)."""
        count = len(self.runs)
        self.runs = np.bincount(algorithms, weights, minlength=count).astype(np.float64)
        self.total = np.bincount(algorithms, weights * losses, minlength=count).astype(np.float64)
        self._learn_population()

    def _learn_population(self) -> None:
        self.middle, self.spread = population(self.runs, self.total, self._noise, self.prior_weight)
        self.due = (1.0 + _AGAIN) * self.predictions
        """How many predictions there are when m and tau^2 are learned again."""
        self._infer()

    @property
    def _noise(self) -> float:
        return self.squared_errors / self.predictions

    def _infer(self) -> None:
        self.mean, self.variance = arm_kernels.posterior(
            self.runs, self.total, self.middle, self.spread, self._noise
        )

    def add(self) -> None:
        """Append an algorithm without runs."""
        self.runs, self.total = np.append(self.runs, 0.0), np.append(self.total, 0.0)
        self._learn_population()

    def remove(self, algorithm: int) -> None:
        """Drop one algorithm."""
        self.runs, self.total = np.delete(self.runs, algorithm), np.delete(self.total, algorithm)
        self._learn_population()

    def restored(self) -> None:
        """Compute what follows from counts and sums."""
        expect_finite(runs=self.runs, total=self.total)
        expect((self.runs >= 0.0).all(), "runs: a count is less than 0")
        positive = min(self.predictions, self.squared_errors, self.spread)
        expect(positive > 0.0, "predictions, squared_errors and spread: expected more than 0")
        self._infer()


def population(runs: Array, total: Array, noise: float, prior_weight: float = 1.0) -> tuple[float, float]:
    """Return m and tau^2, learned from `runs` (K,) that cost `total` (K,)."""
    weights = prior_weight * MEAN_WEIGHT, prior_weight * SPREAD_WEIGHT
    return arm_kernels.population(runs, total, noise, MEAN, weights[0], SPREAD, weights[1], _STEPS)
