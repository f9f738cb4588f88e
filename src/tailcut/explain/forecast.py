"""What a run will take, for selectors that learn something else than runtimes, a bounded loss for example.

A model on the side: it takes in every outcome and is never asked to decide.
"""

from __future__ import annotations

import math

import numpy as np

from tailcut.models import RidgeBank
from tailcut.numerics.normal import tail_beyond, upper_tail_moments
from tailcut.policies.censoring import MomentMatching, Unfinished
from tailcut.policies.targets import LogSeconds
from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array, Forecasts, Outcome, Progress, Status

_LOG = LogSeconds()
_PRIOR_WEIGHT = 10.0
"""The noise is first taken as 1 on the log scale, and this many runs count as having shown it."""


class RuntimeForecast(Stateful):
    """A ridge regression of the log-runtime per algorithm, with a noise that is learned too.

    A stopped run is learned by moment matching (`MomentMatching`). The noise variance
    of each algorithm is the mean of its squared residuals, each divided by 1 + x'A^-1 x, as in the
    conjugate normal-inverse-gamma model; of an unfinished run, the square expected given that it takes
    longer. Only the first `n_features` entries of a represented instance are looked at.

    Real runtimes have heavier tails than a lognormal: more runs time out than it says. So each algorithm has
    a share of runs taken to never end, as large as its surplus of timeouts over those predicted; the
    median and the interval are those of the other runs.

    >>> forecast = RuntimeForecast(n_algorithms=1, n_features=1)
    >>> for _ in range(200):
    ...     forecast.learn(0, np.array([10.0]), Outcome.solved(20.0), cutoff=60.0)
    >>> found = forecast.predict(np.array([10.0]), Progress(60.0, 0.0, None), penalty=10.0)
    >>> found.median.round(1).tolist(), found.timeout.round(3).tolist()
    ([20.0], [0.0])
    """

    STATE = ("bank", "weight", "squares", "surplus", "endable")

    def __init__(self, *, n_algorithms: int, n_features: int, ridge: float = 1.0) -> None:
        self.bank = RidgeBank(n_algorithms=n_algorithms, n_features=n_features, ridge=ridge)
        self.weight = np.full(n_algorithms, _PRIOR_WEIGHT)
        """How many residuals the noise of each algorithm is the mean of, shape (K,)."""
        self.squares = np.full(n_algorithms, _PRIOR_WEIGHT)
        """The sum of their squares, shape (K,)."""
        self.surplus = np.zeros(n_algorithms)
        """How many more runs of each algorithm timed out than the lognormal predicted, shape (K,)."""
        self.endable = np.full(n_algorithms, _PRIOR_WEIGHT)
        """How many runs of each algorithm it predicted to end, shape (K,)."""

    def learn(self, algorithm: int, x: Array, outcome: Outcome, cutoff: float) -> None:
        """Take in how a run of `algorithm` went on the instance represented by `x`."""
        x = x[: self.bank.n_features]
        u, mean, variance = self.bank.solve(algorithm, x)
        noise = math.sqrt(self.squares[algorithm] / self.weight[algorithm])
        deviation = noise * math.sqrt(1.0 + variance)
        self._count(algorithm, outcome, cutoff, tail_beyond(mean, deviation, math.log(cutoff)))
        if outcome.status is Status.SOLVED:
            assert outcome.time is not None
            target, weight = _LOG.value(outcome.time, cutoff), 1.0
            square = (target - mean) ** 2 / (1.0 + variance)
        else:
            # A failed run would never have answered: it is known to need more than the cutoff.
            run = Unfinished(cutoff if outcome.time is None else outcome.time, cutoff, _LOG)
            r, gap = upper_tail_moments(mean, deviation, run.value())
            square = noise * noise * (1.0 - (gap - r) * r)
            lesson = MomentMatching(noise).pseudo_observation(run, mean, variance)
            target, weight = lesson or (mean, 0.0)
        self.squares[algorithm] += square
        self.weight[algorithm] += 1.0
        if weight > 0.0:
            self.bank.absorb(algorithm, u, variance, target - mean, weight)

    def _count(self, algorithm: int, outcome: Outcome, cutoff: float, predicted: float) -> None:
        """Compare whether a run timed out with the probability of that; one stopped early says nothing."""
        solved = outcome.status is Status.SOLVED
        if solved or outcome.time is None or outcome.time >= cutoff:
            self.surplus[algorithm] += (0.0 if solved else 1.0) - predicted
            self.endable[algorithm] += 1.0 - predicted

    @property
    def endless(self) -> Array:
        """The share of each algorithm's runs taken to never end, shape (K,)."""
        share: Array = np.clip(self.surplus / self.endable, 0.0, 1.0)
        return share

    def predict(self, x: Array, progress: Progress, penalty: float) -> Forecasts:
        """Return what runs on the instance represented by `x` will take."""
        mean, variance = self.bank.predict(x[: self.bank.n_features])
        deviation = np.sqrt(self.squares / self.weight * (1.0 + variance))
        found, endless = _LOG.forecasts(mean, deviation, progress, penalty), self.endless
        unsolved = penalty * progress.cutoff
        return found._replace(
            timeout=found.timeout + endless * (1.0 - found.timeout),
            expected_par=found.expected_par + endless * (unsolved - found.expected_par),
        )

    def add(self) -> None:
        """Make room for one more algorithm, the last in number."""
        self.bank.add()
        self.weight = np.append(self.weight, _PRIOR_WEIGHT)
        self.squares = np.append(self.squares, _PRIOR_WEIGHT)
        self.surplus, self.endable = np.append(self.surplus, 0.0), np.append(self.endable, _PRIOR_WEIGHT)

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""
        self.bank.remove(algorithm)
        self.weight, self.squares = np.delete(self.weight, algorithm), np.delete(self.squares, algorithm)
        self.surplus, self.endable = np.delete(self.surplus, algorithm), np.delete(self.endable, algorithm)

    def restored(self) -> None:
        """Check the sums."""
        expect_finite(surplus=self.surplus, squares=self.squares, weight=self.weight, endable=self.endable)
        least = min(self.squares.min(), self.weight.min(), self.endable.min())
        expect(least > 0.0, "squares, weight and endable: expected more than 0")

    def widen(self, n_features: int) -> None:
        """Take represented instances of this many entries: new ones in front, those known behind."""
        self.bank.widen(n_features)
