"""Instance files: compressed ones are read like others, and are uncompressed for programs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tailcut.errors import InputError

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
COMPRESSED = tuple(_OPENERS)
"""Endings of compressed files."""


def read_bytes(path: str | Path, most: int = -1) -> bytes:
    """Return the uncompressed content of a file, at most so many bytes."""
    file = Path(path)
    opener = _OPENERS.get(file.suffix)
    try:
        with file.open("rb") if opener is None else opener(file, "rb") as stream:
            return bytes(stream.read(most))
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}: is not a {file.suffix} file, or is damaged: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def endings(*names: str) -> tuple[str, ...]:
    """Return the patterns of files with these endings, compressed or not.

    >>> endings("cnf")
    ('*.cnf', '*.cnf.gz', '*.cnf.xz', '*.cnf.bz2')
    """
    return tuple(f"*.{name}{packed}" for name in names for packed in ("", *COMPRESSED))


class ScratchFile:
    """A temporary file that disappears with the process, even if it is killed: it has no name.

    A program that is started with `pass_fds=[scratch.descriptor]` reads and writes it by `path`.

    >>> with ScratchFile(b"abc") as scratch:
    ...     scratch.read()
    b'abc'
    """

    def __init__(self, content: bytes = b"") -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="tailcut-")  # noqa: SIM115 - closed by __exit__
        self._file.write(content)
        self._file.flush()
        self._file.seek(0)
        self.descriptor = self._file.fileno()
        self.path = f"/dev/fd/{self.descriptor}"

    def read(self) -> bytes:
        """Return what is in it."""
        self._file.seek(0)
        return self._file.read()

    def __enter__(self) -> ScratchFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
