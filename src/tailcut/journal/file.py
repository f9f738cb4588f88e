"""The journal: one SQLite file of projects, to which events are only appended.

An event is durable before `append` returns; within `together`, when that block ends. The file has a
write-ahead log with synchronous FULL, so neither a killed process nor a power cut loses what was committed.
One process writes at a time; any number may read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Self

from tailcut.errors import JournalError
from tailcut.journal.database import (
    PAGE,
    UNIQUE_DECISIONS,
    Ownership,
    check_format,
    connect,
    connect_to_read,
    create,
    translated_errors,
)
from tailcut.journal.events import (
    DECIDING,
    DamagedError,
    Event,
    EventKind,
    NewEvent,
    Snapshot,
    event_of,
    plain_json,
)

PIECE = 256 * 1024
"""Bytes of a snapshot in one row, which is what is done of it at a time."""
_BASE = 1
"""The place of the snapshot with which a project's history begins; 0 and 2 take turns for the latest."""


class Journal:
    """A journal file, open for writing by this process only, or for reading.

    `encode` turns bodies into JSON; the service has a faster one available. `repairing` opens a file that
    contains decisions twice.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(f"{folder.name}/state.db") as journal:
    ...     sat = journal.create("sat", {"selector": "tailcut"})
    ...     with journal.together():
    ...         for text in ("one", "two"):
    ...             _ = journal.append(sat, [NewEvent(EventKind.REMARK, {"text": text})])
    ...     [event.body for event in journal.events(sat)]
    [{'text': 'one'}, {'text': 'two'}]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        repairing: bool = False,
        encode: Callable[[dict[str, Any]], str] = plain_json,
    ) -> None:
        self.path = Path(path)
        self.encode = encode
        self._undo: list[Callable[[], None]] | None = None
        """Within `together`: what to call if the events are lost."""
        self._afterwards: list[Callable[[], None]] = []
        """What to call when they are on disk."""
        self._failure: JournalError | None = None
        """The first error of a write within `together`: the whole transaction is then unreliable."""
        self.taken_over = False
        """Whether another process has opened the file for writing since, so that this one may not write."""
        self._session = secrets.token_hex(16)
        self._ownership: Ownership | None = None
        with contextlib.ExitStack() as opened, translated_errors(self.path):
            if read_only:
                self._open_to_read(opened)
            else:
                self._open_to_write(opened, repairing)
            self._opened = opened.pop_all()

    def _open_to_read(self, opened: contextlib.ExitStack) -> None:
        if not self.path.is_file():
            raise JournalError(f"{self.path}: there is no such state file")
        self._db = connect_to_read(self.path, opened)
        check_format(self.path, self._db)

    def _open_to_write(self, opened: contextlib.ExitStack, repairing: bool) -> None:
        """Open the file, make it if it is new, and record this process as its writer."""
        self._ownership = Ownership(self.path, opened)
        self._ownership.make_file()
        db = self._db = connect(self.path, "rw", opened)
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        empty = not tables and not application
        if not empty:
            check_format(self.path, db)
        db.execute(f"PRAGMA page_size = {PAGE}")  # a file that is not new keeps its own
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")  # closing the file rolls it back
        if empty:
            create(db)
        if not repairing:
            self.make_unique()
        db.execute("REPLACE INTO writer (one, session) VALUES (1, ?)", (self._session,))
        db.execute("COMMIT")
        self._ownership.remember()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    def make_unique(self) -> None:
        """Enforce that each decision is in the file only once; raise if one is in it twice."""
        try:
            self._db.execute(UNIQUE_DECISIONS)
        except sqlite3.IntegrityError:
            raise JournalError(
                f"{self.path}: two processes have written to this state file at the same time, so some "
                f"decisions are in it twice: 'tailcut state repair {self.path}' keeps all that is intact"
            ) from None

    def check_in_place(self) -> None:
        """Raise unless the open file is still the one at its path."""
        if self._ownership is not None:
            self._ownership.check()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, within `together` as part of its transaction."""
        with self.together():
            self._check_written()
            try:
                with translated_errors(self.path):
                    if not self._db.in_transaction:
                        self._begin()
                    yield self._db
            except JournalError as error:
                self._failure = error
                raise

    def _check_written(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _begin(self) -> None:
        """Begin to write; raise if another process has opened the file for writing since."""
        self._db.execute("BEGIN IMMEDIATE")
        if self._db.execute("SELECT session FROM writer").fetchone() != (self._session,):
            self._roll_back()
            self.taken_over = True
            words = "another process has taken this state file over; stop and start again"
            raise JournalError(f"{self.path}: {words}")

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # some errors have rolled it back already
            self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write everything that is appended in this block as one transaction, durable when it ends.

        If it cannot be written, nothing is, and `JournalError` is raised at the end of the block at the
        latest; if that is `uncertain`, everything may have been written. A nested block is part of the outer.
        """
        if self._undo is not None:
            yield
            return
        self._undo, self._failure = [], None
        try:
            yield
            self._check_written()
            if self._db.in_transaction:
                self._commit()
            else:  # nothing was written
                self.check_in_place()
        except BaseException:
            self._roll_back()
            for undo in self._undo:
                undo()
            self._afterwards.clear()
            raise
        finally:
            self._undo, self._failure = None, None
        while self._afterwards:
            self._afterwards.pop(0)()

    def _commit(self) -> None:
        """Make a transaction durable; if its sync fails, a crash may still bring it back."""
        try:
            with translated_errors(self.path):
                self._db.execute("COMMIT")
            self.check_in_place()
        except JournalError as error:
            if error.full:
                raise
            words = f"{error}; it is unknown whether the step was written: repeat it with the same key"
            raise JournalError(words, uncertain=True) from error

    def if_lost(self, undo: Callable[[], None]) -> None:
        if self._undo is not None and undo not in self._undo:
            self._undo.append(undo)

    def afterwards(self, work: Callable[[], None]) -> None:
        """Call `work` as soon as the current transaction is on disk; at once if there is none."""
        if self._undo is None:
            work()
        elif work not in self._afterwards:
            self._afterwards.append(work)

    @contextlib.contextmanager
    def as_of_now(self) -> Iterator[None]:
        """Read a consistent snapshot of the file in this block, whatever another process writes."""
        with translated_errors(self.path):
            self._db.execute("BEGIN")
            try:
                self._db.execute("SELECT 1 FROM projects LIMIT 1").fetchone()  # from here on
                yield
            finally:
                self._roll_back()

    def each(self, query: str, *values: Any) -> Iterator[Any]:
        with translated_errors(self.path):
            yield from self._db.execute(query, values)

    def rows(self, query: str, *values: Any) -> list[Any]:
        return list(self.each(query, *values))

    def create(self, name: str, description: dict[str, Any]) -> int:
        if name in self.projects():
            raise JournalError(f"{self.path}: there is a project {name!r} already")
        values = (name, time.time(), plain_json(description))
        with self.transaction() as db:
            cursor = db.execute("INSERT INTO projects (name, created, description) VALUES (?, ?, ?)", values)
        return int(cursor.lastrowid or 0)

    def projects(self) -> dict[str, int]:
        """Return the numbers of the projects, by name, in the order of their creation."""
        found = self.rows("SELECT name, number FROM projects ORDER BY number")
        return {str(name): int(number) for name, number in found}

    def description(self, project: int) -> dict[str, Any]:
        ((text,),) = self.rows("SELECT description FROM projects WHERE number = ?", project)
        try:
            described: dict[str, Any] = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise DamagedError(f"its description is not JSON: {error}", field="description") from None
        if not isinstance(described, dict):
            raise DamagedError("its description is not a JSON object", field="description")
        return described

    def created(self, project: int) -> float:
        ((at,),) = self.rows("SELECT created FROM projects WHERE number = ?", project)
        return float(at) if isinstance(at, int | float) else 0.0

    def append(self, project: int, events: Iterable[NewEvent], *, at: float | None = None) -> int:
        """Write events, all or none, and return the number of the last."""
        when = time.time() if at is None else at
        number = 0
        with self.transaction() as db:
            for event in events:
                row = (project, when, event.kind.value, self.encode(event.body), event.key, event.decision)
                number = int(db.execute(_INSERT, row).lastrowid or 0)
        return number

    def events(self, project: int, after: int = 0) -> Iterator[Event]:
        """Yield the events of a project after number `after`, oldest first."""
        last = after
        for row in self.each(f"{EVENTS} WHERE project = ? AND number > ? ORDER BY number", project, after):
            event = event_of(row)
            if event.number <= last:  # a damaged index may cause a loop
                raise DamagedError(f"event {event.number} comes after event {last}", event=event.number)
            last = event.number
            yield event

    def page(
        self,
        project: int,
        *,
        newest_first: bool = True,
        limit: int = 100,
        cursor: int | None = None,
        kinds: Sequence[EventKind] = (),
        decision: int | None = None,
    ) -> list[Event]:
        """Return up to `limit` events beyond `cursor`; the last one's number is the next page's cursor."""
        beyond, order = ("number < ?", "DESC") if newest_first else ("number > ?", "ASC")
        given = {"project = ?": project, beyond: cursor, "decision = ?": decision}
        wanted: dict[str, Any] = {where: value for where, value in given.items() if value is not None}
        where = " AND ".join([*wanted, *([f"kind IN ({_marks(kinds)})"] if kinds else [])])
        query = f"{EVENTS} WHERE {where} ORDER BY number {order} LIMIT ?"
        values = *wanted.values(), *(kind.value for kind in kinds), limit
        return list(map(event_of, self.rows(query, *values)))

    def by_keys(self, project: int, kind: EventKind, keys: Iterable[str | None]) -> dict[str | None, Event]:
        """Return the events of one kind with these keys; no event is found by None."""
        wanted = [key for key in keys if key is not None]
        if not wanted:
            return {}
        where = f"project = ? AND kind = ? AND key IN ({_marks(wanted)})"
        found = map(event_of, self.rows(f"{EVENTS} WHERE {where}", project, kind.value, *wanted))
        return {event.key: event for event in found}

    def made(self, project: int, decision: int) -> Event | None:
        found = self.page(project, decision=decision, kinds=DECIDING, limit=1)
        return found[0] if found else None

    def observed(self, project: int, decisions: Sequence[int]) -> dict[int, Event]:
        where = f"project = ? AND kind = ? AND decision IN ({_marks(decisions)})"
        found = self.rows(f"{EVENTS} WHERE {where}", project, EventKind.OBSERVE.value, *decisions)
        return {event.body["decision"]: event for event in map(event_of, found)}

    def last(self, project: int) -> int:
        ((number,),) = self.rows("SELECT coalesce(max(number), 0) FROM events WHERE project = ?", project)
        return int(number)

    def count(self, project: int) -> int:
        ((count,),) = self.rows("SELECT count(*) FROM events WHERE project = ?", project)
        return int(count)

    def remove(self, project: int) -> None:
        with self.transaction() as db:
            for table in ("events", "snapshots", "pieces"):
                db.execute(f"DELETE FROM {table} WHERE project = ?", (project,))
            db.execute("DELETE FROM projects WHERE number = ?", (project,))

    def keep_snapshot(self, project: int, snapshot: Snapshot, *, base: bool = False) -> None:
        """Store the state of a project after an event, replacing the previous snapshot."""
        event, selector, statistics = snapshot
        with self.together():
            for _ in self.keep_in_slices(project, event, statistics, [selector], base=base):
                pass

    def keep_in_slices(
        self,
        project: int,
        event: int,
        statistics: dict[str, Any],
        selector: Iterable[bytes | memoryview],
        *,
        base: bool = False,
    ) -> Iterator[None]:
        """Store a snapshot piece by piece; it replaces the previous one only when it is complete."""
        found = self.rows("SELECT base FROM snapshots WHERE project = ? AND base <> ?", project, _BASE)
        place = _BASE if base else 2 - found[0][0] if found else 0
        yield from self._drop_pieces(project, place)
        text, digest = plain_json(statistics).encode(), hashlib.sha256()
        parts = chain([len(text).to_bytes(_LENGTH, "big") + text], selector)
        for number, part in enumerate(piece for whole in parts for piece in _bounded(whole)):
            if part:
                digest.update(part)
                with self.transaction() as db:
                    db.execute("INSERT INTO pieces VALUES (?, ?, ?, ?)", (project, place, number, part))
            yield
        with self.transaction() as db:
            same = "DELETE FROM snapshots WHERE project = ? AND (base = ?) = ?"
            db.execute(same, (project, _BASE, base))
            db.execute(
                "INSERT INTO snapshots (project, base, event, digest) VALUES (?, ?, ?, ?)",
                (project, place, event, digest.hexdigest()),
            )
        if not base:
            yield from self._drop_pieces(project, 2 - place)

    def _drop_pieces(self, project: int, place: int) -> Iterator[None]:
        """Remove the pieces in a place, a few at a time."""
        where = "project = ? AND base = ?"
        few = f"SELECT part FROM pieces WHERE {where} ORDER BY part LIMIT 4"
        while self.rows(few, project, place):
            with self.transaction() as db:
                query = f"DELETE FROM pieces WHERE {where} AND part IN ({few})"
                db.execute(query, (project, place, project, place))
            yield

    def begin_from(self, project: int, snapshot: Snapshot) -> None:
        """Let a project's history begin with a snapshot: events before it may be dropped."""
        with self.together():
            for base in (False, True):
                self.keep_snapshot(project, snapshot, base=base)

    def base(self, project: int) -> Snapshot | None:
        """Return where the history of a compacted project begins; None if it is complete."""
        return self.snapshot(project, base=True)

    def drop_snapshot(self, project: int) -> None:
        """Remove the latest snapshot: the events say the same."""
        with self.transaction() as db:
            for table in ("snapshots", "pieces"):
                db.execute(f"DELETE FROM {table} WHERE project = ? AND base <> ?", (project, _BASE))

    def snapshot(self, project: int, *, base: bool = False) -> Snapshot | None:
        query = "SELECT event, digest, base FROM snapshots WHERE project = ? AND (base = ?) = ?"
        rows = self.rows(query, project, _BASE, base)
        if not rows:
            return None
        ((event, digest, place),) = rows
        query = "SELECT content FROM pieces WHERE project = ? AND base = ? ORDER BY part"
        try:
            content = b"".join(piece for (piece,) in self.each(query, project, place))
            whole = hashlib.sha256(content).hexdigest() == digest and isinstance(event, int)
        except TypeError:  # a piece that is not bytes
            whole = False
        if not whole:
            raise DamagedError("its snapshot is damaged", field="snapshot")
        end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
        return Snapshot(event, content[end:], json.loads(content[_LENGTH:end]))


_LENGTH = 8
"""Bytes of the length of a snapshot's statistics, which come first; the selector follows."""


def _bounded(part: bytes | memoryview) -> Iterator[bytes | memoryview]:
    view = memoryview(part)
    yield from (view[start : start + PIECE] for start in range(0, max(len(view), 1), PIECE))


_INSERT = "INSERT INTO events (project, at, kind, body, key, decision) VALUES (?, ?, ?, ?, ?, ?)"
EVENTS = "SELECT number, at, kind, body, key FROM events"


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
