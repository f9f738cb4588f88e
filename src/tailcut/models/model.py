"""The interface of a model, and the model that learns nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tailcut.representation.part import Views
from tailcut.state.stateful import Stateful
from tailcut.types import Array


class Model(Stateful, ABC):
    """A belief about K algorithms, numbered 0 to K-1, for instances of d features."""

    bounded: ClassVar[bool] = True
    """Whether memory and time per step are independent of how many outcomes were learned."""
    needs_features: ClassVar[bool] = False
    """Whether it cannot learn anything without features."""
    learns: ClassVar[bool] = True
    """Whether its predictions mean anything."""
    in_bulk: ClassVar[bool] = False
    """Whether recorded runs are better learned in bulk than one by one."""
    can_be_saved: ClassVar[bool] = True
    """Whether `state` returns all that it has learned; one that cannot says so by an error."""

    @abstractmethod
    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean and variance of the target for all algorithms at `x`, each of shape (K,)."""

    @abstractmethod
    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return mean and variance of the target for one algorithm at `x`."""

    @abstractmethod
    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn that `algorithm` had `target` at `x`; `weight` 1 is one full observation, 0 is none.

        A run of weight 0 teaches nothing, but takes its place in a sliding window.
        """

    def update_many(self, x: Array, target: Array) -> None:
        """Learn recorded runs: on the instances `x`, shape (n, d), the targets (n, K), nan where unknown."""
        for row, algorithm in np.argwhere(~np.isnan(target)).tolist():
            self.update(algorithm, x[row], float(target[row, algorithm]), 1.0)

    @abstractmethod
    def add(self) -> None:
        """Make room for one more algorithm, numbered K, of which nothing is known."""

    @abstractmethod
    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""

    @abstractmethod
    def widen(self, n_features: int, views: Views) -> None:
        """Take instances of this many entries from now on; all that was learned stays.

        New entries come first, those known so far behind them; of past runs the new ones are taken as 0.
        """


class Nothing(Model):
    """Predicts 0 with variance 1 for every algorithm, whatever happened: for selectors that do not learn.

    >>> Nothing(n_algorithms=2, n_features=3).predict(np.zeros(3))[0].tolist()
    [0.0, 0.0]
    """

    STATE = ("n_algorithms",)
    learns: ClassVar[bool] = False

    def __init__(self, *, n_algorithms: int, n_features: int) -> None:  # noqa: ARG002 - every model is made alike
        self.n_algorithms = n_algorithms

    def predict(self, x: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Return zeros and ones, shapes (K,)."""
        return np.zeros(self.n_algorithms), np.ones(self.n_algorithms)

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:  # noqa: ARG002
        """Return 0 and 1."""
        return 0.0, 1.0

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn nothing."""

    def add(self) -> None:
        """Count one algorithm more."""
        self.n_algorithms += 1

    def remove(self, algorithm: int) -> None:  # noqa: ARG002
        """Count one algorithm less."""
        self.n_algorithms -= 1

    def widen(self, n_features: int, views: Views) -> None:
        """Change nothing: features are ignored."""
