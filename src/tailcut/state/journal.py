"""The journal: one SQLite file of projects, to which events are only ever added.

An event is durable before `append` returns: write-ahead log with synchronous FULL, so neither a killed
process nor a power cut loses it. One process writes at a time; any number may read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.errors import JournalError

FORMAT = 1
_APPLICATION = 0x7A11C0D  # written into the file's header, so that a foreign database is recognised

_SCHEMA = (
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
        body TEXT NOT NULL           -- JSON
    )""",
    "CREATE INDEX events_of_project ON events (project, number)",
    """CREATE TABLE snapshots (
        project INTEGER PRIMARY KEY REFERENCES projects (number),
        event INTEGER NOT NULL,      -- the last event that the state holds
        state BLOB NOT NULL
    )""",
)

_MIGRATIONS: dict[int, tuple[str, ...]] = {0: _SCHEMA}
"""Format of a file -> the statements that take it to the next format."""


class Event(NamedTuple):
    """One step of a project, as it was written down."""

    number: int
    at: float
    """When, in seconds since 1970."""
    kind: str
    body: dict[str, Any]


class Journal:
    """A journal file, open for writing by this process alone, or for reading.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(Path(folder.name) / "state.db") as journal:
    ...     sat = journal.create("sat", {"selector": "tailcut"})
    ...     _ = journal.append(sat, [("select", {"instance": "i1"})])
    ...     [(event.kind, event.body) for event in journal.events(sat)]
    [('select', {'instance': 'i1'})]
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._lock: int | None = None
        if read_only and not self.path.is_file():
            raise JournalError(f"{self.path}: there is no such state file")
        try:
            if not read_only:
                self._take_lock()
            with self._errors_told():
                self._db = self._open(read_only)
                self._prepare(read_only)
        except BaseException:
            self._release_lock()
            raise

    def _open(self, read_only: bool) -> sqlite3.Connection:
        where = f"{self.path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
        return sqlite3.connect(where, uri=True, timeout=30.0, isolation_level=None, check_same_thread=False)

    def _take_lock(self) -> None:
        """Make sure that no other process writes; a lock of a process that died is gone with it."""
        beside = self.path.with_name(self.path.name + "-lock")
        try:
            self._lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(f"{self.path}: another process is writing to this state file") from None
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be written: {error.strerror}") from None

    def _release_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _prepare(self, read_only: bool) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and (tables or application or read_only):
            raise JournalError(f"{self.path}: is a database, but not a state file of Tailcut")
        if version > FORMAT:
            raise JournalError(f"{self.path}: state format {version} is newer than this Tailcut's {FORMAT}")
        if read_only and version < FORMAT:
            raise JournalError(f"{self.path}: state format {version} is old; open it for writing once")
        if not read_only:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            for step in range(version, FORMAT):
                self._migrate(step)

    def _migrate(self, version: int) -> None:
        with self._transaction():
            for statement in _MIGRATIONS[version]:
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {version + 1}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write all or nothing."""
        with self._errors_told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # some errors have rolled it back already
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _errors_told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(f"{self.path}: {error}", full="disk is full" in str(error)) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others write."""
        self._db.close()
        self._release_lock()

    def create(self, name: str, description: dict[str, Any]) -> int:
        """Begin a project and return its number."""
        if name in self.projects():
            raise JournalError(f"{self.path}: there is a project {name!r} already")
        with self._transaction():
            values = (name, time.time(), json.dumps(description, allow_nan=False))
            cursor = self._db.execute(
                "INSERT INTO projects (name, created, description) VALUES (?, ?, ?)", values
            )
        return int(cursor.lastrowid or 0)

    def projects(self) -> dict[str, int]:
        """Return the numbers of the projects, by name, in the order of their creation."""
        with self._errors_told():
            return dict(self._db.execute("SELECT name, number FROM projects ORDER BY number").fetchall())

    def description(self, project: int) -> dict[str, Any]:
        """Return what was said when the project was created."""
        query = "SELECT description FROM projects WHERE number = ?"
        with self._errors_told():
            (text,) = self._db.execute(query, (project,)).fetchone()
        described: dict[str, Any] = json.loads(text)
        return described

    def append(self, project: int, events: Iterable[tuple[str, dict[str, Any]]]) -> int:
        """Write events, all or none, and return the number of the last; they are on disk then."""
        now = time.time()
        rows = [(project, now, kind, json.dumps(body, allow_nan=False)) for kind, body in events]
        number = 0
        with self._transaction():
            for row in rows:
                cursor = self._db.execute(
                    "INSERT INTO events (project, at, kind, body) VALUES (?, ?, ?, ?)", row
                )
                number = int(cursor.lastrowid or 0)
        return number

    def events(self, project: int, after: int = 0) -> Iterator[Event]:
        """Yield the events of a project behind number `after`, oldest first."""
        query = "SELECT number, at, kind, body FROM events WHERE project = ? AND number > ? ORDER BY number"
        with self._errors_told():
            for number, at, kind, body in self._db.execute(query, (project, after)):
                yield Event(number, at, kind, json.loads(body))

    def keep_snapshot(self, project: int, event: int, state: bytes) -> None:
        """Keep what a project had become by an event, in place of the snapshot before."""
        with self._transaction():
            self._db.execute("REPLACE INTO snapshots VALUES (?, ?, ?)", (project, event, state))

    def snapshot(self, project: int) -> tuple[int, bytes] | None:
        """Return the last event held by the project's snapshot, and the snapshot; None if there is none."""
        query = "SELECT event, state FROM snapshots WHERE project = ?"
        with self._errors_told():
            row: tuple[int, bytes] | None = self._db.execute(query, (project,)).fetchone()
        return row
