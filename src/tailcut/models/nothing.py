"""The model that believes nothing, for selectors that do not learn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tailcut.types import Array


class Nothing:
    """Predicts 0 with variance 1 for every algorithm, whatever it is told.

    >>> Nothing(n_algorithms=2, n_features=3).predict(np.zeros(3))[0].tolist()
    [0.0, 0.0]
    """

    bounded: ClassVar[bool] = True

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

    def state(self) -> dict[str, Any]:
        """Return the number of algorithms."""
        return {"n_algorithms": self.n_algorithms}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the number of algorithms."""
        self.n_algorithms = state["n_algorithms"]
