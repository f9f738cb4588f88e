"""The content of an instance's file: if a file changes, it is another instance."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.errors import InputError
from tailcut.live.printable import printable


class FileContent(NamedTuple):
    """A file's digest, with its size and date, which show without reading it whether it has changed."""

    sha256: str
    size: int
    modified: int
    """Nanoseconds since 1970."""

    @staticmethod
    def of(path: Path) -> FileContent:
        """Read a file, unless it was read before and has not changed since."""
        try:
            found = path.stat()
            digest = _digest(path, found.st_size, found.st_mtime_ns)
        except OSError as error:
            raise InputError(f"{printable(str(path))}: cannot be read: {error.strerror}") from None
        return FileContent(digest, found.st_size, found.st_mtime_ns)

    @staticmethod
    def read(given: dict[str, Any] | None) -> FileContent | None:
        """Return what `_asdict` made of one."""
        return None if given is None else FileContent(**given)

    def is_in(self, path: Path) -> bool:
        """Return whether a file still has this content; a file of the same size and date is not read."""
        try:
            found = path.stat()
        except OSError:
            return False
        if (found.st_size, found.st_mtime_ns) == (self.size, self.modified):
            return True
        return found.st_size == self.size and FileContent.of(path).sha256 == self.sha256


@lru_cache(maxsize=256)
def _digest(path: Path, size: int, modified: int) -> str:  # noqa: ARG001 - they make it another file
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
