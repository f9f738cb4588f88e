"""The published experiment: its protocol, where it departs from the paper, and its thirteen approaches.

Each of ten seeds shuffles the instances, serves every one once, and adds up PAR10. All randomness of a run
comes from one stream, numpy's legacy RandomState(seed): first the order of the instances, then whatever the
policy draws. A `Generator` would draw other numbers.

The defaults of `Switches` reproduce the table. Turning one switch to the value in `PAPER` puts the paper's
formula in that one place. docs/background/replication.md says how each was found, and what it does to the
numbers. The paper is Tornede, Bengs, Hüllermeier, "Machine Learning for Online Algorithm Selection under
Censored Feedback", AAAI 2022.

Two kinds of cells match in distribution only. The published Thompson runs drew whole weight vectors, and the
draws depend on the BLAS in use; here the one number that matters, eta = x'theta~ ~ N(x'theta, sigma v), is
drawn directly. And the baseline after Degroote et al. fits least squares on fewer instances than features:
the published cut (the machine epsilon) keeps singular values that are zero but for rounding, so the first
predictions depend on the LAPACK in use.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.special import log_ndtr, ndtr, ndtri_exp

from tailcut.errors import InputError
from tailcut.scenarios import Scenario
from tailcut.types import PENALTY, Array

SEEDS = tuple(range(1, 11))
"""The seeds of the published table."""
EPSILON = 0.05
"""Share of the steps at which Degroote's baseline draws an algorithm at random."""
UNTRIED = -1e5
"""Its prediction for an algorithm without a fit."""
TRIES = 20
"""Draws that Buckley-James makes at most; the last one does not count even if it succeeds."""
SMALLEST_RUNTIME = 1e-4
"""Seconds that a runtime of 0 counts, since 0 has no logarithm."""
ALMOST_NOTHING = 1e-9
"""First entry that Thompson gives to an all-zero vector, so that it has a direction."""


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
_TURNED: dict[str, Any] = {field.name: not field.default for field in fields(Switches)}
PAPER = Switches(**_TURNED | {"rand_scale": 0.5})
"""The paper's formulas everywhere."""


def one_turned_back() -> dict[str, Switches]:
    """Return, per switch, the published settings with that one switch as in the paper.

    >>> one_turned_back()["rand_scale"].rand_scale
    0.5
    """
    return {name: replace(PUBLISHED, **{name: getattr(PAPER, name)}) for name in _TURNED}


class UnitVectors:
    """Missing values take running means that start at 0; then the vector is divided by its norm."""

    def __init__(self, n_features: int, switches: Switches, *, guard_zero: bool) -> None:
        self.switches = switches
        self.guard_zero = guard_zero
        self.means = np.zeros(n_features)
        self.seen = np.zeros(n_features)

    def imputed(self, features: Array) -> Array:
        full = np.where(np.isnan(features), self.means, features)
        if self.guard_zero and not full.any():
            full[0] = ALMOST_NOTHING
        return full

    def vector(self, features: Array) -> Array:
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

    The inverse is computed again from A: the rounding of updates would change decisions where scores tie.
    """

    untried: float
    """Score of an algorithm without runs. Finite as published."""
    guards_zero_vectors: bool

    ridge: float

    def __init__(
        self,
        table: ExperimentData,
        rng: np.random.RandomState,
        *,
        revisited: bool,
        switches: Switches = PUBLISHED,
    ) -> None:
        d, k = table.features.shape[1], table.performances.shape[1]
        self.revisited = revisited
        self.cutoff = table.cutoff
        self.log_cutoff = math.log(table.cutoff)
        self.rng = rng
        self.switches = switches
        self.vectors = UnitVectors(d, switches, guard_zero=self.guards_zero_vectors)
        self.gram = np.tile(self.ridge * np.eye(d), (k, 1, 1))
        self.inverse = np.tile(np.linalg.inv(self.ridge * np.eye(d)), (k, 1, 1))
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
    def imputed(self, algorithm: int, x: Array) -> float | None:
        """Return the log-runtime to learn from a timeout, or None to learn nothing."""

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
        if self.switches.first_outcome_goes_to_last and not self.runs.any():
            algorithm = len(self.runs) - 1
        x = self.vectors.vector(features)
        self.vectors.update(features)
        if self.switches.reaching_cutoff_is_censored:
            censored = performance >= self.cutoff
        else:
            censored = performance > self.cutoff
        y = self.imputed(algorithm, x) if censored else log_runtime(performance)
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


class LinUCB(RidgeBandit):
    """Bounds x'theta -+ alpha w; lambda = 1, alpha = 1, sigma = 10 as published."""

    untried = -1.1e6
    guards_zero_vectors = False
    ridge = 1.0
    sigma = 10.0

    def __init__(self, *given: Any, corrected: bool, randomised: bool, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.corrected, self.randomised = corrected, randomised

    def scores(self, known: NDArray[np.intp], mean: Array, variance: Array) -> Array:
        width = np.sqrt(variance)
        if self.corrected:
            extra = width if self.switches.width_adds_one else 0.0
            width = width * np.sqrt(self.timeouts[known]) * self.log_cutoff * 2.0 + extra
        if self.randomised:
            draws = self.rng.standard_normal(len(known))
            width = width * (np.abs(draws) * self.switches.rand_scale)
        if self.revisited:
            return expected_loss(mean - width, mean + width, self.sigma, self.log_cutoff, self.penalty)
        return mean - width

    def imputed(self, algorithm: int, x: Array) -> float | None:  # noqa: ARG002
        return self.log_cutoff if self.corrected else None


def expected_loss(low: Array, high: Array, s: float, log_cutoff: float, penalty: float) -> Array:
    """Return the loss that `*_rev` minimises, from optimistic and pessimistic log-runtimes.

    Algorithm 2 of the paper's appendix, its terms computed as they stand: they may overflow or become
    nan, and the published choices follow from that too.

    >>> at = np.array([1.0])
    >>> round(float(expected_loss(at, at, 1.0, 2.0, 100.0)[0]), 4)  # 0.841 E_C + 0.159 * 100
    18.1064
    """
    after_low, after_high = log_cutoff - low, log_cutoff - high
    with np.errstate(all="ignore"):
        low_mean = np.exp(low + s**2 / 2) * (ndtr((after_high - s**2) / s) / ndtr(after_low / s))
        high_mean = np.exp(high + s**2 / 2) * (ndtr((after_low - s**2) / s) / ndtr(after_high / s))
        return np.asarray(low_mean + (1 - ndtr(after_high / s)) * (penalty - high_mean))


class ThompsonBandit(RidgeBandit):
    """Scores from one posterior sample per algorithm; sigma = 1, lambda = 0.5 as published."""

    untried = -1e6
    guards_zero_vectors = True
    ridge = 0.5
    sigma = 1.0

    def __init__(self, *given: Any, buckley_james: bool, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.buckley_james = buckley_james

    def scores(self, known: NDArray[np.intp], mean: Array, variance: Array) -> Array:
        eta = mean + np.sqrt(self.sigma * variance) * self.rng.standard_normal(len(known))
        if not self.revisited:
            return eta
        published = self.switches.tail_uses_variance
        # sigma^2 v is what the table was made with, sigma v what the paper defines: the same at sigma = 1
        spread = (self.sigma**2 if published else self.sigma) * variance
        return self.expected_loss(eta, spread)

    def expected_loss(self, eta: Array, variance: Array) -> Array:
        """Return the loss that `*_rev` minimises at log-runtimes eta (K,), with these variances (K,)."""
        deviation = np.sqrt(variance)
        shift = variance / 2 if self.switches.half_shift else variance
        tail_scale = variance if self.switches.tail_uses_variance else deviation
        left = self.log_cutoff - eta
        with np.errstate(all="ignore"):
            ratio = ndtr((left - shift) / deviation) / ndtr(left / deviation)
            solved_mean = np.exp(eta + variance / 2) * ratio
            in_time = ndtr(left / tail_scale)
            return np.asarray(solved_mean + (1 - in_time) * (self.penalty - solved_mean))

    def imputed(self, algorithm: int, x: Array) -> float | None:
        if not self.buckley_james:
            return self.log_cutoff
        mean, variance = self.belief(np.array([algorithm]), x)
        deviation = math.sqrt(self.sigma * float(variance[0]))
        if self.switches.bj_gives_up:
            draws = (float(mean[0]) + deviation * self.rng.standard_normal() for _ in range(TRIES - 1))
            return next((draw for draw in draws if draw > self.log_cutoff), self.log_cutoff)
        log_tail = float(log_ndtr((float(mean[0]) - self.log_cutoff) / deviation))
        log_uniform = math.log(1.0 - self.rng.random_sample())
        return float(mean[0]) - deviation * float(ndtri_exp(log_tail + log_uniform))


class Fit(NamedTuple):
    """A fitted regression with its preprocessing."""

    means: Array
    """Put in for missing features, shape (d,)."""
    weights: Array
    """Coefficients of the unit vectors, shape (d,)."""
    intercept: float


def unit_rows(features: Array, means: Array) -> Array:
    """Return `features` (n, d) with gaps filled by `means` (d,), each row at unit norm, zero rows zero.

    >>> unit_rows(np.array([[3.0, np.nan], [0.0, 0.0]]), np.array([9.0, 4.0])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    full = np.where(np.isnan(features), means, features)
    norms = np.sqrt(np.einsum("nd,nd->n", full, full))[:, None]
    norms[norms == 0.0] = 1.0
    return np.asarray(full / norms)


def fit(features: Array, runtimes: Array) -> Fit:
    """Return the least-squares fit of `runtimes` (n,) on `features` (n, d)."""
    means = np.nanmean(features, axis=0)
    rows = unit_rows(features, means)
    row_mean, runtime_mean = rows.mean(axis=0), runtimes.mean()
    weights = lstsq(rows - row_mean, runtimes - runtime_mean, check_finite=False)[0]
    return Fit(means, weights, float(runtime_mean - row_mean @ weights))


class DegrooteLinear:
    """Epsilon-greedy over one linear regression per algorithm, refitted after each of its runs.

    It predicts the runtime min(m, C); missing features take the mean of the algorithm's own data.
    """

    def __init__(
        self,
        table: ExperimentData,
        rng: np.random.RandomState,
        switches: Switches = PUBLISHED,  # noqa: ARG002 - nothing of it was found to depart from the paper
    ) -> None:
        n, d = table.features.shape
        k = table.performances.shape[1]
        self.cutoff = table.cutoff
        self.rng = rng
        self.features = np.empty((k, n, d))
        self.runtimes = np.empty((k, n))
        self.counts = np.zeros(k, dtype=np.intp)
        self.fits: list[Fit | None] = [None] * k

    def predict(self, features: Array) -> Array:
        return np.array([UNTRIED if f is None else predicted(f, features) for f in self.fits])

    def select(self, features: Array) -> int:
        best = int(np.argmin(self.predict(features)))
        if self.rng.uniform() < EPSILON:
            return int(self.rng.randint(low=0, high=len(self.fits)))
        return best

    def learn(self, algorithm: int, features: Array, performance: float) -> None:
        """Store the outcome and refit, once there is an instance without missing features."""
        count = self.counts[algorithm]
        self.features[algorithm, count] = features
        self.runtimes[algorithm, count] = min(performance, self.cutoff)
        self.counts[algorithm] = count + 1
        if self.fits[algorithm] is not None or not np.isnan(features).any():
            seen = slice(0, count + 1)
            self.fits[algorithm] = fit(self.features[algorithm, seen], self.runtimes[algorithm, seen])


def predicted(fitted: Fit, features: Array) -> float:
    return float(unit_rows(features[None], fitted.means)[0] @ fitted.weights) + fitted.intercept


Policy = RidgeBandit | DegrooteLinear
MakePolicy = Callable[[ExperimentData, np.random.RandomState], Policy]
"""Builds a fresh policy for a table's sizes and cutoff, drawing from the given stream."""

APPROACHES: dict[str, Callable[..., Policy]] = {
    "bj_thompson_rev": partial(ThompsonBandit, buckley_james=True, revisited=True),
    "bj_thompson": partial(ThompsonBandit, buckley_james=True, revisited=False),
    "thompson_rev": partial(ThompsonBandit, buckley_james=False, revisited=True),
    "thompson": partial(ThompsonBandit, buckley_james=False, revisited=False),
    "bclinucb_rev": partial(LinUCB, corrected=True, randomised=False, revisited=True),
    "bclinucb": partial(LinUCB, corrected=True, randomised=False, revisited=False),
    "blinducb_rev": partial(LinUCB, corrected=False, randomised=False, revisited=True),
    "blinducb": partial(LinUCB, corrected=False, randomised=False, revisited=False),
    "rand_bclinucb_rev": partial(LinUCB, corrected=True, randomised=True, revisited=True),
    "rand_bclinucb": partial(LinUCB, corrected=True, randomised=True, revisited=False),
    "rand_blinducb_rev": partial(LinUCB, corrected=False, randomised=True, revisited=True),
    "rand_blinducb": partial(LinUCB, corrected=False, randomised=True, revisited=False),
    "degroote_epsilon_greedy_lr": DegrooteLinear,
}
"""In the order of the published table's columns."""


def approach(name: str, switches: Switches = PUBLISHED) -> MakePolicy:
    """Return what builds the approach called `name`, with the switches as published by default.

    >>> approach("thomson")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: approach thomson: not in the published table, which has bj_thompson_rev, ...
    """
    (name,) = chosen_approaches([name])
    return partial(APPROACHES[name], switches=switches)


def chosen_approaches(wanted: Sequence[str] = ()) -> list[str]:
    """Return the approaches wanted, each once, or all; an unknown name is refused."""
    for name in wanted:
        if name not in APPROACHES:
            raise InputError(
                f"approach {name}: not in the published table, which has {', '.join(APPROACHES)}"
            )
    return list(dict.fromkeys(wanted)) or list(APPROACHES)


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
