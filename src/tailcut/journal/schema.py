"""The schema of a state file."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator

FORMAT = 4
"""The format that is written, and the only one that is read."""

PIECE = 16 * 1024 * 1024
"""Bytes of a snapshot in one row: SQLite allows a gigabyte at most."""

APPLICATION = 0x7A11C0D
"""Written into the file's header, so that a foreign database is recognised."""

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
)

_SNAPSHOTS = (
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

UNIQUE_DECISIONS = """CREATE UNIQUE INDEX IF NOT EXISTS events_by_decision
    ON events (project, decision, kind = 'observe') WHERE decision IS NOT NULL"""
"""Each decision is made once and observed once, whichever process writes."""


def create(db: sqlite3.Connection) -> None:
    """Make the tables of a new file."""
    for statement in (*_TABLES, *_SNAPSHOTS):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {FORMAT}")


def sealed(selector: bytes, statistics: str) -> tuple[bytes, bytes]:
    """Return the two parts of a snapshot: the statistics after their length, and the selector."""
    text = statistics.encode()
    return len(text).to_bytes(8, "big") + text, selector


def opened(content: bytes) -> tuple[bytes, str]:
    """Return selector and statistics.

    >>> opened(b"".join(sealed(b"state", "{}")))
    (b'state', '{}')
    """
    end = 8 + int.from_bytes(content[:8], "big")
    return content[end:], content[8:end].decode()


def store(db: sqlite3.Connection, project: int, base: int, event: int, parts: tuple[bytes, ...]) -> None:
    """Write a snapshot in pieces, in place of the one before."""
    digest = hashlib.sha256()
    db.execute("DELETE FROM pieces WHERE project = ? AND base = ?", (project, base))
    for number, piece in enumerate(_pieces(parts)):
        digest.update(piece)
        db.execute("INSERT INTO pieces VALUES (?, ?, ?, ?)", (project, base, number, piece))
    values = (project, base, event, digest.hexdigest())
    db.execute("REPLACE INTO snapshots (project, base, event, digest) VALUES (?, ?, ?, ?)", values)


def _pieces(parts: tuple[bytes, ...]) -> Iterator[memoryview]:
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), PIECE):
            yield view[start : start + PIECE]
