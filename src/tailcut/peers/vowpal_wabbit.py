"""Vowpal Wabbit's contextual bandit: one linear model over all algorithms, explored by its own rules.

Bietti, Agarwal, Langford, "A contextual bandit bake-off", JMLR 2021. An instance is a multi-line example: the
represented features are shared, each algorithm is an action with one feature of its own, and their products
(``-q xa``) give each algorithm weights of its own. Vowpal Wabbit returns the probability with which to choose
each action; `ByProbability` draws. The cost of an action is the bounded loss of its run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailcut.numerics.ranges import NonNegative, Positive, Share
from tailcut.peers.libraries import library
from tailcut.peers.opaque import OpaqueModel
from tailcut.policies.exploration import Exploration
from tailcut.representation import Views
from tailcut.types import Array, Belief, Estimate, Quantity

LEAST_PROBABILITY = 1e-6
"""No action counts as less likely, so that its logarithm and the weight of its cost stay finite."""


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
        """Return an instance as Vowpal Wabbit reads it; entries are counted from the last on.

        So an entry keeps its name when features arrive later, which come first.
        """
        entries = zip(range(len(x), 0, -1), x.tolist(), strict=True)
        shared = " ".join(f"f{place}:{value:.9g}" for place, value in entries)
        return [f"shared |x {shared}", *(f"|a a{name}" for name in self.names)]

    def probabilities(self, x: Array) -> Array:
        """Return with which probability Vowpal Wabbit would choose each algorithm, shape (K,)."""
        return np.array(self.workspace.predict(self.example(x)), dtype=np.float64)

    def losses(self, x: Array) -> Array:
        """Return minus the log-probabilities."""
        return -np.log(np.maximum(self.probabilities(x), LEAST_PROBABILITY))

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

    def add_features(self, n_features: int, views: Views) -> None:  # noqa: ARG002
        """Do nothing: features have names."""
        self.n_features = n_features


@dataclass(frozen=True, slots=True)
class ByProbability(Exploration):
    """Choose each algorithm with the probability that the model gives, by the Gumbel-max trick.

    If each of -log(p) loses a draw of the Gumbel distribution, the lowest is algorithm a with
    probability p_a. Without randomness all draws are the same, and the most probable algorithm is chosen.
    """

    quantity: ClassVar[Quantity | None] = Quantity("minus the log-probability of being chosen", "")

    @property
    def noise_deviation(self) -> float:
        """Return 1: a probability says nothing of the noise."""
        return 1.0

    def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:  # noqa: ARG002
        """Return the drawn values as both bounds."""
        uniform = np.clip(rng.random(len(belief.mean)), 1e-300, 1.0 - 1e-16)
        drawn = belief.mean + np.log(-np.log(uniform))
        return Estimate(drawn, drawn, np.ones(len(drawn)))
