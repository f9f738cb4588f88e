"""The chance that an algorithm solves an instance within an interval of time, given that it had not before.

Its log-odds are a sum of Gaussian unknowns, each with a prior variance of its own:

    v[a, j] = common + level[j] + skill[a] + interaction[a, j]
              + shift of its features + hardness[j] of the instance

so that what is common to all algorithms (how solutions spread over time) is learned from every run, and an
algorithm's own part from its own runs. The last two are learned elsewhere, in
`tailcut.schedules.survival_forest` and by `Hardness`. A run gives one observation per interval
that it passed: solved within it or not; where it was stopped, nothing more is known. That is all that
right-censoring at any time asks for.

The posterior is kept as independent Gaussians, and each observation moves all of them by one Newton step at
their means (assumed-density filtering): with g and f the slope and the curvature of the log-likelihood,
averaged over the classes of hardness, and V the variance of v, an unknown with variance u moves by
u g / (1 + f V) and its variance falls by u^2 f / (1 + f V). A curvature f by itself divides the variance of
the common level, in which all intervals of a run meet, by 1 + f u.

Algorithms that fail on the same instances fail together, in one of two ways
(docs/background/tailcut-schedule.md): in some classes the log-odds of a solution are shifted equally at all
times (a discrete frailty, in the language of survival analysis); in others every algorithm takes about the
same time, up to a factor (accelerated failure times). How common each class is, is learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tailcut.numerics.survival_kernels import learn_intervals
from tailcut.schedules.curves import CUTS
from tailcut.state import Stateful, expect, expect_finite
from tailcut.types import Array

FIRST_LEVEL = -0.7
"""Prior log-odds of a solution in the first interval, before 1% of the cutoff."""
PER_LOG_TIME = 0.1
"""Prior chance of a solution per unit of log-time afterwards."""
_STEPS = np.diff(np.log(CUTS)) * PER_LOG_TIME
FIRST_LEVELS = np.concatenate(([FIRST_LEVEL], np.log(_STEPS / (1.0 - _STEPS))))
"""Prior log-odds of a solution in each interval, shape (J,)."""
LEVEL, SKILL, INTERACTION, COMMON = 0.4, 0.5, 0.1, 0.3
"""Prior variances: of a level, a skill, an interaction, and of the level common to all intervals. With the
two numbers above they describe the hazards of the 21 scenarios together; see docs/background/research.md."""
SPREAD_WEIGHT = 4.0
"""How many algorithms it counts for that skills vary as above."""
LEAST_SPREAD, LARGEST_SPREAD = 0.01, 1.0
"""Bounds of the variance of skills."""
DRAWN_SHARE = 0.5
"""The share of the posterior deviation by which drawn skills and interactions differ from their means."""
REACH, SPREAD = 5.0, 2.5
"""The largest shift of the log-odds, and the deviation over instances that is expected at first."""
N_SHIFTS = 5
"""How many classes of the first kind there are."""
TIMES = np.array([0.005, 0.05, 0.25, 0.6, 1.6])
"""What runs take in the classes of the second kind, as fractions of the cutoff."""
SCALE = 0.7
"""The scale of log-runtimes around these."""
LARGEST = 6.0
"""No class shifts log-odds by more."""
WEIGHT = 10.0
"""How many instances it counts for that classes are as common as expected at first."""


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
        "interaction",
        "interaction_variance",
        "spread",
    )
    SAVED_AS: ClassVar[Mapping[str, str]] = {"interaction": "turn", "interaction_variance": "turn_variance"}

    def __init__(self, *, n_algorithms: int) -> None:
        self.level = FIRST_LEVELS.copy()
        self.level_variance = np.full(len(CUTS), LEVEL)
        self.common = np.array([0.0, COMMON])
        """Mean and variance of the level common to all intervals."""
        self.skill, self.skill_variance = np.zeros(n_algorithms), np.full(n_algorithms, SKILL)
        self.spread = SKILL
        """Prior variance of a skill: how different the algorithms of this portfolio are."""
        self.interaction = np.zeros((n_algorithms, len(CUTS)))
        self.interaction_variance = np.full((n_algorithms, len(CUTS)), INTERACTION)

    def restored(self) -> None:
        expect_finite(**{name: getattr(self, name) for name in self.STATE})
        variances = (self.level_variance, self.common[1:], self.skill_variance, self.interaction_variance)
        fine = all(((variance > 0.0) & (variance <= 1.0)).all() for variance in variances)
        expect(fine, "level_variance, common, skill_variance, interaction_variance: expected at most 1")
        expect(LEAST_SPREAD <= self.spread <= LARGEST_SPREAD, "spread: expected 0.01 to 1")
        sure = (self.skill_variance <= self.spread * (1.0 + 1e-9)).all()
        expect(bool(sure), "skill_variance: above that of the prior")
        largest = max(float(np.abs(getattr(self, name)).max(initial=0.0)) for name in self.STATE)
        expect(largest < 1e6, "level, skill or interaction: holds a giant")

    def log_odds(self) -> Array:
        """Return the mean log-odds in each interval for hardness 0, shape (K, J)."""
        return np.asarray(self.level + self.interaction + (self.skill + self.common[0])[:, None])

    def drawn_log_odds(self, stream: np.random.Generator) -> Array:
        """Return log-odds with the skill and the interactions of each algorithm as they may be, shape (K, J).

        Thompson sampling: an algorithm that has hardly run may be the best one for a long run.
        """
        skill = np.sqrt(self.skill_variance) * stream.standard_normal(len(self.skill))
        interaction = np.sqrt(self.interaction_variance) * stream.standard_normal(self.interaction.shape)
        return np.asarray(self.log_odds() + DRAWN_SHARE * (skill[:, None] + interaction))

    def learn(
        self, algorithm: int, start: int, solved: Array, weights: Array, hardness: Array, classes: Array
    ) -> None:
        """Learn from a run: whether it solved within the intervals from number `start` on.

        `solved` holds 1 or 0 per interval passed, `weights` how much of the interval was passed, and
        `classes` the probabilities of the classes (M,), whose shifts are `hardness` (M, J).
        """
        everyone = (self.level, self.level_variance, self.common)
        each = (self.skill, self.skill_variance, self.interaction, self.interaction_variance)
        learn_intervals(*everyone, *each, algorithm, start, solved, weights, hardness, classes)

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
        self.interaction, self.interaction_variance = _faded(
            self.interaction, self.interaction_variance, 0.0, INTERACTION, share
        )

    def add(self) -> None:
        self.skill = np.append(self.skill, 0.0)
        self.skill_variance = np.append(self.skill_variance, self.spread)
        self.interaction = np.vstack([self.interaction, np.zeros(len(CUTS))])
        self.interaction_variance = np.vstack([self.interaction_variance, np.full(len(CUTS), INTERACTION)])

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; what it taught about all of them stays."""
        for name in ("skill", "skill_variance", "interaction", "interaction_variance"):
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


class Hardness(Stateful):
    """M classes of instances with learned frequencies; each kind has half of the instances at first.

    >>> hardness = Hardness()
    >>> hardness.shift.shape == (len(hardness.frequencies()), len(CUTS))
    True
    """

    STATE = ("counts",)

    def __init__(self) -> None:
        equal = np.linspace(-REACH, REACH, N_SHIFTS)
        usual = np.exp(-0.5 * (equal / SPREAD) ** 2)
        same_time = np.clip(log_odds_around(TIMES, SCALE) - FIRST_LEVELS, -LARGEST, LARGEST)
        self.shift = np.vstack([np.repeat(equal[:, None], len(CUTS), axis=1), same_time])
        """What each class adds to the log-odds of a solution in each interval, shape (M, J)."""
        prior = np.concatenate([usual / usual.sum(), np.full(len(TIMES), 1.0 / len(TIMES))]) / 2.0
        self.least = 0.1 * WEIGHT * prior
        """No class is ever thought rarer than this, shape (M,)."""
        self.counts = WEIGHT * prior
        """How many instances of each class were seen, in expectation, shape (M,)."""

    def restored(self) -> None:
        expect_finite(counts=self.counts)
        expect((self.counts > 0.0).all(), "counts: expected more than 0")

    def frequencies(self) -> Array:
        """Return how common the classes are, shape (M,)."""
        return np.asarray(self.counts / self.counts.sum())

    def learn(self, before: Array | None, after: Array) -> None:
        """Count one instance as `after`; where it was counted as `before` already, that is taken back."""
        self.counts += after if before is None else after - before
        np.maximum(self.counts, self.least, out=self.counts)

    def forget(self, share: float) -> None:
        """Let the instances counted so far count less, by this share."""
        self.counts += share * (10.0 * self.least - self.counts)


def log_odds_around(times: Array, scale: float) -> Array:
    """Return the log-odds of a solution in each interval if runtimes are log-logistic around `times`, (M, J).

    With u = log(cut / time) / scale, a run is longer than a cut with probability 1 / (1 + exp u), so the odds
    of a solution between two cuts, given none before, are (exp u' - exp u) / (1 + exp u).

    >>> log_odds_around(np.array([1.0]), 0.7)[0, -1].round(3)  # 1 is the last cut, 0.7 the one before
    np.float64(-1.389)
    """
    ends = np.exp(np.log(CUTS / times[:, None]) / scale)
    starts = np.hstack([np.zeros((len(times), 1)), ends[:, :-1]])
    return np.asarray(np.log(ends - starts) - np.log1p(starts))
