"""The SQLite file of a journal: its tables, the writer's lock, transactions, and Tailcut's own errors.

Write-ahead log with synchronous FULL, so neither a killed process nor a power cut loses what was committed.
One process writes at a time; any number may read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

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
MOST_UNWRITTEN = 250_000
"""Letters of the events that wait within a transaction before they are written."""
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
        base INTEGER NOT NULL,       -- 1: the history begins here; 0: the latest
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

_UNIQUE_DECISIONS = """CREATE UNIQUE INDEX IF NOT EXISTS events_by_decision
    ON events (project, decision, kind = 'observe') WHERE decision IS NOT NULL"""
"""Each decision is made once and observed once, whichever process writes."""
_INSERT = "INSERT INTO events (number, project, at, kind, body, key, decision) VALUES (?, ?, ?, ?, ?, ?, ?)"
_BODY = 3
"""Its place in a row without a number."""


class Database:
    """A state file, open for writing by this process only, or for reading.

    What is written within `together` is one transaction, durable when the block ends.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, repairing: bool = False
    ) -> None:
        self.path = Path(path)
        self._undo: list[Callable[[], None]] | None = None
        """Within `together`: what to call if the events are lost."""
        self._beforehand: list[Callable[[], None]] = []
        """What to call before they are committed."""
        self._afterwards: list[Callable[[], None]] = []
        """What to call when they are on disk."""
        self._failure: JournalError | None = None
        self._unwritten = _UnwrittenEvents()
        self.taken_over = False
        """Whether another process has opened the file for writing since: then this one may no longer
        write."""
        self._session = secrets.token_hex(16)
        self._ownership: Ownership | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if read_only:
            self._db = self._open_to_read()
        else:
            self._db = self._open_to_write(repairing)

    def _open_to_read(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise JournalError(f"{self.path}: there is no such state file")
        with self.translated_errors():
            db, self._copy = connect_to_read(self.path)
            with closed_on_error(db):
                check_format(self.path, db)
            return db

    def _open_to_write(self, repairing: bool) -> sqlite3.Connection:
        ownership = self._ownership = Ownership(self.path)
        try:
            ownership.make_file()
            with self.translated_errors():
                self._db = connect(self.path, "rw")
                with closed_on_error(self._db):
                    self._prepare(repairing)
            ownership.remember()
        except BaseException:
            ownership.release()
            raise
        return self._db

    def _prepare(self, repairing: bool) -> None:
        """Initialise the file if it is new, and record this process as its writer."""
        empty = _is_empty(self._db)
        if not empty:
            check_format(self.path, self._db)
        self._db.execute(f"PRAGMA page_size = {PAGE}")  # a file that is not new keeps its own
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if empty:
                _create(self._db)
            if not repairing:
                self.make_unique()
            self._db.execute("REPLACE INTO writer (one, session) VALUES (1, ?)", (self._session,))
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def make_unique(self) -> None:
        """Enforce that each decision is in the file only once; raise if one is in it twice."""
        try:
            self._db.execute(_UNIQUE_DECISIONS)
        except sqlite3.IntegrityError:
            raise JournalError(
                f"{self.path}: two processes have written to this state file at the same time, so some "
                f"decisions are in it twice: 'tailcut state repair {self.path}' keeps all that is intact"
            ) from None

    def _begin(self) -> None:
        """Begin to write; raise if another process has opened the file for writing since."""
        self._db.execute("BEGIN IMMEDIATE")
        if self._db.execute("SELECT session FROM writer").fetchone() != (self._session,):
            self._roll_back()
            self.taken_over = True
            raise JournalError(
                f"{self.path}: another process has taken this state file over; stop and start again"
            )

    def check_in_place(self) -> None:
        """Raise unless the open file is still the one at its path."""
        if self._ownership is not None:
            self._ownership.check()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, within `together` as part of its transaction."""
        with self.together(), self._noticed():
            if not self._db.in_transaction:
                self._begin()
            self._unwritten.write(self._db)
            self._unwritten.last = None  # the block may change the table
            yield self._db

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # some errors have rolled it back already
            self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _noticed(self) -> Iterator[None]:
        """Remember that a write failed: the whole transaction is then unreliable."""
        if self._failure is not None:
            raise self._failure
        try:
            with self.translated_errors():
                yield
        except JournalError as error:
            self._failure = error
            raise

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write everything that is appended in this block as one transaction, durable when it ends.

        If it cannot be written, nothing is, and `JournalError` is raised at the end of the block at the
        latest. A nested block is part of the outer one.
        """
        if self._undo is not None:
            yield
            return
        self._undo, self._failure = [], None
        try:
            yield
            while self._beforehand:
                self._beforehand.pop()()
            self._commit()
        except BaseException:
            self._unwritten.clear()
            self._roll_back()
            for undo in self._undo:
                undo()
            self._beforehand.clear()
            self._afterwards.clear()
            raise
        finally:
            self._undo, self._failure = None, None
            self._unwritten.clear()
        while self._afterwards:
            self._afterwards.pop()()

    @contextlib.contextmanager
    def as_of_now(self) -> Iterator[None]:
        """Read a consistent snapshot of the file in this block, whatever another process writes."""
        with self.translated_errors():
            self._db.execute("BEGIN")
            try:
                self._db.execute("SELECT 1 FROM projects LIMIT 1").fetchone()  # from here on
                yield
            finally:
                self._roll_back()

    def _commit(self) -> None:
        if self._failure is not None:
            raise self._failure
        with self.translated_errors():
            if self._db.in_transaction:  # not if nothing was written
                self._unwritten.write(self._db)
                self._db.execute("COMMIT")
        self.check_in_place()

    def if_lost(self, undo: Callable[[], None]) -> None:
        """Call `undo` if the current transaction is lost."""
        if self._undo is not None and undo not in self._undo:
            self._undo.append(undo)

    def beforehand(self, work: Callable[[], None]) -> None:
        """Call `work` before the current transaction is committed; at once if there is none."""
        self._once(self._beforehand, work)

    def afterwards(self, work: Callable[[], None]) -> None:
        """Call `work` as soon as the current transaction is on disk; at once if there is none."""
        self._once(self._afterwards, work)

    def _once(self, waiting: list[Callable[[], None]], work: Callable[[], None]) -> None:
        if self._undo is None:
            work()
        elif work not in waiting:
            waiting.append(work)

    @contextlib.contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into Tailcut's."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._translated(error) from error
        except UnicodeDecodeError as error:  # of a damaged name in a message of SQLite
            raise JournalError(f"{self.path}: is damaged: {error.reason}") from error

    def _translated(self, error: sqlite3.Error) -> JournalError:
        what = "is no state file: " if "not a database" in str(error) else ""
        return JournalError(f"{self.path}: {what}{error}", full="disk is full" in str(error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()
        if self._ownership is not None:
            self._ownership.release()
        if self._copy is not None:
            self._copy.cleanup()

    def insert(self, events: Iterable[tuple[Any, ...]]) -> int:
        """Write events, which are rows without a number, all or none, and return the number of the last."""
        if self._undo is None:
            with self.together():
                return self.insert(events)
        # Like `_noticed`, but inlined for speed.
        if self._failure is not None:
            raise self._failure
        try:
            if not self._db.in_transaction:
                self._begin()
            return self._unwritten.add(self._db, events)
        except sqlite3.Error as error:
            self._failure = self._translated(error)
            raise self._failure from error
        except JournalError as error:
            self._failure = error
            raise

    def each(self, query: str, *values: Any) -> Iterator[Any]:
        """Yield the rows of a query, those of events that wait to be written among them."""
        if self._unwritten.rows:
            with self._noticed():
                self._unwritten.write(self._db)
        with self.translated_errors():
            yield from self._db.execute(query, values)

    def rows(self, query: str, *values: Any) -> list[Any]:
        return list(self.each(query, *values))


class Ownership:
    """The lock beside a state file, held by one process and released when that process ends.

    It belongs to the file that a path resolves to, so a symbolic link does not bypass it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = path.resolve()
        self._opened: dict[Path, tuple[int, int] | None] = {}
        self._lock: int | None = self._locked(self._real.with_name(self._real.name + "-lock"))

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
                raise JournalError(
                    f"{self.path}: {place.name} was removed or replaced while in use; "
                    "put it back, or stop and start again"
                )

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _identity(file: Path | int) -> tuple[int, int] | None:
    """Return device and inode: what a file is, whatever its name."""
    try:
        found = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _UnwrittenEvents:
    """Events of the current transaction that are numbered as SQLite would, but not in SQLite yet.

    Written one right after the other, they take less time than one by one between other work.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self._letters = 0
        self.last: int | None = None
        """The number of the latest event; None if it is to be looked up."""

    def add(self, db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> int:
        """Give numbers to events, which are rows without one, and return the last number."""
        last = self.last
        if last is None:
            ((last,),) = db.execute("SELECT coalesce(max(number), 0) FROM events")
        for row in rows:
            last += 1
            self.rows.append((last, *row))
            self._letters += len(row[_BODY])
        self.last = last
        if self._letters > MOST_UNWRITTEN:
            self.write(db)
        return last

    def write(self, db: sqlite3.Connection) -> None:
        if self.rows:
            rows, self.rows, self._letters = self.rows, [], 0
            db.executemany(_INSERT, rows)


def connect(path: Path, mode: str, more: str = "") -> sqlite3.Connection:
    """Open a file without touching it: 'ro' to read, 'rw' to write."""
    where = f"{path.absolute().as_uri()}?mode={mode}{more}"
    return sqlite3.connect(
        where, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


@contextlib.contextmanager
def closed_on_error(db: sqlite3.Connection) -> Iterator[None]:
    """Close a connection if the block raises: Python 3.13 and newer warn of one that is forgotten."""
    try:
        yield
    except BaseException:
        db.close()
        raise


def connect_to_read(path: Path) -> tuple[sqlite3.Connection, tempfile.TemporaryDirectory[str] | None]:
    """Open a file for reading, even if its folder cannot be written.

    To read while another process writes, SQLite needs a shared-memory file in the same folder. If it cannot
    be created, no process writes either, so the file itself is read, or a copy if there is a log to apply.
    """
    db = connect(path, "ro")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        if not re.search("unable to open|readonly|read-only", str(error)) or not path.is_file():
            raise
        real = path.resolve()
        log = real.with_name(real.name + "-wal")
        try:
            if log.is_file() and log.stat().st_size:
                folder = tempfile.TemporaryDirectory(prefix="tailcut-")
                for file in (real, log):
                    shutil.copyfile(file, Path(folder.name) / file.name)
                return connect(Path(folder.name) / real.name, "rw"), folder
        except OSError as reason:
            raise JournalError(f"{path}: cannot be read: {reason.strerror}") from None
        return connect(real, "ro", "&immutable=1"), None
    except BaseException:
        db.close()
        raise
    return db, None


def check_format(path: Path, db: sqlite3.Connection) -> None:
    """Raise unless a file is a state file of this format."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise JournalError(f"{path}: is a database, but not a state file of Tailcut")
    if version > FORMAT:
        raise JournalError(f"{path}: state format {version} is newer than this Tailcut's {FORMAT}")
    if version < FORMAT:
        raise JournalError(
            f"{path}: state format {version} is from before the first release and is not read any more; "
            f"this Tailcut reads and writes format {FORMAT}"
        )


def _is_empty(db: sqlite3.Connection) -> bool:
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    return not tables and not application


def _create(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
