"""The SQLite file of a journal: its tables, how it is opened, and the lock of the process that writes it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tailcut.errors import JournalError

FORMAT = 4
"""The format that is written, and the only one that is read."""
APPLICATION = 0x7A11C0D
"""Written into the file's header, so that a foreign database is recognised."""
BUSY_SECONDS = 5.0
"""Seconds that a write waits for another process that has the file locked, for example to write a token."""
PAGE = 16 * 1024
"""Bytes of a page in a new file. A decision with 100 features takes 2.5 kB: SQLite's usual pages of 4 kB hold
only one each."""
_LOCK_ATTEMPTS = 100
_PARTS = ("", "-wal", "-shm")
"""The files of a database, by what is appended to its name."""

_TABLES = (
    """CREATE TABLE projects (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        created REAL NOT NULL,       -- seconds since 1970
        description TEXT NOT NULL    -- JSON: how its selector is made
    )""",
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,  -- in the order of writing, over all projects
        project INTEGER NOT NULL REFERENCES projects (number),
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,          -- JSON
        key TEXT,                    -- a client's own name for its request
        decision INTEGER             -- the decision made, or observed
    )""",
    "CREATE INDEX events_of_project ON events (project, number)",
    "CREATE UNIQUE INDEX events_by_key ON events (project, key, kind) WHERE key IS NOT NULL",
    """CREATE TABLE writer (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        session TEXT NOT NULL        -- who opened the file last to write events: nobody else may
    )""",
    """CREATE TABLE tokens (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        hash TEXT NOT NULL UNIQUE,   -- SHA-256 of the token, in hexadecimal digits
        scopes TEXT NOT NULL,        -- separated by spaces
        created REAL NOT NULL,
        revoked REAL                 -- when; null while it is good
    )""",
    """CREATE TABLE snapshots (
        project INTEGER NOT NULL REFERENCES projects (number),
        base INTEGER NOT NULL,       -- 1: the history begins here; 0 or 2: the latest
        event INTEGER NOT NULL,      -- the last event that it holds
        digest TEXT NOT NULL,        -- SHA-256 of all pieces, in hexadecimal digits
        PRIMARY KEY (project, base)
    )""",
    """CREATE TABLE pieces (
        project INTEGER NOT NULL,
        base INTEGER NOT NULL,
        part INTEGER NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (project, base, part)
    )""",
)

UNIQUE_DECISIONS = """CREATE UNIQUE INDEX IF NOT EXISTS events_by_decision
    ON events (project, decision, kind = 'observe') WHERE decision IS NOT NULL"""
"""Each decision is made once and observed once, whichever process writes."""


@contextlib.contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into Tailcut's."""
    try:
        yield
    except sqlite3.Error as error:
        what = "is no state file: " if "not a database" in str(error) else ""
        raise JournalError(f"{path}: {what}{error}", full="disk is full" in str(error)) from error
    except UnicodeDecodeError as error:  # of a damaged name in a message of SQLite
        raise JournalError(f"{path}: is damaged: {error.reason}") from error


def connect(path: Path, mode: str, opened: contextlib.ExitStack, more: str = "") -> sqlite3.Connection:
    """Open a file without touching it, 'ro' to read, 'rw' to write; `opened` closes it."""
    where = f"{path.absolute().as_uri()}?mode={mode}{more}"
    db = sqlite3.connect(where, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    return opened.enter_context(contextlib.closing(db))


def connect_to_read(path: Path, opened: contextlib.ExitStack) -> sqlite3.Connection:
    """Open a file for reading, even if its folder cannot be written; `opened` closes it.

    If SQLite cannot make its shared-memory file there, no process writes either, so the file itself is read,
    or a copy if there is a log to apply.
    """
    db = connect(path, "ro", opened)
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        if not re.search("unable to open|readonly|read-only", str(error)) or not path.is_file():
            raise
    else:
        return db
    real = path.resolve()
    log = real.with_name(real.name + "-wal")
    try:
        if not log.is_file() or not log.stat().st_size:
            return connect(real, "ro", opened, "&immutable=1")
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="tailcut-")))
        for file in (real, log):
            shutil.copyfile(file, folder / file.name)
        return connect(folder / real.name, "rw", opened)
    except OSError as reason:
        raise JournalError(f"{path}: cannot be read: {reason.strerror}") from None


def check_format(path: Path, db: sqlite3.Connection) -> None:
    """Raise unless a file is a state file of this format."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise JournalError(f"{path}: is a database, but not a state file of Tailcut")
    if version > FORMAT:
        raise JournalError(f"{path}: state format {version} is newer than this Tailcut's {FORMAT}")
    if version < FORMAT:
        words = f"state format {version} is from before the first release and is not read any more"
        raise JournalError(f"{path}: {words}; this Tailcut reads and writes format {FORMAT}")


def create(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {FORMAT}")


class Ownership:
    """The lock beside a state file, held by one process until `opened` closes or that process ends.

    It belongs to the file that a path resolves to, so a symbolic link does not bypass it.
    """

    def __init__(self, path: Path, opened: contextlib.ExitStack) -> None:
        self.path = path
        self._real = path.resolve()
        self._opened: dict[Path, tuple[int, int] | None] = {}
        opened.callback(os.close, self._locked(self._real.with_name(self._real.name + "-lock")))

    def _locked(self, beside: Path) -> int:
        for _ in range(_LOCK_ATTEMPTS):
            try:
                lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise JournalError(f"{self.path}: cannot be written: {error.strerror}") from None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _identity(beside) == _identity(lock):
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
        places = [self._real.with_name(self._real.name + part) for part in _PARTS]
        self._opened = {place: _identity(place) for place in places if place.exists()}

    def check(self) -> None:
        """Raise unless the open files are still those at their paths."""
        for place, identity in self._opened.items():
            if _identity(place) != identity:
                words = "was removed or replaced while in use; put it back, or stop and start again"
                raise JournalError(f"{self.path}: {place.name} {words}")


def _identity(file: Path | int) -> tuple[int, int] | None:
    """Return device and inode: what a file is, whatever its name."""
    try:
        found = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
