"""What is written into a journal and read from it, as plain values."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One step of a project, as it was written down."""

    number: int
    at: float
    """When, in seconds since 1970."""
    kind: str
    body: dict[str, Any]
    key: str | None = None
    """The client's own name for the request behind it."""


class Entry(NamedTuple):
    """An event to be written."""

    kind: str
    body: dict[str, Any]
    key: str | None = None
    decision: int | None = None
    """Which decision it made or observed; events are found by it."""


class Snapshot(NamedTuple):
    """What a project had become by an event."""

    event: int
    state: bytes
    tally: dict[str, Any] | None
    """None in snapshots that format 1 wrote."""


def plain_json(body: dict[str, Any]) -> str:
    """Return a body as it is written down."""
    return json.dumps(body, allow_nan=False)


def event_of(row: tuple[int, float, str, str, str | None]) -> Event:
    """Return the event in a row of the table."""
    number, at, kind, body, key = row
    return Event(number, at, kind, json.loads(body), key)
