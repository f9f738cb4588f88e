"""What an object has learned, declared once: the names of the attributes that hold it.

`STATE` lists them. An attribute may be a number, a text, an array, a list or a mapping of such, a random
stream, another `Stateful`, or several of them; one that is kept in another form than it is saved in is a
property with a setter. Whatever follows from the others is not listed but computed again in `restored`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tailcut.errors import StateFileError


class Stateful:
    """Something whose state is saved and restored, bit for bit.

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

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as arrays and plain values."""
        return {name: _dumped(getattr(self, name)) for name in self.STATE}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly where `state` was taken; this object was made with the same settings."""
        for name in self.STATE:
            setattr(self, name, _loaded(getattr(self, name), state[name], name))
        self.restored()

    def restored(self) -> None:
        """Compute what follows from the state."""


def _dumped(value: Any) -> Any:
    if isinstance(value, Stateful):
        return value.state()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, tuple) and any(isinstance(one, Stateful) for one in value):
        return [_dumped(one) for one in value]
    return value


def _loaded(present: Any, saved: Any, name: str) -> Any:
    """Return what an attribute becomes that now is `present`; raise if `saved` is of another kind."""
    if isinstance(present, Stateful):
        present.restore(_checked(saved, Mapping, name))
        return present
    if isinstance(present, np.random.Generator):
        return _stream(saved, name)
    if isinstance(present, tuple) and any(isinstance(one, Stateful) for one in present):
        for part, one in zip(present, _checked(saved, list, name), strict=True):
            _loaded(part, one, name)
        return present
    if isinstance(present, np.ndarray):
        same = isinstance(saved, np.ndarray) and (saved.ndim, saved.dtype) == (present.ndim, present.dtype)
        if not same:
            raise StateFileError(f"{name}: expected an array of {present.dtype} in {present.ndim} dimensions")
        return saved
    if isinstance(present, bool | str | list | dict):
        return _checked(saved, type(present), name)
    return _checked(saved, int | float, name) if isinstance(present, int | float) else saved


def _checked(saved: Any, kind: Any, name: str) -> Any:
    if not isinstance(saved, kind):
        raise StateFileError(f"{name}: expected {getattr(kind, '__name__', kind)}, got {saved!r:.50}")
    return saved


def _stream(saved: Any, name: str) -> np.random.Generator:
    bits = np.random.PCG64()
    try:
        bits.state = saved
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise StateFileError(f"{name}: is no random stream: {error}") from None
    return np.random.Generator(bits)
