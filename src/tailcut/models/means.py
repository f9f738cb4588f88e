"""The mean target of each algorithm, features unseen."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tailcut.types import Array


class RunningMeans:
    """One weighted mean per algorithm; 0 before its first outcome.

    >>> means = RunningMeans(n_algorithms=2, n_features=0)
    >>> for seconds in (10.0, 20.0):
    ...     means.update(1, np.array([]), target=seconds, weight=1.0)
    >>> means.predict(np.array([]))[0].tolist()
    [0.0, 15.0]
    """

    bounded: ClassVar[bool] = True

    def __init__(self, *, n_algorithms: int, n_features: int) -> None:  # noqa: ARG002 - every model is made alike
        self.weight = np.zeros(n_algorithms)
        self.mean = np.zeros(n_algorithms)

    def predict(self, x: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """Return the means, and 1 / (1 + weight) as their variance for unit noise; shapes (K,)."""
        return self.mean.copy(), 1.0 / (1.0 + self.weight)

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:  # noqa: ARG002
        """Return mean and variance of one algorithm."""
        return float(self.mean[algorithm]), float(1.0 / (1.0 + self.weight[algorithm]))

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:  # noqa: ARG002
        """Move the mean towards `target`."""
        self.weight[algorithm] += weight
        self.mean[algorithm] += weight / self.weight[algorithm] * (target - self.mean[algorithm])

    def add(self) -> None:
        """Append an algorithm without outcomes."""
        self.weight, self.mean = np.append(self.weight, 0.0), np.append(self.mean, 0.0)

    def remove(self, algorithm: int) -> None:
        """Drop one algorithm."""
        self.weight, self.mean = np.delete(self.weight, algorithm), np.delete(self.mean, algorithm)

    def state(self) -> dict[str, Any]:
        """Return weights and means."""
        return {"weight": self.weight, "mean": self.mean}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from weights and means."""
        self.weight, self.mean = state["weight"], state["mean"]
