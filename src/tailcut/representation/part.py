"""What a part of a representation must do, and the pipeline that chains parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tailcut.state.stateful import Stateful
from tailcut.types import Array


class Views(NamedTuple):
    """Which entries of a vector are meant for which kind of model."""

    linear: slice
    trees: slice


class Part(Stateful):
    """One step from a vector to a vector. The defaults suit a step without memory."""

    def start(self, width: int) -> int:
        """Prepare for vectors of `width` entries; return the width of the output."""
        return width

    def __call__(self, x: Array) -> Array:  # noqa: ARG002
        """Learn from `x` (shape (width,)) if the part learns, and return it transformed.

        Never changes `x` itself.
        """
        raise TypeError(f"{type(self).__name__} must define __call__")

    def peek(self, x: Array) -> Array:
        """Return `x` transformed, learning nothing; a part that learns must override this."""
        return self(x)

    def views(self) -> Views:
        """Return which entries of the output are meant for which models; by default all for all."""
        return Views(slice(None), slice(None))


class Pipeline(Part):
    """Parts applied one after the other.

    >>> from tailcut.representation import Intercept, SignedLog
    >>> import numpy as np
    >>> chain = Pipeline([SignedLog(), Intercept(value=1.0)], n_features=1)
    >>> chain.width, chain(np.array([np.e - 1])).tolist()
    (2, [1.0, 1.0])
    """

    STATE = ("parts",)

    def __init__(self, parts: Sequence[Part], n_features: int) -> None:
        self.parts = tuple(parts)
        self.widen(n_features)

    def widen(self, n_features: int) -> None:
        """Accept vectors of this many entries from now on; there were none to learn from before."""
        self.n_features = n_features
        """The width of the input; `width` is that of the output."""
        self.width = self.start(n_features)

    def start(self, width: int) -> int:
        """Prepare all parts, each for the output width of the one before it."""
        for part in self.parts:
            width = part.start(width)
        return width

    def views(self) -> Views:
        """Return the views of the last part."""
        return self.parts[-1].views()

    def __call__(self, x: Array) -> Array:
        """Return `x` after all parts."""
        for part in self.parts:
            x = part(x)
        return x

    def peek(self, x: Array) -> Array:
        """Return `x` after all parts, none of which learns from it."""
        for part in self.parts:
            x = part.peek(x)
        return x

    def take_in(self, features: Array) -> Array:
        """Learn from many vectors, shape (n, d), then return all of them transformed, shape (n, width).

        All vectors are learned before the first is transformed, so every row is on the same scale as the next
        single vector. Models cannot learn well from values whose unit keeps changing.
        """
        for x in features:
            self(x)
        rows = [self.peek(x) for x in features]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.width)
