"""Online selectors of other libraries: Vowpal Wabbit, MABWiser's linear bandits, river's forests.

Vowpal Wabbit: Bietti, Agarwal, Langford, "A contextual bandit bake-off", JMLR 2021. An instance is a
multi-line example: the represented features are shared, each algorithm is an action with one feature of its
own, and their products (``-q xa``) give each algorithm weights of its own.

MABWiser: Strong, Kleynhans, Kadıoğlu, "MABWiser: parallelizable contextual multi-armed bandits", IJAIT 2021.
An arm is an algorithm, and the reward is minus the bounded loss of its run. So an arm that was never tried is
expected to lose nothing.

river: Montiel et al., "River: machine learning for streaming data in Python", JMLR 2021. A forest per
algorithm learns the bounded losses of its runs, and the lowest prediction is chosen.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tailcut.errors import StateFileError
from tailcut.models import Model
from tailcut.numerics.randomness import stream
from tailcut.numerics.ranges import NonNegative, Positive, Share, TreeCount
from tailcut.peers import library
from tailcut.policies.exploration import Exploration
from tailcut.representation import Views
from tailcut.types import Array, Belief, Estimate, Quantity

LEAST_PROBABILITY = 1e-6
"""No action counts as less likely, so that its logarithm and the weight of its cost stay finite."""


class OpaqueModel(Model):
    """A model of another library, whose state cannot be saved.

    Algorithms are known to the library by names that never change: `names` has them in the order of their
    numbers here.
    """

    can_be_saved: ClassVar[bool] = False
    why_not_saved: ClassVar[str] = (
        "its library keeps what it learned in Python objects: only pickle writes them"
    )

    def __init__(self, n_algorithms: int, n_features: int) -> None:
        self.names = list(range(n_algorithms))
        self.next_name = n_algorithms
        self.n_features = n_features

    @abstractmethod
    def losses(self, x: Array) -> Array:
        """Return what the library expects of all algorithms, the lower the better, shape (K,)."""

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return the library's predictions; their uncertainty is included or unknown."""
        return self.losses(x), np.zeros(len(self.names))

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        return float(self.losses(x)[algorithm]), 0.0

    def add(self) -> None:
        self.names.append(self.next_name)
        self.next_name += 1

    def remove(self, algorithm: int) -> None:
        del self.names[algorithm]

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        self.n_features = n_features

    def state(self) -> dict[str, Any]:
        """Refuse: what the library would write may run anything when it is read."""
        raise StateFileError(f"{type(self).__name__} cannot be saved: {self.why_not_saved}")


class VowpalWabbit(OpaqueModel):
    """A workspace of ``--cb_explore_adf``; predicts minus the log-probability of each algorithm.

    `explorer` is one of Vowpal Wabbit's: "epsilon", "squarecb", "softmax", "bag" or "cover". `cb_type` is how
    it learns from the costs of chosen actions alone: "mtr", "dm", "dr" or "ips".
    """

    why_not_saved: ClassVar[str] = "its model files carry command lines, which are obeyed when they are read"
    in_bulk: ClassVar[bool] = True
    EXPLORERS: ClassVar[dict[str, str]] = {
        "epsilon": "--epsilon {explore}",
        "squarecb": "--squarecb --gamma_scale {explore}",
        "softmax": "--softmax --lambda {explore}",
        "bag": "--bag 5 --epsilon {explore}",
        "cover": "--cover 5 --epsilon {explore}",
    }

    def __init__(
        self,
        *,
        n_algorithms: int,
        n_features: int,
        seed: int = 0,
        explorer: str = "epsilon",
        cb_type: str = "mtr",
        explore: Positive = 0.05,
        learning_rate: Positive = 0.5,
        power_t: Share = 0.5,
        l2: NonNegative = 0.0,
    ) -> None:
        super().__init__(n_algorithms, n_features)
        exploring = self.EXPLORERS[explorer].format(explore=explore)
        self.arguments = (
            f"--cb_explore_adf --cb_type {cb_type} {exploring} -q xa --ignore_linear x --noconstant "
            f"--learning_rate {learning_rate} --power_t {power_t} --l2 {l2} "
            f"--random_seed {seed % 2**31} --quiet"
        )
        self.workspace = library("vowpalwabbit").Workspace(self.arguments)

    def example(self, x: Array) -> list[str]:
        shared = " ".join(f"f{place}:{value:.9g}" for place, value in named(x).items())
        return [f"shared |x {shared}", *(f"|a a{name}" for name in self.names)]

    def losses(self, x: Array) -> Array:
        probabilities = np.array(self.workspace.predict(self.example(x)), dtype=np.float64)
        return -np.log(np.maximum(probabilities, LEAST_PROBABILITY))

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn that an algorithm cost `target`, chosen with the probability that it has now.

        While outcomes come before the next decision, that is the one with which it was chosen.
        """
        if weight <= 0.0:
            return
        example = self.example(x)
        chosen = max(float(self.workspace.predict(example)[algorithm]), LEAST_PROBABILITY)
        self.learn_cost(example, algorithm, target, chosen)

    def update_many(self, x: Array, target: Array) -> None:
        """Learn recorded runs, which were not chosen: each has probability 1."""
        for row, algorithm in np.argwhere(~np.isnan(target)).tolist():
            self.learn_cost(self.example(x[row]), algorithm, float(target[row, algorithm]), 1.0)

    def learn_cost(self, example: list[str], algorithm: int, cost: float, probability: float) -> None:
        """Hand a cost to Vowpal Wabbit: ``action:cost:probability`` in front of the action that was run."""
        lines = list(example)
        lines[1 + algorithm] = f"0:{cost:.9g}:{probability:.9g} {lines[1 + algorithm]}"
        self.workspace.learn(lines)


@dataclass(frozen=True, slots=True)
class ByProbability(Exploration):
    """Choose each algorithm with the probability that the model gives, by the Gumbel-max trick.

    If each of -log(p) loses a draw of the Gumbel distribution, the lowest is algorithm a with
    probability p_a. Without randomness all draws are the same, and the most probable algorithm is chosen.
    """

    quantity: ClassVar[Quantity | None] = Quantity("minus the log-probability of being chosen", "")

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        uniform = np.clip(rng.random(len(belief.mean)), 1e-300, 1.0 - 1e-16)
        drawn = belief.mean + np.log(-np.log(uniform))
        return Estimate(drawn, drawn, np.ones(len(drawn)))


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
        mab = library("mabwiser.mab")
        exploring = {"epsilon": 0.0} if self.learning_policy == "LinGreedy" else {"alpha": self.alpha}
        policy = getattr(mab.LearningPolicy, self.learning_policy)(l2_lambda=self.ridge, **exploring)
        self.mab = mab.MAB(arms=list(self.names), learning_policy=policy, seed=self.seed)

    def losses(self, x: Array) -> Array:
        return self._losses(self.mab, x)

    def predict_one(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return the expectation of one arm, from a copy, so that no random numbers are used up."""
        mab = deepcopy(self.mab) if self.learning_policy == "LinTS" and self.learned else self.mab
        return float(self._losses(mab, x)[algorithm]), 0.0

    def _losses(self, mab: Any, x: Array) -> Array:
        """Return minus the expectations of all arms; those of LinTS are draws."""
        if not self.learned:
            return np.zeros(len(self.names))
        expected = mab.predict_expectations([x[len(x) - self.n_features :].tolist()])
        return np.array([-float(expected[name]) for name in self.names])

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        if weight > 0.0:
            self._learn([algorithm], np.array([target]), x[None])

    def update_many(self, x: Array, target: Array) -> None:
        rows, arms = np.nonzero(~np.isnan(target))
        if len(rows):
            self._learn(arms.tolist(), target[rows, arms], x[rows])

    def _learn(self, arms: list[int], losses: Array, contexts: Array) -> None:
        learn = self.mab.partial_fit if self.learned else self.mab.fit
        known = contexts[:, contexts.shape[1] - self.n_features :]
        learn([self.names[arm] for arm in arms], (-losses).tolist(), known)
        self.learned = True

    def add(self) -> None:
        super().add()
        self.mab.add_arm(self.names[-1])

    def remove(self, algorithm: int) -> None:
        self.mab.remove_arm(self.names[algorithm])
        super().remove(algorithm)

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        """Take more features if nothing has been learned yet; later ones are left out."""
        if not self.learned:
            self.n_features = n_features
            self._begin()


class RiverForests(OpaqueModel):
    """One of river's adaptive random forests per algorithm; 0 before the first outcome."""

    needs_features = True

    def __init__(self, *, n_algorithms: int, n_features: int, seed: int = 0, trees: TreeCount = 10) -> None:
        super().__init__(n_algorithms, n_features)
        self.trees, self.seed = trees, seed
        self.forests = [self._new(name) for name in self.names]
        self.outcomes = [0] * n_algorithms

    def _new(self, name: int) -> Any:
        seed = int(stream(self.seed, f"river forest {name}").integers(2**31))
        return library("river.forest").ARFRegressor(n_models=self.trees, seed=seed)

    def losses(self, x: Array) -> Array:
        """Return what each forest predicts; one without outcomes expects no loss."""
        features = named(x)
        return np.array(
            [
                float(forest.predict_one(features)) if known else 0.0
                for forest, known in zip(self.forests, self.outcomes, strict=True)
            ]
        )

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        if weight > 0.0:
            self.forests[algorithm].learn_one(named(x), target)
            self.outcomes[algorithm] += 1

    def add(self) -> None:
        super().add()
        self.forests.append(self._new(self.names[-1]))
        self.outcomes.append(0)

    def remove(self, algorithm: int) -> None:
        super().remove(algorithm)
        del self.forests[algorithm], self.outcomes[algorithm]


def named(x: Array) -> dict[int, float]:
    """Return features by their places, counted from the last on: those that arrive later come first.

    >>> named(np.array([0.5, 2.0]))
    {2: 0.5, 1: 2.0}
    """
    return dict(zip(range(len(x), 0, -1), x.tolist(), strict=True))
