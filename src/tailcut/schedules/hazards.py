"""The chance that an algorithm solves an instance within an interval of time, given that it had not before.

Its log-odds are a sum of Gaussian unknowns, each with a prior variance of its own:

    v[a, j] = level[j] + skill[a] + turn[a, j] + x' w + x' w[a] + hardness of the instance

so that what is common to all algorithms (how solutions spread over time, how features tell hard
instances) is learned from every run, and an algorithm's own part from its own runs. A run gives one
observation per interval that it passed: solved within it or not; where it was stopped, nothing more is
known. That is all that right-censoring at any time asks for.

The posterior is kept as independent Gaussian blocks, and each observation moves all blocks by one Newton
step at their means (assumed-density filtering): with g and f the slope and the curvature of the
log-likelihood, averaged over the classes of hardness, and V the variance of v, a block with variance u
towards v moves by u g / (1 + f V) and its variance falls by u^2 f / (1 + f V).
"""

from __future__ import annotations

import numpy as np

from tailcut.numerics import special
from tailcut.schedules.curves import CUTS
from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array

FIRST_LEVEL = -1.5
"""Prior log-odds of a solution in the first interval, before 0.1% of the cutoff."""
PER_LOG_TIME = 0.1
"""Prior chance of a solution per unit of log-time afterwards."""
LEVEL, SKILL, TURN, COMMON = 0.4, 0.5, 0.1, 0.3
"""Prior variances: of a level, a skill, a turn, and of the level common to all intervals. With the two
numbers above they describe the hazards of the 21 scenarios taken together; see docs/research.md."""


class Hazards(Stateful):
    """Beliefs about K algorithms on instances with d features.

    >>> hazards = Hazards(n_algorithms=2, n_features=0)
    >>> before = hazards.log_odds(np.zeros(0))
    >>> hazards.learn(0, np.zeros(0), np.array([1.0]), np.array([1.0]), 0, np.zeros(1), np.ones(1))
    >>> (hazards.log_odds(np.zeros(0)) > before).any(axis=1).tolist()  # some of it is common to all
    [True, True]
    """

    STATE = (
        "level",
        "level_variance",
        "common",
        "common_variance",
        "skill",
        "skill_variance",
        "turn",
        "turn_variance",
        "weights",
        "covariance",
    )

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        shared_variance: float = 0.3,
        own_variance: float = 0.1,
    ) -> None:
        self.n_features = n_features
        self.shared_variance, self.own_variance = shared_variance, own_variance
        steps = np.diff(np.log(CUTS)) * PER_LOG_TIME
        self.level = np.concatenate(([FIRST_LEVEL], np.log(steps / (1.0 - steps))))
        self.level_variance = np.full(len(CUTS), LEVEL)
        self.common, self.common_variance = 0.0, COMMON
        self.skill, self.skill_variance = np.zeros(n_algorithms), np.full(n_algorithms, SKILL)
        self.turn = np.zeros((n_algorithms, len(CUTS)))
        self.turn_variance = np.full((n_algorithms, len(CUTS)), TURN)
        self.weights = np.zeros((n_algorithms + 1, n_features))
        """Weights of the features: a row per algorithm, and the shared ones in the last row."""
        self.covariance = self._priors(n_algorithms)

    def restored(self) -> None:
        """Check that these can be beliefs."""
        expect_finite(**{name: getattr(self, name) for name in self.STATE})
        for name in (one for one in self.STATE if one.endswith("_variance")):
            values = np.asarray(getattr(self, name))
            expect(((values > 0.0) & (values <= 1.0)).all(), f"{name}: expected variances of at most 1")
        largest = max(float(np.abs(getattr(self, name)).max(initial=0.0)) for name in self.STATE)
        expect(largest < 1e6, "level, skill, turn, weights or covariance: holds a giant")

    def _priors(self, n_algorithms: int) -> Array:
        """Return a covariance per algorithm, and that of the shared weights in the last place."""
        covariance = self._covariances(n_algorithms + 1)
        covariance[-1] *= self.shared_variance / self.own_variance
        return covariance

    def _covariances(self, rows: int) -> Array:
        return np.tile(np.eye(self.n_features) * self.own_variance, (rows, 1, 1))

    def log_odds(self, x: Array) -> Array:
        """Return the mean log-odds in each interval for hardness 0, shape (K, J).

        Without features (`NO_FEATURES`) they are those of an average instance.
        """
        by_features = self.weights @ self._entered(x)
        own = self.skill + by_features[:-1] + (by_features[-1] + self.common)
        return np.asarray(self.level + self.turn + own[:, None])

    def _entered(self, x: Array) -> Array:
        """Return the features as they enter the sum: at 0, their mean, where there are none."""
        return x if len(x) else np.zeros(self.n_features)

    def learn(
        self,
        algorithm: int,
        x: Array,
        solved: Array,
        weights: Array,
        start: int,
        hardness: Array,
        classes: Array,
    ) -> None:
        """Learn from a run: whether it solved within the intervals from number `start` on.

        `solved` holds 1 or 0 per interval passed, `weights` how much of the interval was passed, and
        `classes` the probabilities of the classes, whose shifts are `hardness`.
        """
        x = self._entered(x)
        by_own, by_shared = self.covariance[algorithm] @ x, self.covariance[-1] @ x
        own, shared = float(by_own @ x), float(by_shared @ x)
        offset = self.common + float((self.weights[algorithm] + self.weights[-1]) @ x)
        slopes = curvatures = 0.0
        for j, (answer, weight) in enumerate(zip(solved.tolist(), weights.tolist(), strict=True), start):
            middle = self.level[j] + self.skill[algorithm] + self.turn[algorithm, j] + offset
            chance = special.expit(middle + hardness)
            slope = weight * float(classes @ (answer - chance))
            curvature = weight * float(classes @ (chance * (1.0 - chance)))
            variance = (
                self.level_variance[j]
                + self.skill_variance[algorithm]
                + self.turn_variance[algorithm, j]
                + self.common_variance
                + own
                + shared
            )
            gain = 1.0 / (1.0 + curvature * variance)
            slope, curvature = slope * gain, curvature * gain
            self._move(algorithm, j, slope, curvature)
            slopes, curvatures = slopes + slope, curvatures + curvature
        self.weights[algorithm] += by_own * slopes
        self.weights[-1] += by_shared * slopes
        self.common += self.common_variance * slopes
        self.common_variance /= 1.0 + curvatures * self.common_variance
        _shrink(self.covariance[algorithm], by_own, curvatures / (1.0 + curvatures * own))
        _shrink(self.covariance[-1], by_shared, curvatures / (1.0 + curvatures * shared))

    def _move(self, algorithm: int, j: int, slope: float, curvature: float) -> None:
        """Take the Newton step of one interval in the blocks that are numbers."""
        self.level[j] += self.level_variance[j] * slope
        self.level_variance[j] -= self.level_variance[j] ** 2 * curvature
        self.skill[algorithm] += self.skill_variance[algorithm] * slope
        self.skill_variance[algorithm] -= self.skill_variance[algorithm] ** 2 * curvature
        self.turn[algorithm, j] += self.turn_variance[algorithm, j] * slope
        self.turn_variance[algorithm, j] -= self.turn_variance[algorithm, j] ** 2 * curvature

    def widen(self, n_features: int) -> None:
        """Put features in front of which nothing is known; past instances had 0, their mean, there."""
        extra = n_features - self.n_features
        self.n_features = n_features
        self.weights = np.pad(self.weights, ((0, 0), (extra, 0)))
        known, self.covariance = self.covariance, self._priors(len(self.weights) - 1)
        self.covariance[:, extra:, extra:] = known

    def add(self) -> None:
        """Make room for one more algorithm, the last in number."""
        self.skill, self.skill_variance = np.append(self.skill, 0.0), np.append(self.skill_variance, SKILL)
        self.turn = np.vstack([self.turn, np.zeros(len(CUTS))])
        self.turn_variance = np.vstack([self.turn_variance, np.full(len(CUTS), TURN)])
        self.weights = np.insert(self.weights, -1, 0.0, axis=0)
        fresh = self._covariances(1)
        self.covariance = np.concatenate([self.covariance[:-1], fresh, self.covariance[-1:]])

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; what it taught about all of them stays."""
        for name in ("skill", "skill_variance", "turn", "turn_variance", "weights", "covariance"):
            setattr(self, name, np.delete(getattr(self, name), algorithm, axis=0))


def _shrink(covariance: Array, direction: Array, factor: float) -> None:
    """Subtract factor * direction direction' in place."""
    covariance -= np.outer(direction * factor, direction)
