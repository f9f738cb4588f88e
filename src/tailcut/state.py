"""The state of a selector as bytes, with a checksum and without pickle.

`Stateful` objects declare once which attributes hold what they have learned. `pack` turns a state, a dict of
plain JSON values, numpy arrays, and lists and dicts of these, into bytes: a line that names format and
version, a line with the SHA-256 of the rest, the tree as JSON, and the raw arrays. Nothing is unpickled, and
nothing is parsed before the checksum is verified.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from tailcut.errors import StateFileError

GIANT = 1e160
"""An upper bound on learned values: features count as at most 1e150."""
VERSION = 7
"""The format that is written, and the only one that is read: earlier ones were never released."""
_MAGIC = b"TAILCUT STATE "
_DTYPES = {"<f8", "<i8", "<i4", "|u1", "|b1"}


class Stateful:
    """An object whose state is saved and restored bit for bit.

    An attribute in `STATE` may be a number, a text, an array, a list or a mapping of these, a random stream,
    another `Stateful`, or several of them. An attribute that is saved in another form is a property with a
    setter. What can be derived from the others is not listed, but computed again in `restored`.

    >>> class Count(Stateful):
    ...     STATE = ("total", "stream")
    ...
    ...     def __init__(self):
    ...         self.total, self.stream = 0, np.random.default_rng(0)
    >>> count, copy = Count(), Count()
    >>> count.total, _ = 7, count.stream.random()
    >>> copy.restore(count.state())
    >>> copy.total, copy.stream.random() == count.stream.random()
    (7, True)
    """

    STATE: ClassVar[tuple[str, ...]] = ()
    """The attributes that hold what was learned."""
    GROWING: ClassVar[tuple[str, ...]] = ()
    """Those whose length depends on what was learned; all others are as long as in a new object."""
    SAVED_AS: ClassVar[Mapping[str, str]] = {}
    """The names in saved states of attributes that were renamed since."""

    def state(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and plain values."""
        return {self.SAVED_AS.get(name, name): _dumped(getattr(self, name)) for name in self.STATE}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly where `state` was taken; this object was made with the same settings."""
        for name in self.STATE:
            saved = state[self.SAVED_AS.get(name, name)]
            setattr(self, name, _loaded(getattr(self, name), saved, name, growing=name in self.GROWING))
        self.restored()

    def restored(self) -> None:
        """Compute what follows from the state; raise `StateFileError` if it is inconsistent."""


def _dumped(value: Any) -> Any:
    if isinstance(value, Stateful):
        return value.state()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, tuple) and any(isinstance(part, Stateful) for part in value):
        return [_dumped(part) for part in value]
    return value


def _loaded(present: Any, saved: Any, name: str, *, growing: bool) -> Any:
    """Return the new value of an attribute that is now `present`; raise if `saved` is of another kind."""
    if isinstance(present, Stateful):
        present.restore(_checked(saved, Mapping, name))
        return present
    if isinstance(present, np.random.Generator):
        return _stream(saved, name)
    if isinstance(present, tuple) and any(isinstance(part, Stateful) for part in present):
        fine = isinstance(saved, list) and len(saved) == len(present)
        expect(fine, f"{name}: expected {len(present)} parts")
        return tuple(
            _loaded(part, item, name, growing=growing) for part, item in zip(present, saved, strict=True)
        )
    if isinstance(present, np.ndarray):
        return _array(present, saved, name, growing=growing)
    if isinstance(present, list) and isinstance(saved, list):
        expect(growing or len(present) == len(saved), f"{name}: expected {len(present)} values")
    if isinstance(present, bool | str | list | dict):
        return _checked(saved, type(present), name)
    if isinstance(present, int | float):
        return _number(present, saved, name)
    expect(present is not None or saved is None, f"{name}: expected nothing, got {saved!r:.50}")
    return saved


def _array(present: Any, saved: Any, name: str, *, growing: bool) -> Any:
    shape = f"in {present.ndim} dimensions" if growing else f"of shape {present.shape}"
    fine = isinstance(saved, np.ndarray) and saved.dtype == present.dtype and saved.ndim == present.ndim
    fine = fine and (growing or saved.shape == present.shape)
    expect(fine, f"{name}: expected an array of {present.dtype} {shape}")
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


def pack(state: dict[str, Any]) -> bytes:
    """Return `state` as bytes.

    >>> unpack(pack({"a": np.arange(2.0), "b": {"c": [1, "x", None]}}))
    {'a': array([0., 1.]), 'b': {'c': [1, 'x', None]}}
    """
    body, digest = _body(state), hashlib.sha256()
    for part in body:
        digest.update(part)
    return b"".join([_head(digest.hexdigest()), *body])


def pieces(state: dict[str, Any], size: int) -> Iterator[bytes | memoryview]:
    """Return what `pack` returns, in pieces, some of them empty; later changes of `state` do not matter.

    Each takes little time: an empty one was spent on the checksum.
    """
    return _pieces(memoryview(b"".join(_body(state))), size)


def _pieces(body: memoryview, size: int) -> Iterator[bytes | memoryview]:
    digest = hashlib.sha256()
    for start in range(0, len(body), size):
        digest.update(body[start : start + size])
        yield b""
    yield _head(digest.hexdigest())
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _head(digest: str) -> bytes:
    return _MAGIC + str(VERSION).encode() + b"\n" + digest.encode() + b"\n"


def _body(state: dict[str, Any]) -> list[bytes | memoryview]:
    arrays: list[np.ndarray[Any, Any]] = []
    tree = json.dumps(_lift(state, arrays), allow_nan=False).encode()
    # Arrays may take tens of megabytes: they are copied only once, at the end.
    return [len(tree).to_bytes(8, "little"), tree, *(array.reshape(-1).data for array in arrays)]


def unpack(data: bytes) -> dict[str, Any]:
    """Return the state that `pack` turned into `data`, or raise `StateFileError`."""
    first, _, rest = data.partition(b"\n")
    expect(first.startswith(_MAGIC), "not a Tailcut state: the first line does not say so")
    version = first.removeprefix(_MAGIC).decode("ascii", "replace")
    known = version == str(VERSION)
    expect(known, f"state format {version!r} is not known to this Tailcut, which reads {VERSION}")
    digest, _, body = rest.partition(b"\n")
    intact = hashlib.sha256(body).hexdigest().encode() == digest
    expect(intact, "the state is damaged: its checksum does not match its content")
    size = int.from_bytes(body[:8], "little")
    try:
        tree = json.loads(body[8 : 8 + size], parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise StateFileError(f"the state is not a tree of values: {error}") from None
    state: dict[str, Any] = _lower(tree, BytesIO(body[8 + size :]))
    return state


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path` atomically: a crash leaves the old file or the new one, never a mixture."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if data.startswith(_MAGIC):
            unpack(Path(temporary).read_bytes())  # raises if it would replace a good state by a bad one
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    with contextlib.suppress(OSError):  # make the new name durable, if the system can sync a directory
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lift(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """Return `value` with its arrays moved to `arrays` and described in their place."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        kind = array.dtype.newbyteorder("<").str
        expect(kind in _DTYPES, f"arrays of type {array.dtype} have no place in a state")
        arrays.append(array.astype(kind, copy=False))
        return {"__array__": kind, "shape": list(array.shape)}
    if isinstance(value, dict):
        return {key: _lift(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lift(item, arrays) if isinstance(item, _NESTED) else item for item in value]
    return value


_NESTED = (dict, list, tuple, np.ndarray)


def _read_array(body: BinaryIO, kind: str, shape: list[int]) -> np.ndarray[Any, Any]:
    expect(kind in _DTYPES, f"array type {kind!r} has no place in a state")
    dtype = np.dtype(kind)
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(body.read(count * dtype.itemsize), dtype, count).reshape(shape).copy()


def _lower(value: Any, body: BinaryIO) -> Any:
    """Return `value` with its arrays, which follow each other in the body, put back in."""
    if isinstance(value, dict):
        if "__array__" in value:
            return _read_array(body, value["__array__"], value["shape"])
        return {key: _lower(item, body) for key, item in value.items()}
    if isinstance(value, list):
        return [_lower(item, body) if isinstance(item, dict | list) else item for item in value]
    return value
