"""The base of models whose state is in objects of another library."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from tailcut.errors import StateFileError
from tailcut.models import Model
from tailcut.types import Array


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
        """Return what the library expects of one algorithm."""
        return float(self.losses(x)[algorithm]), 0.0

    def add(self) -> None:
        """Add a name."""
        self.names.append(self.next_name)
        self.next_name += 1

    def remove(self, algorithm: int) -> None:
        """Remove a name."""
        del self.names[algorithm]

    def state(self) -> dict[str, Any]:
        """Refuse: what the library would write may run anything when it is read."""
        raise StateFileError(f"{type(self).__name__} cannot be saved: {self.why_not_saved}")
