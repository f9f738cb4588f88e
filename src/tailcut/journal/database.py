"""The SQLite file under a journal: who may write, transactions, and errors in our own words.

Write-ahead log with synchronous FULL, so neither a killed process nor a power cut loses what was committed.
One process writes at a time; any number may read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from tailcut.errors import JournalError
from tailcut.journal.schema import APPLICATION, FORMAT, TABLES

BUSY_SECONDS = 5.0
"""How long a write waits for others that have the file locked, tokens being written for example."""


class Database:
    """A state file, open for writing by this process alone, or for reading.

    What is written within `together` is one transaction, durable when the block ends.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._lock: int | None = None
        self._undo: list[Callable[[], None]] | None = None
        """While events are written together: what to call if they are lost."""
        self._failure: JournalError | None = None
        if read_only and not self.path.is_file():
            raise JournalError(f"{self.path}: there is no such state file")
        try:
            if not read_only:
                self._take_lock()
            with self.translated_errors():
                self._db = connect(self.path, "ro" if read_only else "rwc")
                self._prepare(read_only)
        except BaseException:
            self._release_lock()
            raise

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
        empty = not read_only and _is_empty(self._db)
        if not empty:
            check_format(self.path, self._db)
        if not read_only:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
        if empty:
            self._create()

    def _create(self) -> None:
        with self.transaction() as db:
            for statement in TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {FORMAT}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing; within `together` as a part of that."""
        if self._undo is not None:
            with self._noticed():
                if not self._db.in_transaction:
                    self._db.execute("BEGIN IMMEDIATE")
                yield self._db
            return
        with self.translated_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # some errors have rolled it back already
            self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _noticed(self) -> Iterator[None]:
        """Remember a write that failed: the transaction cannot be trusted any more, whatever its part."""
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

        Where it cannot be written, nothing of it is, and `JournalError` is raised at its end at the latest.
        """
        self._undo, self._failure = [], None
        try:
            yield
            self._commit()
        except BaseException:
            self._roll_back()
            for undo in self._undo:
                undo()
            raise
        finally:
            self._undo, self._failure = None, None

    @contextlib.contextmanager
    def as_of_now(self) -> Iterator[None]:
        """Read in this block what the file holds at its beginning, whatever another process writes."""
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
                self._db.execute("COMMIT")

    def if_lost(self, undo: Callable[[], None]) -> None:
        """Have `undo` called if what is being written together gets lost."""
        if self._undo is not None and undo not in self._undo:
            self._undo.append(undo)

    @contextlib.contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into our own."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def _translated(self, error: sqlite3.Error) -> JournalError:
        return JournalError(f"{self.path}: {error}", full="disk is full" in str(error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others write."""
        self._db.close()
        self._release_lock()

    def insert(self, query: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Write rows, all or none, and return the number of the last."""
        if self._undo is not None:
            return self._insert_together(query, rows)
        with self.transaction() as db:
            return _insert(db, query, rows)

    def _insert_together(self, query: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Write rows within `together`: as `transaction`, but written out, for this is where time goes."""
        if self._failure is not None:
            raise self._failure
        try:
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            return _insert(self._db, query, rows)
        except sqlite3.Error as error:
            self._failure = self._translated(error)
            raise self._failure from error

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return what a query finds."""
        with self.translated_errors():
            return self._db.execute(query, values).fetchall()

    def each(self, query: str, *values: Any) -> Iterator[Any]:
        """Yield what a query finds, row by row."""
        with self.translated_errors():
            yield from self._db.execute(query, values)


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file without touching it: 'ro' to read, 'rw' to write, 'rwc' to make it if need be."""
    where = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(
        where, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


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


def _insert(db: sqlite3.Connection, query: str, rows: Iterable[tuple[Any, ...]]) -> int:
    number = 0
    for row in rows:
        number = int(db.execute(query, row).lastrowid or 0)
    return number
