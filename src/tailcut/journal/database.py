"""The SQLite file of a journal: the writer's lock, transactions, and Tailcut's own errors.

Write-ahead log with synchronous FULL, so neither a killed process nor a power cut loses what was committed.
One process writes at a time; any number may read.
"""

from __future__ import annotations

import contextlib
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
from tailcut.journal.ownership import Ownership
from tailcut.journal.schema import APPLICATION, FORMAT, UNIQUE_DECISIONS, create
from tailcut.journal.unwritten import UnwrittenEvents

BUSY_SECONDS = 5.0
"""Seconds that a write waits for another process that has the file locked, for example to write a token."""
PAGE = 16 * 1024
"""Bytes of a page in a new file. A decision with 100 features takes 2.5 kB: SQLite's usual pages of 4 kB hold
only one each."""


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
        self._unwritten = UnwrittenEvents()
        self.taken_over = False
        """Whether another process has opened the file for writing since: then this one may no longer
        write."""
        self._session = secrets.token_hex(16)
        self._ownership: Ownership | None = None
        self._copy: ReadableCopy | None = None
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
                create(self._db)
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
            self._db.execute(UNIQUE_DECISIONS)
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
        if self._undo is not None:
            with self._noticed():
                if not self._db.in_transaction:
                    self._begin()
                self._unwritten.write(self._db)
                self._unwritten.renumber()
                yield self._db
            return
        with self.translated_errors():
            self._begin()
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        self.check_in_place()

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
        if self._undo is None:
            work()
        elif work not in self._beforehand:
            self._beforehand.append(work)

    def afterwards(self, work: Callable[[], None]) -> None:
        """Call `work` as soon as the current transaction is on disk; at once if there is none."""
        if self._undo is None:
            work()
        elif work not in self._afterwards:
            self._afterwards.append(work)

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
        """Close the file and let others write."""
        self._db.close()
        if self._ownership is not None:
            self._ownership.release()
        if self._copy is not None:
            self._copy.remove()

    def insert(self, events: Iterable[tuple[Any, ...]]) -> int:
        """Write events, which are rows without a number, all or none, and return the number of the last."""
        if self._undo is not None:
            return self._insert_together(events)
        with self.transaction() as db:
            new = UnwrittenEvents()
            number = new.add(db, events)
            new.write(db)
        return number

    def _insert_together(self, events: Iterable[tuple[Any, ...]]) -> int:
        """Write events within `together`: like `transaction`, but inlined for speed, and not at once."""
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

    def _write_out(self) -> None:
        """Write the events that wait, so that they can be read."""
        if self._unwritten:
            with self._noticed():
                self._unwritten.write(self._db)

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of a query."""
        self._write_out()
        with self.translated_errors():
            return self._db.execute(query, values).fetchall()

    def each(self, query: str, *values: Any) -> Iterator[Any]:
        """Yield the rows of a query."""
        self._write_out()
        with self.translated_errors():
            yield from self._db.execute(query, values)


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


class ReadableCopy:
    """A copy of a state file, for folders that cannot be written."""

    def __init__(self, path: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tailcut-")
        self.path = Path(self._folder.name) / path.name
        for part in ("", "-wal"):
            shutil.copyfile(path.with_name(path.name + part), self.path.with_name(self.path.name + part))

    def remove(self) -> None:
        """Remove it."""
        self._folder.cleanup()


def connect_to_read(path: Path) -> tuple[sqlite3.Connection, ReadableCopy | None]:
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
                copy = ReadableCopy(real)
                return connect(copy.path, "rw"), copy
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
