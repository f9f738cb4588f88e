"""The chance that an algorithm solves an instance within an interval of time, given that it had not before.

Its log-odds are a sum of Gaussian unknowns, each with a prior variance of its own:

    v[a, j] = common + level[j] + skill[a] + turn[a, j] + shift of its features + hardness[j] of the instance

so that what is common to all algorithms (how solutions spread over time) is learned from every run, and an
algorithm's own part from its own runs. The last two are learned elsewhere, in
`tailcut.schedules.survival_forest` and `tailcut.schedules.hardness`. A run gives one observation per interval
that it passed: solved within it or not; where it was stopped, nothing more is known. That is all that
right-censoring at any time asks for.

The posterior is kept as independent Gaussians, and each observation moves all of them by one Newton step at
their means (assumed-density filtering): with g and f the slope and the curvature of the log-likelihood,
averaged over the classes of hardness, and V the variance of v, an unknown with variance u moves by
u g / (1 + f V) and its variance falls by u^2 f / (1 + f V). A curvature f by itself divides the variance of
the common level, in which all intervals of a run meet, by 1 + f u.
"""

from __future__ import annotations

import numpy as np

from tailcut.numerics.survival_kernels import learn_intervals
from tailcut.schedules.curves import CUTS
from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array

FIRST_LEVEL = -0.7
"""Prior log-odds of a solution in the first interval, before 1% of the cutoff."""
PER_LOG_TIME = 0.1
"""Prior chance of a solution per unit of log-time afterwards."""
_STEPS = np.diff(np.log(CUTS)) * PER_LOG_TIME
FIRST_LEVELS = np.concatenate(([FIRST_LEVEL], np.log(_STEPS / (1.0 - _STEPS))))
"""Prior log-odds of a solution in each interval, shape (J,)."""
LEVEL, SKILL, TURN, COMMON = 0.4, 0.5, 0.1, 0.3
"""Prior variances: of a level, a skill, a turn, and of the level common to all intervals. With the two
numbers above they describe the hazards of the 21 scenarios together; see docs/background/research.md."""
SPREAD_WEIGHT = 4.0
"""How many algorithms it counts for that skills vary as above."""
LEAST_SPREAD, LARGEST_SPREAD = 0.01, 1.0
"""Bounds of the variance of skills."""
LUCK = 0.5
"""The share of the posterior deviation by which drawn skills and turns differ from their means."""


class Hazards(Stateful):
    """Beliefs about K algorithms on an average instance.

    >>> hazards = Hazards(n_algorithms=2)
    >>> before = hazards.log_odds()
    >>> hazards.learn(0, 0, np.array([1.0]), np.array([1.0]), np.zeros((1, len(CUTS))), np.ones(1))
    >>> (hazards.log_odds() > before).any(axis=1).tolist()  # some of it is common to all
    [True, True]
    """

    STATE = (
        "level",
        "level_variance",
        "common",
        "skill",
        "skill_variance",
        "turn",
        "turn_variance",
        "spread",
    )

    def __init__(self, *, n_algorithms: int) -> None:
        self.level = FIRST_LEVELS.copy()
        self.level_variance = np.full(len(CUTS), LEVEL)
        self.common = np.array([0.0, COMMON])
        """Mean and variance of the level common to all intervals."""
        self.skill, self.skill_variance = np.zeros(n_algorithms), np.full(n_algorithms, SKILL)
        self.spread = SKILL
        """Prior variance of a skill: how different the algorithms of this portfolio are."""
        self.turn = np.zeros((n_algorithms, len(CUTS)))
        self.turn_variance = np.full((n_algorithms, len(CUTS)), TURN)

    def restored(self) -> None:
        """Check that these can be beliefs."""
        expect_finite(**{name: getattr(self, name) for name in self.STATE})
        variances = (self.level_variance, self.common[1:], self.skill_variance, self.turn_variance)
        fine = all(((one > 0.0) & (one <= 1.0)).all() for one in variances)
        expect(fine, "level_variance, common, skill_variance, turn_variance: expected at most 1")
        expect(LEAST_SPREAD <= self.spread <= LARGEST_SPREAD, "spread: expected 0.01 to 1")
        sure = (self.skill_variance <= self.spread * (1.0 + 1e-9)).all()
        expect(bool(sure), "skill_variance: above that of the prior")
        largest = max(float(np.abs(getattr(self, name)).max(initial=0.0)) for name in self.STATE)
        expect(largest < 1e6, "level, skill or turn: holds a giant")

    def log_odds(self) -> Array:
        """Return the mean log-odds in each interval for hardness 0, shape (K, J)."""
        return np.asarray(self.level + self.turn + (self.skill + self.common[0])[:, None])

    def drawn_log_odds(self, stream: np.random.Generator) -> Array:
        """Return log-odds with the skill and the turns of each algorithm as they may be, shape (K, J).

        Thompson sampling: an algorithm that has hardly run may be the best one for a long run.
        """
        skill = np.sqrt(self.skill_variance) * stream.standard_normal(len(self.skill))
        turn = np.sqrt(self.turn_variance) * stream.standard_normal(self.turn.shape)
        return np.asarray(self.log_odds() + LUCK * (skill[:, None] + turn))

    def learn(
        self, algorithm: int, start: int, solved: Array, weights: Array, hardness: Array, classes: Array
    ) -> None:
        """Learn from a run: whether it solved within the intervals from number `start` on.

        `solved` holds 1 or 0 per interval passed, `weights` how much of the interval was passed, and
        `classes` the probabilities of the classes (M,), whose shifts are `hardness` (M, J).
        """
        learn_intervals(
            self.level,
            self.level_variance,
            self.common,
            self.skill,
            self.skill_variance,
            self.turn,
            self.turn_variance,
            algorithm,
            start,
            solved,
            weights,
            hardness,
            classes,
        )

    def learn_spread(self) -> None:
        """Learn how different the algorithms are at all, by one step of EM (empirical Bayes).

        Skills take the new prior in place of the old one: their precisions change by the difference of the
        two, and what the runs have said of them stays.
        """
        squares = float((self.skill**2 + self.skill_variance).sum())
        spread = (SPREAD_WEIGHT * SKILL + squares) / (SPREAD_WEIGHT + len(self.skill))
        spread = min(max(spread, LEAST_SPREAD), LARGEST_SPREAD)
        before = 1.0 / self.skill_variance
        after = before - 1.0 / self.spread + 1.0 / spread
        self.skill, self.skill_variance, self.spread = self.skill * before / after, 1.0 / after, spread

    def forget(self, share: float) -> None:
        """Let what the runs have said count less, by this share of their information."""
        self.level, self.level_variance = _faded(self.level, self.level_variance, FIRST_LEVELS, LEVEL, share)
        common, variance = _faded(self.common[:1], self.common[1:], 0.0, COMMON, share)
        self.common = np.concatenate([common, variance])
        self.skill, self.skill_variance = _faded(self.skill, self.skill_variance, 0.0, self.spread, share)
        self.turn, self.turn_variance = _faded(self.turn, self.turn_variance, 0.0, TURN, share)

    def add(self) -> None:
        """Make room for one more algorithm, the last in number."""
        self.skill, self.skill_variance = (
            np.append(self.skill, 0.0),
            np.append(self.skill_variance, self.spread),
        )
        self.turn = np.vstack([self.turn, np.zeros(len(CUTS))])
        self.turn_variance = np.vstack([self.turn_variance, np.full(len(CUTS), TURN)])

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; what it taught about all of them stays."""
        for name in ("skill", "skill_variance", "turn", "turn_variance"):
            setattr(self, name, np.delete(getattr(self, name), algorithm, axis=0))


def _faded(
    mean: Array, variance: Array, first_mean: Array | float, first_variance: float, share: float
) -> tuple[Array, Array]:
    """Return Gaussians that have lost a share of the information that they had beyond their prior.

    Precisions, and precisions times means, move towards those of the prior.
    """
    prior = 1.0 / first_variance
    precision = 1.0 / variance + share * (prior - 1.0 / variance)
    pull = mean / variance + share * (prior * first_mean - mean / variance)
    return np.asarray(pull / precision), np.asarray(1.0 / precision)
