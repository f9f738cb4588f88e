"""What a state file looks like inside, and how an older one is brought to the present format."""

from __future__ import annotations

FORMAT = 2
"""The format that is written; older ones are migrated when they are opened for writing."""

APPLICATION = 0x7A11C0D
"""Written into the file's header, so that a foreign database is recognised."""

_FIRST = (
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

# Format 2: clients' keys, which decision an event is about, tallies, compaction, tokens.
_SECOND = (
    "ALTER TABLE events ADD COLUMN key TEXT",  # a client's own name for its request
    "ALTER TABLE events ADD COLUMN decision INTEGER",  # the decision made, or observed
    "UPDATE events SET decision = json_extract(body, '$.decision.id') WHERE kind IN ('select', 'proceed')",
    "UPDATE events SET decision = json_extract(body, '$.decision') WHERE kind = 'observe'",
    "CREATE UNIQUE INDEX events_by_key ON events (project, key) WHERE key IS NOT NULL",
    "CREATE INDEX events_by_decision ON events (project, decision) WHERE decision IS NOT NULL",
    "ALTER TABLE snapshots ADD COLUMN tally TEXT",  # JSON; null in snapshots of format 1
    """CREATE TABLE bases (
        project INTEGER PRIMARY KEY REFERENCES projects (number),
        event INTEGER NOT NULL,      -- the last event that was dropped, or that the state holds
        state BLOB NOT NULL,
        tally TEXT NOT NULL
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

MIGRATIONS: dict[int, tuple[str, ...]] = {0: _FIRST, 1: _SECOND}
"""Format of a file -> the statements that take it to the next format."""
