"""What a state file looks like inside.

Format 3 is the first of a release. A later one adds the statements that bring an older file to it.
"""

from __future__ import annotations

FORMAT = 3
"""The format that is written, and the only one that is read."""

APPLICATION = 0x7A11C0D
"""Written into the file's header, so that a foreign database is recognised."""

TABLES = (
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
    "CREATE INDEX events_by_decision ON events (project, decision) WHERE decision IS NOT NULL",
    """CREATE TABLE snapshots (
        project INTEGER PRIMARY KEY REFERENCES projects (number),
        event INTEGER NOT NULL,      -- the last event that it holds
        selector BLOB NOT NULL,
        statistics TEXT NOT NULL     -- JSON
    )""",
    """CREATE TABLE bases (
        project INTEGER PRIMARY KEY REFERENCES projects (number),
        event INTEGER NOT NULL,      -- the last event before which events were dropped
        selector BLOB NOT NULL,
        statistics TEXT NOT NULL
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
