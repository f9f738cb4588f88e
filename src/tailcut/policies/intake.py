"""Features at the door: whether to compute them, what they cost, and the vector that a policy gets."""

from __future__ import annotations

from typing import Any

from tailcut.numerics.vectors import NO_FEATURES
from tailcut.policies.feature_budget import Thrift
from tailcut.policies.validation import FeatureReader, Features
from tailcut.types import Array


class Intake(FeatureReader):
    """A reader of features that keeps the books on what they cost, where a selector can do without them.

    >>> intake = Intake(None, needed=True, thrift=Thrift(share=0.1))
    >>> intake.budget(cutoff=60.0)
    6.0
    >>> intake.take([1.0, 2.0], 0.5, cutoff=60.0).tolist()
    [1.0, 2.0]
    >>> intake.take(None, 6.0, cutoff=60.0).tolist()  # they took too long
    [nan, nan]
    >>> intake.take(None, 0.0, cutoff=60.0).tolist()  # nobody tried
    []
    """

    def __init__(self, names: tuple[str, ...] | None, *, needed: bool, thrift: Thrift | None) -> None:
        super().__init__(names)
        self.needed = needed
        """Whether the selector looks at features at all."""
        self.thrift = thrift
        """What they cost and bring; None where it cannot do without, or never looks at them."""

    def budget(self, cutoff: float) -> float:
        """Return how many seconds computing the next instance's features may take."""
        if self.thrift is not None:
            return self.thrift.budget(cutoff)
        return cutoff if self.needed else 0.0

    def take(self, features: Features, cost: float, cutoff: float) -> Array:
        """Return the vector of an instance whose features took `cost` seconds, be they there or not."""
        vector = self.read(features)
        if self.thrift is None:
            return vector
        tried = features is not None or cost > 0.0
        self.thrift.begin(cost / cutoff if tried else None, finished=features is not None)
        # Tried in vain, all values are missing: the instance is a large one, and that tells something.
        return vector if tried else NO_FEATURES

    def state(self) -> dict[str, Any]:
        """Return names, number and books."""
        return {
            "feature_names": None if self.names is None else list(self.names),
            "n_features": self.width,
            "thrift": None if self.thrift is None else self.thrift.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken; the names are there already."""
        self.width = state["n_features"]
        if self.thrift is not None and state.get("thrift") is not None:
            self.thrift.restore(state["thrift"])
