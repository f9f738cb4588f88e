"""The journal: one SQLite file of projects, to which events are only ever added.

An event is durable before `append` returns: write-ahead log with synchronous FULL, so neither a killed
process nor a power cut loses it. One process writes at a time; any number may read. What is appended
within `together` is one transaction, durable when the block ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tailcut.errors import JournalError
from tailcut.journal.records import Entry, Event, Snapshot, event_of, plain_json
from tailcut.journal.schema import APPLICATION, FORMAT, MIGRATIONS

__all__ = ["Entry", "Event", "Journal", "Snapshot"]

BUSY_SECONDS = 5.0
"""How long a write waits for others that have the file locked, tokens being written for example."""


class Journal:
    """A journal file, open for writing by this process alone, or for reading.

    `encode` turns bodies into JSON; the service has a faster one at hand.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(Path(folder.name) / "state.db") as journal:
    ...     sat = journal.create("sat", {"selector": "tailcut"})
    ...     with journal.together():
    ...         for instance in ("i1", "i2"):
    ...             _ = journal.append(sat, [("select", {"instance": instance})])
    ...     [(event.kind, event.body) for event in journal.events(sat)]
    [('select', {'instance': 'i1'}), ('select', {'instance': 'i2'})]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        encode: Callable[[dict[str, Any]], str] = plain_json,
    ) -> None:
        self.path = Path(path)
        self.encode = encode
        self._lock: int | None = None
        self._undo: list[Callable[[], None]] | None = None
        """While events are written together: what to call if they are lost."""
        self._failure: JournalError | None = None
        if read_only and not self.path.is_file():
            raise JournalError(f"{self.path}: there is no such state file")
        try:
            if not read_only:
                self._take_lock()
            with self.errors_told():
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
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION and (tables or application or read_only):
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
        with self.transaction():
            for statement in MIGRATIONS[version]:
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {version + 1}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing; within `together` as a part of that."""
        if self._undo is not None:
            with self._noticed():
                if not self._db.in_transaction:
                    self._db.execute("BEGIN IMMEDIATE")
                yield self._db
            return
        with self.errors_told():
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
            with self.errors_told():
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
        with self.errors_told():
            self._db.execute("BEGIN")
            try:
                self._db.execute("SELECT 1 FROM projects LIMIT 1").fetchone()  # from here on
                yield
            finally:
                self._roll_back()

    def _commit(self) -> None:
        if self._failure is not None:
            raise self._failure
        with self.errors_told():
            if self._db.in_transaction:  # not if nothing was written
                self._db.execute("COMMIT")

    def if_lost(self, undo: Callable[[], None]) -> None:
        """Have `undo` called if what is being written together gets lost."""
        if self._undo is not None and undo not in self._undo:
            self._undo.append(undo)

    @contextlib.contextmanager
    def errors_told(self) -> Iterator[None]:
        """Turn errors of SQLite into our own."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._told(error) from error

    def _told(self, error: sqlite3.Error) -> JournalError:
        return JournalError(f"{self.path}: {error}", full="disk is full" in str(error))

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
        values = (name, time.time(), plain_json(description))
        with self.transaction() as db:
            cursor = db.execute("INSERT INTO projects (name, created, description) VALUES (?, ?, ?)", values)
        return int(cursor.lastrowid or 0)

    def projects(self) -> dict[str, int]:
        """Return the numbers of the projects, by name, in the order of their creation."""
        return dict(self.rows("SELECT name, number FROM projects ORDER BY number"))

    def description(self, project: int) -> dict[str, Any]:
        """Return what was said when the project was created."""
        ((text,),) = self.rows("SELECT description FROM projects WHERE number = ?", project)
        described: dict[str, Any] = json.loads(text)
        return described

    def created(self, project: int) -> float:
        """Return when a project was created, in seconds since 1970."""
        ((at,),) = self.rows("SELECT created FROM projects WHERE number = ?", project)
        return float(at)

    def append(
        self,
        project: int,
        events: Iterable[Entry | tuple[str, dict[str, Any]]],
        *,
        at: float | None = None,
    ) -> int:
        """Write events, all or none, and return the number of the last.

        They are on disk then; within `together`, when that ends.
        """
        when = time.time() if at is None else at
        entries = [Entry(*given) for given in events]
        rows = [(project, when, one.kind, self.encode(one.body), one.key, one.decision) for one in entries]
        if self._undo is not None:
            return self._append_to_group(rows)
        number = 0
        with self.transaction() as db:
            for row in rows:
                number = int(db.execute(_APPEND, row).lastrowid or 0)
        return number

    def _append_to_group(self, rows: list[tuple[Any, ...]]) -> int:
        """Write rows within `together`: as `transaction`, but written out, for this is where time goes."""
        if self._failure is not None:
            raise self._failure
        db, number = self._db, 0
        try:
            if not db.in_transaction:
                db.execute("BEGIN IMMEDIATE")
            for row in rows:
                number = int(db.execute(_APPEND, row).lastrowid or 0)
        except sqlite3.Error as error:
            self._failure = self._told(error)
            raise self._failure from error
        return number

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return what a query finds."""
        with self.errors_told():
            return self._db.execute(query, values).fetchall()

    def events(self, project: int, after: int = 0) -> Iterator[Event]:
        """Yield the events of a project behind number `after`, oldest first."""
        query = f"{_EVENTS} WHERE project = ? AND number > ? ORDER BY number"
        with self.errors_told():
            for row in self._db.execute(query, (project, after)):
                yield event_of(row)

    def page(
        self,
        project: int,
        *,
        newest_first: bool = True,
        limit: int = 100,
        cursor: int | None = None,
        kinds: Sequence[str] = (),
        decision: int | None = None,
    ) -> list[Event]:
        """Return up to `limit` events behind number `cursor`, in either direction.

        `kinds` and `decision` narrow them down. The number of the last is the cursor of the next page.
        """
        where, values = ["project = ?"], [project]
        if cursor is not None:
            where.append("number < ?" if newest_first else "number > ?")
            values.append(cursor)
        if decision is not None:
            where.append("decision = ?")
            values.append(decision)
        if kinds:
            where.append(f"kind IN ({', '.join('?' * len(kinds))})")
        order = "DESC" if newest_first else "ASC"
        query = f"{_EVENTS} WHERE {' AND '.join(where)} ORDER BY number {order} LIMIT ?"
        return [event_of(row) for row in self.rows(query, *values, *kinds, limit)]

    def by_keys(self, project: int, keys: Sequence[str]) -> dict[str, Event]:
        """Return the events that clients named by these keys, as far as there are any."""
        marks = ", ".join("?" * len(keys))
        found = self.rows(f"{_EVENTS} WHERE project = ? AND key IN ({marks})", project, *keys)
        return {row[4]: event_of(row) for row in found}

    def made(self, project: int, decision: int) -> Event | None:
        """Return the event that made a decision."""
        kinds = "kind IN ('select', 'proceed')"
        found = self.rows(f"{_EVENTS} WHERE project = ? AND decision = ? AND {kinds}", project, decision)
        return event_of(found[0]) if found else None

    def observed(self, project: int, decisions: Sequence[int]) -> dict[int, Event]:
        """Return the events that observed these decisions, as far as there are any."""
        marks = ", ".join("?" * len(decisions))
        where = f"project = ? AND kind = 'observe' AND decision IN ({marks})"
        found = self.rows(f"{_EVENTS} WHERE {where}", project, *decisions)
        return {event.body["decision"]: event for event in map(event_of, found)}

    def last(self, project: int) -> int:
        """Return the number of a project's last event, 0 if there is none."""
        ((number,),) = self.rows("SELECT coalesce(max(number), 0) FROM events WHERE project = ?", project)
        return int(number)

    def keep_snapshot(
        self, project: int, event: int, state: bytes, tally: dict[str, Any] | None = None
    ) -> None:
        """Keep what a project had become by an event, in place of the snapshot before."""
        text = None if tally is None else plain_json(tally)
        with self.transaction() as db:
            db.execute(_KEEP, (project, event, state, text))

    def snapshot(self, project: int) -> Snapshot | None:
        """Return the project's latest snapshot, if there is one."""
        return self._snapshot("snapshots", project)

    def base(self, project: int) -> Snapshot | None:
        """Return where the history of a compacted project begins; None: it is whole."""
        return self._snapshot("bases", project)

    def _snapshot(self, table: str, project: int) -> Snapshot | None:
        found = self.rows(f"SELECT event, state, tally FROM {table} WHERE project = ?", project)
        if not found:
            return None
        ((event, state, tally),) = found
        return Snapshot(event, state, None if tally is None else json.loads(tally))


_KEEP = "REPLACE INTO snapshots (project, event, state, tally) VALUES (?, ?, ?, ?)"
_APPEND = "INSERT INTO events (project, at, kind, body, key, decision) VALUES (?, ?, ?, ?, ?, ?)"
_EVENTS = "SELECT number, at, kind, body, key FROM events"


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file without touching it: 'ro' to read, 'rw' to write, 'rwc' to make it if need be."""
    where = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(
        where, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
