"""Who may write to a state file: one process, and only while the file is the one it opened."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from tailcut.errors import JournalError

_ATTEMPTS = 100
_PARTS = ("", "-wal", "-shm")
"""The files of a database, by what is appended to its name."""

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever its name."""


class Ownership:
    """The lock beside a state file, held by one process and released when that process ends.

    It belongs to the file that a path resolves to, so a symbolic link does not bypass it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = path.resolve()
        self._opened: dict[Path, Identity] = {}
        self._lock: int | None = self._locked(self._real.with_name(self._real.name + "-lock"))

    def _locked(self, beside: Path) -> int:
        for _ in range(_ATTEMPTS):
            try:
                lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise JournalError(f"{self.path}: cannot be written: {error.strerror}") from None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _identity(beside) == _of(os.fstat(lock)):
                    return lock
            except BlockingIOError:
                os.close(lock)
                raise JournalError(f"{self.path}: another process is writing to this state file") from None
            os.close(lock)  # it was removed meanwhile, so others cannot see it
        raise JournalError(f"{self.path}: its lock {beside.name} is removed again and again")

    def make_file(self) -> None:
        """Create the file if missing, readable by its owner only; refuse one with a second name.

        SQLite names the write-ahead log after the database, so under two names there would be two.
        """
        try:
            os.close(os.open(self._real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            if self._real.is_file() and self._real.stat().st_nlink > 1:
                raise JournalError(f"{self.path}: has a second name (a hard link); copy it instead") from None
        except OSError as error:
            raise JournalError(f"{self.path}: unable to open: {error.strerror}") from None

    def remember(self) -> None:
        """Record which files are open."""
        for part in _PARTS:
            place = self._real.with_name(self._real.name + part)
            identity = _identity(place)
            if identity is not None:
                self._opened[place] = identity

    def check(self) -> None:
        """Raise unless the open files are still those at their paths."""
        for place, identity in self._opened.items():
            if _identity(place) != identity:
                raise JournalError(
                    f"{self.path}: {place.name} was removed or replaced while in use; "
                    "put it back, or stop and start again"
                )

    def release(self) -> None:
        """Let others write."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _identity(path: Path) -> Identity | None:
    try:
        return _of(path.stat())
    except OSError:
        return None


def _of(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino
