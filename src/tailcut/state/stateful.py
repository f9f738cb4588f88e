"""Declares once which attributes hold what an object has learned.

`STATE` lists them. An attribute may be a number, a text, an array, a list or a mapping of these, a random
stream, another `Stateful`, or several of them. An attribute that is saved in another form is a property with
a setter. What can be derived from the others is not listed, but computed again in `restored`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tailcut.errors import StateFileError

GIANT = 1e160
"""An upper bound on learned values: features count as at most 1e150."""


class Stateful:
    """An object whose state is saved and restored bit for bit.

    >>> class Count(Stateful):
    ...     STATE = ("total", "stream")
    ...
    ...     def __init__(self):
    ...         self.total, self.stream = 0, np.random.default_rng(0)
    >>> one, other = Count(), Count()
    >>> one.total, _ = 7, one.stream.random()
    >>> other.restore(one.state())
    >>> other.total, other.stream.random() == one.stream.random()
    (7, True)
    """

    STATE: ClassVar[tuple[str, ...]] = ()
    """The attributes that hold what was learned."""
    GROWING: ClassVar[tuple[str, ...]] = ()
    """Those whose length depends on what was learned; all others are as long as in a new object."""

    def state(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and plain values."""
        return {name: _dumped(getattr(self, name)) for name in self.STATE}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly where `state` was taken; this object was made with the same settings."""
        for name in self.STATE:
            present, saved = getattr(self, name), state[name]
            if name not in self.GROWING:
                _check_length(present, saved, name)
            setattr(self, name, _loaded(present, saved, name))
        self.restored()

    def restored(self) -> None:
        """Compute what follows from the state; raise `StateFileError` if it is inconsistent."""


def _dumped(value: Any) -> Any:
    if isinstance(value, Stateful):
        return value.state()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, tuple) and any(isinstance(one, Stateful) for one in value):
        return [_dumped(one) for one in value]
    return value


def _check_length(present: Any, saved: Any, name: str) -> None:
    if isinstance(present, np.ndarray) and isinstance(saved, np.ndarray):
        expect(present.shape == saved.shape, f"{name}: expected shape {present.shape}, got {saved.shape}")
    elif isinstance(present, list) and isinstance(saved, list):
        expect(len(present) == len(saved), f"{name}: expected {len(present)} values, got {len(saved)}")


def _loaded(present: Any, saved: Any, name: str) -> Any:
    """Return the new value of an attribute that is now `present`; raise if `saved` is of another kind."""
    if isinstance(present, Stateful):
        present.restore(_checked(saved, Mapping, name))
        return present
    if isinstance(present, np.random.Generator):
        return _stream(saved, name)
    if isinstance(present, tuple) and any(isinstance(one, Stateful) for one in present):
        expect(
            isinstance(saved, list) and len(saved) == len(present), f"{name}: expected {len(present)} parts"
        )
        for part, one in zip(present, saved, strict=True):
            _loaded(part, one, name)
        return present
    if isinstance(present, np.ndarray):
        return _array(present, saved, name)
    if isinstance(present, bool | str | list | dict):
        return _checked(saved, type(present), name)
    if isinstance(present, int | float):
        return _number(present, saved, name)
    expect(present is not None or saved is None, f"{name}: expected nothing, got {saved!r:.50}")
    return saved


def _array(present: Any, saved: Any, name: str) -> Any:
    same = isinstance(saved, np.ndarray) and (saved.ndim, saved.dtype) == (present.ndim, present.dtype)
    expect(same, f"{name}: expected an array of {present.dtype} in {present.ndim} dimensions")
    return saved


def _number(present: float, saved: Any, name: str) -> Any:
    """Return a finite number; a count, which is a whole number, is at least 0."""
    kind = "a whole number >= 0" if isinstance(present, int) else "a finite number"
    fine = isinstance(saved, int) and not isinstance(saved, bool) and 0 <= saved < 2**62
    if isinstance(present, float):
        fine = isinstance(saved, int | float) and not isinstance(saved, bool) and math.isfinite(saved)
    expect(fine, f"{name}: expected {kind}, got {saved!r:.50}")
    return saved


def _checked(saved: Any, kind: Any, name: str) -> Any:
    expect(isinstance(saved, kind), f"{name}: expected {getattr(kind, '__name__', kind)}, got {saved!r:.50}")
    return saved


def expect(fine: object, problem: str) -> None:
    """Raise `StateFileError` with `problem` unless all is fine; for a class's checks of its own state.

    >>> expect(1 + 1 == 2, "arithmetic: expected 2")
    """
    if not fine:
        raise StateFileError(problem)


def expect_finite(**arrays: Any) -> None:
    """Raise `StateFileError` unless all entries of these arrays are finite and not too large."""
    for name, array in arrays.items():
        expect((np.abs(array) < GIANT).all(), f"{name}: holds a number that is not finite, or a giant")


def expect_indices(limit: int, **arrays: Any) -> None:
    """Raise `StateFileError` unless all entries of these arrays are at least 0 and below `limit`."""
    for name, array in arrays.items():
        values = np.asarray(array)
        fine = values.size == 0 or (values.min() >= 0 and values.max() < limit)
        expect(fine, f"{name}: expected numbers from 0 to {limit - 1}")


def _stream(saved: Any, name: str) -> np.random.Generator:
    bits = np.random.PCG64()
    try:
        bits.state = saved
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise StateFileError(f"{name}: is not a random stream: {error}") from None
    return np.random.Generator(bits)
