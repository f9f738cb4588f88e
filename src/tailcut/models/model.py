"""What every model must do."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from tailcut.types import Array


class Model(Protocol):
    """A belief about K algorithms, numbered 0 to K-1, for instances of d features."""

    bounded: ClassVar[bool]
    """Whether memory and time per step are independent of how many outcomes were learned."""

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean and variance of the target for all algorithms at `x`, each of shape (K,)."""
        ...

    def look(self, algorithm: int, x: Array) -> tuple[float, float]:
        """Return mean and variance of the target for one algorithm at `x`."""
        ...

    def update(self, algorithm: int, x: Array, target: float, weight: float) -> None:
        """Learn that `algorithm` had `target` at `x`; `weight` 1 is one full observation."""
        ...

    def add(self) -> None:
        """Make room for one more algorithm, numbered K, of which nothing is known."""
        ...

    def remove(self, algorithm: int) -> None:
        """Forget an algorithm; those behind it move up by one."""
        ...

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as arrays and plain values."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        ...
