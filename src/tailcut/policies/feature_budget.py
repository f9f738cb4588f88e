"""Whether an instance's features are worth their time, and how long computing them may take.

Everything here is in units of an unsolved instance, so that seconds and timeouts can be compared:

    price   what computing features costs. Had each solved run ended later by the mean time they take, it
            had cost that time more, or the instance, if the cutoff came first.
    worth   gain x slope x finished: how much lower the model puts the loss of what it runs than that of what
            it would have run without features; the share of it that is real; and how often features
            are there in time.
    slope   A model always finds something, in noise too, and then takes the best of it. What is real of it is
            the slope of what happened over what was predicted, of runs predicted before they were learned:
            1 if features tell what the model says, 0 if they tell nothing. It is learned as a Gaussian
            posterior that starts at 1 +- 1.

Costs have heavy tails, so no features may take more than a `share` of the cutoff: what is not there by then
is not waited for. That alone saves most of what they cost (docs/background/research.md).
"""

from __future__ import annotations

import math

from tailcut.numerics.ranges import Penalty, Share
from tailcut.state import Stateful
from tailcut.types import NO_FEATURES, PENALTY, Array

NEGLIGIBLE = 0.01
"""Features that take less than this share of the cutoff on average are always used: skipping them would save
too little to measure."""
MEMORY = 1000
"""The approximate number of latest instances that count, because streams change."""
SHORT_MEMORY = 100
"""The same for the gain, which grows as the model learns."""
TRIAL = 100
"""The number of instances with features before they may be given up: their worth must be learned first."""
EVERY = 8
"""Where features do not pay off, one instance in so many still has them: at an eighth of the price the model
continues to learn from them, and may find that they do pay off."""
NOISE = 0.12
"""Variance of a run's loss that features do not explain."""
BENEFIT_OF_DOUBT = 2.0
"""Posterior deviations added to the slope: once features are given up, their worth is hardly learned any
more, so the decision must be nearly certain."""
FIRST_GAIN, FIRST_WEIGHT = 0.1, 10.0
"""The prior gain of features, and its weight in instances."""


class FadingMean(Stateful):
    """The mean of the latest values, with decreasing weights for older ones.

    >>> mean = FadingMean(1.0, weight=1.0)
    >>> mean.add(0.0)
    >>> round(mean.mean, 2)
    0.5
    """

    STATE = ("total", "weight")

    def __init__(self, start: float = 0.0, weight: float = 0.0, *, memory: int = MEMORY) -> None:
        self.total, self.weight = start * weight, weight
        self.keep = 1.0 - 1.0 / memory

    def add(self, value: float) -> None:
        self.total = self.keep * self.total + value
        self.weight = self.keep * self.weight + 1.0

    @property
    def mean(self) -> float:
        """Their mean, 0 if there were none."""
        return self.total / self.weight if self.weight else 0.0


class FeatureBudget(Stateful):
    """How long computing features may take, from estimates of their cost and gain.

    >>> budget = FeatureBudget(feature_share=0.1)
    >>> budget.seconds(cutoff=300.0)
    30.0
    """

    STATE = ("begun", "tried", "cost", "finished", "price", "gain", "product", "square")

    def __init__(self, *, feature_share: Share = 0.1, penalty: Penalty = PENALTY) -> None:
        self.share = feature_share
        """The longest that computing features may take, as a share of the cutoff."""
        self.penalty = penalty
        """How many cutoffs an unsolved instance costs."""
        self.begun = 0
        """How many instances there were."""
        self.tried = 0
        """For how many of them computing features was attempted."""
        self.cost = FadingMean()
        """For instances with such an attempt: the time it took, in cutoffs."""
        self.finished = FadingMean(1.0, weight=1.0)
        """For the same instances: whether the features were ready in time."""
        self.price = FadingMean()
        """For all instances: what computing features would cost them."""
        self.gain = FadingMean(FIRST_GAIN, FIRST_WEIGHT, memory=SHORT_MEMORY)
        self.product, self.square = FadingMean(), FadingMean()
        """Sums of predicted times actual deviation, and of the predicted deviation squared."""

    @property
    def charged(self) -> bool:
        """Whether features cost enough to consider skipping them."""
        return self.cost.mean >= NEGLIGIBLE

    def seconds(self, cutoff: float) -> float:
        """Return how many seconds computing the next instance's features may take; 0: skip them."""
        pays = not self.charged or self.tried < TRIAL or self.worth > self.price.mean
        return self.longest(cutoff) if pays or self.begun % EVERY == 0 else 0.0

    def longest(self, cutoff: float) -> float:
        """Return how many seconds computing features may take at most."""
        return self.share * cutoff

    @property
    def worth(self) -> float:
        """By how much features lower the loss."""
        return self.gain.mean * self.slope * self.finished.mean

    @property
    def slope(self) -> float:
        """How much of what the model predicts from features may be real, between 0 and 1."""
        precision = self.square.total / NOISE + 1.0
        mean = (self.product.total / NOISE + 1.0) / precision
        return min(max(mean + BENEFIT_OF_DOUBT / math.sqrt(precision), 0.0), 1.0)

    def admit(self, vector: Array, *, given: bool, cost: float, cutoff: float) -> Array:
        """Count an instance whose features took `cost` seconds, `given` or not; return what a policy sees.

        >>> import numpy as np
        >>> budget, features = FeatureBudget(), np.array([1.0, 2.0])
        >>> budget.admit(features, given=True, cost=0.5, cutoff=60.0).tolist()
        [1.0, 2.0]
        >>> budget.admit(np.full(2, np.nan), given=False, cost=6.0, cutoff=60.0).tolist()  # stopped
        [nan, nan]
        >>> budget.admit(np.full(2, np.nan), given=False, cost=0.0, cutoff=60.0).tolist()  # skipped
        []
        """
        self.begun += 1
        self.price.add(0.0)  # until it is solved
        if not given and cost <= 0.0:
            return NO_FEATURES
        self.tried += 1
        self.cost.add(cost / cutoff)
        self.finished.add(1.0 if given else 0.0)
        # After a failed attempt all values are missing, which is informative: the instance is large.
        return vector

    def check(self, algorithm: int, loss: float, predicted: Array, without: Array) -> None:
        """Compare a run's loss with the losses predicted by features and without them, shapes (K,).

        The hardness of the instance for all algorithms is subtracted, because it does not help to choose. It
        is the median over the algorithms, since some hardly ever run and may be predicted badly for a long
        time.
        """
        hardness = _median((predicted - without).tolist())
        usual = float(without[algorithm]) + hardness
        deviation = float(predicted[algorithm]) - usual
        self.product.add(deviation * (loss - usual))
        self.square.add(deviation * deviation)

    def solved(self, total: float) -> None:
        """Record the total time after which an instance was solved, in cutoffs."""
        later = self.cost.mean
        self.price.total += 1.0 if total + later > 1.0 else later / self.penalty


def _median(values: list[float]) -> float:
    """Return the median of a few numbers; sorting them is faster than numpy.

    >>> _median([3.0, 1.0]), _median([3.0, 1.0, 2.0])
    (2.0, 2.0)
    """
    values.sort()
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else 0.5 * (values[middle - 1] + values[middle])
