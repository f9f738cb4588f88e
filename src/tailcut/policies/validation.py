"""The border: what comes from outside is checked here, once, and trusted behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import InputError
from tailcut.numerics.vectors import ordinary
from tailcut.types import Array, Outcome

Features = Sequence[float] | Array | Mapping[str, float] | None
"""A vector, a mapping from names to values, or nothing; nan is a missing value."""


def names(field: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple, or say which is not one or comes twice.

    >>> names("algorithms", ["a", "b", "a"])
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: algorithms[2] repeats 'a'
    """
    if isinstance(given, str):
        raise InputError(f"{field} must be a list of names, got the single string {given!r}")
    seen: dict[str, None] = {}
    for position, name in enumerate(given):
        if not isinstance(name, str) or not name:
            raise InputError(f"{field}[{position}] must be a non-empty string, got {name!r}")
        if name in seen:
            raise InputError(f"{field}[{position}] repeats {name!r}")
        seen[name] = None
    return tuple(seen)


def cutoff_seconds(given: float) -> float:
    """Return a cutoff as a float > 0, or say what is wrong with it."""
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise InputError(f"cutoff must be a finite number of seconds > 0, got {given!r}")
    return seconds


def chosen_among(among: Iterable[str], algorithms: tuple[str, ...]) -> NDArray[np.intp]:
    """Return the numbers of the algorithms named by `among`, in increasing order.

    >>> chosen_among(["c", "a"], ("a", "b", "c")).tolist()
    [0, 2]
    """
    wanted = set(names("among", among))
    unknown = wanted.difference(algorithms)
    if unknown or not wanted:
        problem = f"names unknown algorithms: {', '.join(sorted(unknown))}" if unknown else "is empty"
        raise InputError(f"among {problem}; known: {', '.join(algorithms)}")
    return np.array([i for i, name in enumerate(algorithms) if name in wanted])


def spent_seconds(given: float, cutoff: float = math.inf, *, field: str = "spent") -> float:
    """Return time already used as a float >= 0 and less than the cutoff, or say what is wrong with it.

    >>> spent_seconds(61, cutoff=60.0)
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: spent must be less than the cutoff of 60 s, got 61: no time is left to run
    """
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0.0 <= seconds < math.inf:
        raise InputError(f"{field} must be a finite number of seconds >= 0, got {given!r}")
    if seconds >= cutoff:
        raise InputError(
            f"{field} must be less than the cutoff of {cutoff:g} s, got {given!r}: no time is left to run"
        )
    return seconds


def seconds_before(spent: float, feature_cost: float, cutoff: float) -> tuple[float, float]:
    """Return the time used before a run, that for features included, and the latter alone.

    >>> seconds_before(5, 2, cutoff=60.0)
    (7.0, 2.0)
    """
    other = spent_seconds(spent, cutoff)
    feature_cost = spent_seconds(feature_cost, cutoff, field="feature_cost")
    return spent_seconds(other + feature_cost, cutoff, field="spent + feature_cost"), feature_cost


def whole_number(field: str, given: int, at_least: int) -> int:
    """Return a whole number, or say what is wrong with it."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < at_least:
        raise InputError(f"{field} must be a whole number >= {at_least}, got {given!r}")
    return int(given)


def instance_name(given: str | None) -> str | None:
    """Return the name of an instance, or say that it is not one."""
    if given is not None and not isinstance(given, str):
        raise InputError(f"instance must be a string, got {given!r}")
    return given


def one_outcome(
    outcome: Outcome | None, runtime: float | None, censored_at: float | None, failed: bool
) -> Outcome:
    """Return the one outcome that was given, in whichever form."""
    given = (outcome is not None) + (runtime is not None) + (censored_at is not None) + bool(failed)
    if given != 1:
        raise InputError(f"give exactly one of outcome, runtime, censored_at and failed=True; got {given}")
    if runtime is not None:
        return Outcome.solved(runtime)
    if censored_at is not None:
        return Outcome.censored(censored_at)
    if outcome is not None and not isinstance(outcome, Outcome):
        raise InputError(f"outcome must be an Outcome, got {outcome!r}")
    return Outcome.failed() if outcome is None else outcome


class FeatureReader:
    """Turns the features of each instance into a vector of one agreed length and order.

    The first instance settles what was not given: the number of features, and their names and order if
    it comes as a mapping.

    >>> reader = FeatureReader()
    >>> reader.read({"clauses": 850.0, "variables": 200.0}).tolist()
    [850.0, 200.0]
    >>> reader.read({"variables": 100.0}).tolist()
    [nan, 100.0]
    """

    def __init__(self, names: tuple[str, ...] | None = None, width: int | None = None) -> None:
        self.names = names
        self.width = len(names) if names is not None else width

    def read(self, features: Features) -> Array:
        """Return a new vector, finite or nan in every entry; None gives one of missing values."""
        if features is None:
            return np.full(self.width or 0, math.nan)
        if isinstance(features, np.ndarray | list | tuple) or not isinstance(features, Mapping):
            vector = self._vector(features, self.names)
        else:
            order = self._order(features)
            vector = self._vector([features.get(name, math.nan) for name in order], order)
            self.names = order
        self.width = len(vector)
        return vector

    def _order(self, features: Mapping[str, float]) -> tuple[str, ...]:
        """Return the names in their agreed order; the first mapping sets it."""
        if self.names is None:
            if self.width is not None:
                raise InputError("features have no names here: earlier calls passed plain vectors")
            return names("features", features)
        unknown = [str(name) for name in features if name not in self.names]
        if unknown:
            raise InputError(f"unknown features: {', '.join(unknown)}")
        return self.names

    def _vector(self, values: Sequence[float] | Array, order: tuple[str, ...] | None) -> Array:
        try:
            vector = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"features must be numbers (nan where missing): {error}") from None
        if vector.ndim != 1:
            raise InputError(f"features must be one vector, got an array of shape {vector.shape}")
        if self.width is not None and len(vector) != self.width:
            raise InputError(f"expected {self.width} features, got {len(vector)}")
        if ordinary(vector):
            return vector
        infinite = np.isinf(vector)
        if infinite.any():
            position = int(infinite.argmax())
            name = "" if order is None else f" ({order[position]})"
            raise InputError(f"feature {position}{name} is infinite; use nan for missing")
        return vector
