"""MABWiser's linear bandits: a ridge regression per arm, judged greedily, by upper bounds or by draws.

Strong, Kleynhans, Kadıoğlu, "MABWiser: parallelizable contextual multi-armed bandits", IJAIT 2021. An arm is
an algorithm, the context is the represented instance, and the reward is what a run did not lose: minus its
bounded loss. So an arm that was never tried is expected to lose nothing.
"""

from __future__ import annotations

from copy import deepcopy
from typing import ClassVar

import numpy as np

from tailcut.numerics.ranges import NonNegative, Positive
from tailcut.peers.libraries import library
from tailcut.peers.opaque import OpaqueModel
from tailcut.representation import Views
from tailcut.types import Array


class MabWiser(OpaqueModel):
    """A `MAB` with one of the linear learning policies: "LinGreedy", "LinUCB" or "LinTS".

    `alpha` is how far LinUCB and LinTS explore, `ridge` is MABWiser's `l2_lambda`. Features that arrive later
    than the first outcome are left out: a `MAB` has as many as it began with.
    """

    in_bulk: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        seed: int = 0,
        learning_policy: str = "LinGreedy",
        ridge: Positive = 1.0,
        alpha: NonNegative = 1.0,
    ) -> None:
        super().__init__(n_algorithms, n_features)
        self.learning_policy, self.ridge, self.alpha, self.seed = learning_policy, ridge, alpha, seed
        self.learned = False
        self._begin()

    def _begin(self) -> None:
        """Make a bandit that has seen nothing, for as many features as there are."""
        mab = library("mabwiser.mab")
        policies = mab.LearningPolicy
        policy = {
            "LinGreedy": lambda: policies.LinGreedy(epsilon=0.0, l2_lambda=self.ridge),
            "LinUCB": lambda: policies.LinUCB(alpha=self.alpha, l2_lambda=self.ridge),
            "LinTS": lambda: policies.LinTS(alpha=self.alpha, l2_lambda=self.ridge),
        }[self.learning_policy]()
        self.mab = mab.MAB(arms=list(self.names), learning_policy=policy, seed=self.seed)

    def losses(self, x: Array) -> Array:
        """Return minus the expectations of all arms; those of LinTS are draws."""
        if not self.learned:
            return np.zeros(len(self.names))
        return self._losses(self.mab, x)

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return the expectation of one arm, from a copy, so that no random numbers are used up."""
        mab = deepcopy(self.mab) if self.learning_policy == "LinTS" and self.learned else self.mab
        return (float(self._losses(mab, x)[algorithm]) if self.learned else 0.0), 0.0

    def _losses(self, mab: object, x: Array) -> Array:
        found = mab.predict_expectations([self._known(x)])  # type: ignore[attr-defined]
        return np.array([-float(found[name]) for name in self.names])

    def _known(self, x: Array) -> list[float]:
        known: list[float] = x[len(x) - self.n_features :].tolist()
        return known

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Teach the arm a reward of minus the target."""
        if weight > 0.0:
            learn = self.mab.partial_fit if self.learned else self.mab.fit
            learn([self.names[algorithm]], [-target], [self._known(x)])
            self.learned = True

    def update_many(self, x: Array, target: Array) -> None:
        """Teach all recorded runs in one call, as MABWiser would have them."""
        rows, arms = np.nonzero(~np.isnan(target))
        if not len(rows):
            return
        contexts = x[rows, x.shape[1] - self.n_features :]
        learn = self.mab.partial_fit if self.learned else self.mab.fit
        learn(np.array(self.names)[arms].tolist(), (-target[rows, arms]).tolist(), contexts)
        self.learned = True

    def add(self) -> None:
        """Add an arm."""
        super().add()
        self.mab.add_arm(self.names[-1])

    def remove(self, algorithm: int) -> None:
        """Remove an arm."""
        self.mab.remove_arm(self.names[algorithm])
        super().remove(algorithm)

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        """Take more features if nothing has been learned yet; later ones are left out."""
        if not self.learned:
            self.n_features = n_features
            self._begin()
