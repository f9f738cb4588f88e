"""Turns the features of a call into a vector of fixed length and order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np

from tailcut.checks.inputs import check_names
from tailcut.errors import InputError
from tailcut.numerics.vectors import ordinary
from tailcut.types import Array, Features

_SEQUENCES = (np.ndarray, list, tuple)
"""What a vector usually is; to ask whether something else is a mapping takes longer."""


class FeatureReader:
    """Turns the features of each instance into a vector of fixed length and order.

    The first instance fixes what was not given: the number of features, and their names and order if it is a
    mapping.

    >>> reader = FeatureReader()
    >>> reader.read({"clauses": 850.0, "variables": 200.0}).tolist()
    [850.0, 200.0]
    >>> reader.read({"variables": 100.0}).tolist()
    [nan, 100.0]
    """

    def __init__(self, names: tuple[str, ...] | None = None, width: int | None = None) -> None:
        self.names = names
        self.width = len(names) if names is not None else width

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features, in order, if they have names."""
        return self._names

    @names.setter
    def names(self, names: tuple[str, ...] | None) -> None:
        self._names, self._known = names, frozenset(names or ())

    def copy(self) -> FeatureReader:
        """Return a copy for trying something: what it fixes does not affect this reader."""
        return FeatureReader(self.names, self.width)

    def read(self, features: Features) -> Array:
        """Return a new vector, finite or nan in every entry; None gives one of missing values."""
        if features is None:
            return np.full(self.width or 0, math.nan)
        if isinstance(features, _SEQUENCES) or not isinstance(features, Mapping):
            vector = self._vector(features, self._names)
        else:
            order = self._order(features)
            vector = self._vector(list(map(features.get, order, repeat(math.nan))), order)
            if order is not self.names:
                self.names = order
        self.width = len(vector)
        return vector

    def _order(self, features: Mapping[str, float]) -> tuple[str, ...]:
        """Return the names in their fixed order, which the first mapping sets."""
        if self.names is None:
            if self.width is not None:
                raise InputError(
                    "features have no names here: earlier calls passed plain vectors", field="features"
                )
            return check_names("features", features)
        if not self._known.issuperset(features):
            unknown = [str(name) for name in features if name not in self._known]
            raise InputError(f"unknown features: {', '.join(unknown)}", field="features")
        return self.names

    def _vector(self, values: Sequence[float] | Array, order: tuple[str, ...] | None) -> Array:
        try:
            vector = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"features must be numbers (nan where missing): {error}", field="features"
            ) from None
        if vector.ndim != 1:
            raise InputError(
                f"features must be one vector, got an array of shape {vector.shape}", field="features"
            )
        if self.width is not None and len(vector) != self.width:
            raise InputError(f"expected {self.width} features, got {len(vector)}", field="features")
        if ordinary(vector):
            return vector
        infinite = np.isinf(vector)
        if infinite.any():
            position = int(infinite.argmax())
            name = "" if order is None else f" ({order[position]})"
            raise InputError(f"feature {position}{name} is infinite; use nan for missing", field="features")
        return vector
