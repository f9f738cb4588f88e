"""What is written into a journal and read from it: events and snapshots, as plain values."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, NamedTuple

from tailcut.errors import JournalError
from tailcut.types import Decision, Outcome, Status


class EventKind(StrEnum):
    """What happened; the values are what the file holds."""

    SELECT = "select"
    OBSERVE = "observe"
    PROCEED = "proceed"
    FIT = "fit"
    ADD_ALGORITHM = "add algorithm"
    REMOVE_ALGORITHM = "remove algorithm"
    REMARK = "remark"
    """Something that users of a project want kept; it is no step of the selector."""
    FEATURES = "features"
    """Measured features of an instance; in a project without a selector."""
    RUN = "run"
    """A measured run of a solver; in a project without a selector."""


DECIDING = (EventKind.SELECT, EventKind.PROCEED)
"""Events that make decisions."""


class Event(NamedTuple):
    """One step of a project, as it was written down."""

    number: int
    at: float
    """When, in seconds since 1970."""
    kind: EventKind
    body: dict[str, Any]
    key: str | None = None
    """The client's own name for the request behind it."""

    def decision(self) -> Decision | None:
        """Return the decision that it made, without what an explanation needs; None: it made none."""
        made = self.body["decision"] if self.kind in DECIDING else None
        return None if made is None else Decision.from_dict(made)

    def outcome(self) -> Outcome:
        """Return the outcome that it observed."""
        return Outcome(Status(self.body["status"]), self.body["time"])


class NewEvent(NamedTuple):
    """An event to be written."""

    kind: EventKind
    body: dict[str, Any]
    key: str | None = None
    decision: int | None = None
    """Which decision it made or observed; events are found by it."""


class Snapshot(NamedTuple):
    """What a project had become by an event."""

    event: int
    selector: bytes
    statistics: dict[str, Any]


def plain_json(body: dict[str, Any]) -> str:
    """Return a body as it is written down."""
    return json.dumps(body, allow_nan=False)


def event_of(row: tuple[int, float, str, str, str | None]) -> Event:
    """Return the event in a row of the table.

    >>> event_of((5, 0.0, "dance", "{}", None))
    Traceback (most recent call last):
        ...
    tailcut.errors.JournalError: event 5: 'dance' is not known to this Tailcut
    """
    number, at, kind, body, key = row
    try:
        known = EventKind(kind)
    except ValueError:
        raise JournalError(f"event {number}: {kind!r} is not known to this Tailcut") from None
    return Event(number, at, known, json.loads(body), key)
