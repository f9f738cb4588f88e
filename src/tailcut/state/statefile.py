"""Nested values with arrays, as bytes with a checksum.

A state is a dict of plain JSON values, numpy arrays, and lists and dicts of these. Its bytes are a line that
names format and version, a line with the SHA-256 of the rest, the tree as JSON, and the raw arrays. Nothing
is unpickled, and nothing is parsed before the checksum is verified.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.errors import StateFileError

VERSION = 7
"""The format that is written, and the only one that is read: earlier ones were never released."""
_MAGIC = b"TAILCUT STATE "
_DTYPES = {"<f8", "<i8", "<i4", "|u1", "|b1"}


def pack(state: dict[str, Any]) -> bytes:
    """Return `state` as bytes.

    >>> unpack(pack({"a": np.arange(2.0), "b": {"c": [1, "x", None]}}))
    {'a': array([0., 1.]), 'b': {'c': [1, 'x', None]}}
    """
    arrays: list[np.ndarray[Any, Any]] = []
    tree = json.dumps(_lift(state, arrays), allow_nan=False).encode()
    # Arrays may take tens of megabytes: they are copied only once, at the end.
    body: list[bytes | memoryview] = [
        len(tree).to_bytes(8, "little"),
        tree,
        *(array.reshape(-1).data for array in arrays),
    ]
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    head = _MAGIC + str(VERSION).encode() + b"\n" + digest.hexdigest().encode() + b"\n"
    return b"".join([head, *body])


def unpack(data: bytes) -> dict[str, Any]:
    """Return the state that `pack` turned into `data`, or raise `StateFileError`."""
    first, _, rest = data.partition(b"\n")
    if not first.startswith(_MAGIC):
        raise StateFileError("not a Tailcut state: the first line does not say so")
    version = first.removeprefix(_MAGIC).decode("ascii", "replace")
    if version != str(VERSION):
        raise StateFileError(f"state format {version!r} is not known to this Tailcut, which reads {VERSION}")
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise StateFileError("the state is damaged: its checksum does not match its content")
    size = int.from_bytes(body[:8], "little")
    tree: dict[str, Any] = _lower(_parsed(body[8 : 8 + size]), _Reader(body, 8 + size))
    return tree


def _parsed(tree: bytes) -> Any:
    try:
        return json.loads(tree, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise StateFileError(f"the state is not a tree of values: {error}") from None


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
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    """Make the new name durable, if the system can sync a directory."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lift(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """Return `value` with its arrays moved to `arrays` and described in their place."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        kind = array.dtype.newbyteorder("<").str
        if kind not in _DTYPES:
            raise StateFileError(f"arrays of type {array.dtype} have no place in a state")
        arrays.append(array.astype(kind, copy=False))
        return {"__array__": kind, "shape": list(array.shape)}
    if isinstance(value, dict):
        return {key: _lift(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lift(item, arrays) if isinstance(item, _NESTED) else item for item in value]
    return value


_NESTED = (dict, list, tuple, np.ndarray)


class _Reader:
    """Reads arrays from the body, one after the other."""

    def __init__(self, body: bytes, offset: int) -> None:
        self.body = body
        self.offset = offset

    def take(self, kind: str, shape: list[int]) -> np.ndarray[Any, Any]:
        if kind not in _DTYPES:
            raise StateFileError(f"array type {kind!r} has no place in a state")
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(self.body, dtype, count, self.offset).reshape(shape)
        self.offset += count * dtype.itemsize
        return array.copy()


def _lower(value: Any, reader: _Reader) -> Any:
    """Return `value` with its arrays put back in."""
    if isinstance(value, dict):
        if "__array__" in value:
            return reader.take(value["__array__"], value["shape"])
        return {key: _lower(item, reader) for key, item in value.items()}
    if isinstance(value, list):
        return [_lower(item, reader) if isinstance(item, dict | list) else item for item in value]
    return value
