"""Events of the current transaction that are numbered, but not in SQLite yet.

Written one right after the other, they take less time than one by one between other work.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

MOST = 250_000
"""Letters of the events that wait before they are written."""
_INSERT = "INSERT INTO events (number, project, at, kind, body, key, decision) VALUES (?, ?, ?, ?, ?, ?, ?)"
_BODY = 3
"""Its place in a row without a number."""


class UnwrittenEvents:
    """Numbers events as SQLite would, and writes them later.

    >>> db = sqlite3.connect(":memory:")
    >>> columns = "number INTEGER PRIMARY KEY, project, at, kind, body, key, decision"
    >>> _ = db.execute(f"CREATE TABLE events ({columns})")
    >>> events = UnwrittenEvents()
    >>> events.add(db, [(1, 0.0, "remark", "{}", None, None)])
    1
    >>> events.write(db)
    >>> db.execute("SELECT number, kind FROM events").fetchall()
    [(1, 'remark')]
    """

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._letters = 0
        self._last: int | None = None
        """The number of the latest event; None if it is not known."""

    def add(self, db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> int:
        """Give numbers to events, which are rows without one, and return the last number."""
        last = self._last
        if last is None:
            ((last,),) = db.execute("SELECT coalesce(max(number), 0) FROM events")
        for row in rows:
            last += 1
            self._rows.append((last, *row))
            self._letters += len(row[_BODY])
        self._last = last
        if self._letters > MOST:
            self.write(db)
        return last

    def write(self, db: sqlite3.Connection) -> None:
        """Write what waits."""
        if self._rows:
            rows, self._rows, self._letters = self._rows, [], 0
            db.executemany(_INSERT, rows)

    def renumber(self) -> None:
        """Look up the number of the latest event again: others than these may have changed the table."""
        self._last = None

    def clear(self) -> None:
        """Forget everything, at the end of a transaction."""
        self._rows, self._letters, self._last = [], 0, None

    def __bool__(self) -> bool:
        return bool(self._rows)
