"""The content of a journal: events and snapshots, as plain values."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, NamedTuple

from tailcut.errors import JournalError
from tailcut.policies.pending import is_outcome
from tailcut.types import Decision, Outcome, Status


class EventKind(StrEnum):
    """Kinds of events; the values are those in the file."""

    SELECT = "select"
    OBSERVE = "observe"
    PROCEED = "proceed"
    FIT = "fit"
    ADD_ALGORITHM = "add algorithm"
    REMOVE_ALGORITHM = "remove algorithm"
    REMARK = "remark"
    """A remark by the users of a project; not a step of the selector."""
    FEATURES = "features"
    """Features of an instance, stored before anything is decided; not a step of the selector."""
    RUN = "run"
    """A measured run of a solver; in a project without a selector."""


DECIDING = (EventKind.SELECT, EventKind.PROCEED)
"""Events that make decisions."""


class Event(NamedTuple):
    number: int
    at: float
    kind: EventKind
    body: dict[str, Any]
    key: str | None = None
    """The client's own name for its request."""

    def decision(self) -> Decision | None:
        """Return the decision that it made, without what an explanation needs, or None."""
        made = self.body["decision"] if self.kind in DECIDING else None
        return None if made is None else Decision.from_dict(made)

    def outcome(self) -> Outcome:
        outcome = Outcome(Status(self.body["status"]), self.body["time"], self.body.get("loss"))
        if not is_outcome(outcome):
            raise _damaged(self.number, "status", f"{self.body['status']} needs other numbers than it has")
        return outcome


class NewEvent(NamedTuple):
    kind: EventKind
    body: dict[str, Any]
    key: str | None = None
    decision: int | None = None
    """Which decision it made or observed; events are found by it."""


class Snapshot(NamedTuple):
    event: int
    selector: bytes
    statistics: dict[str, Any]


def plain_json(body: dict[str, Any]) -> str:
    return json.dumps(body, allow_nan=False)


class DamagedError(JournalError):
    """A project's events or snapshots are damaged; other projects are not affected."""

    def __init__(
        self, message: str, *, event: int | None = None, field: str | None = None, reason: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason or message
        """The problem, without the names of file and project."""
        self.event = event
        """The number of the event at fault; None if it is not an event."""
        self.field = field


def event_of(row: tuple[Any, ...]) -> Event:
    """Return the event in a row of the table.

    >>> event_of((5, 0.0, "dance", "{}", None))
    Traceback (most recent call last):
        ...
    tailcut.journal.events.DamagedError: event 5: 'dance' is not known to this Tailcut
    >>> event_of((7, 0.0, "observe", '{"decision": 3, "status": "solved"}', None))
    Traceback (most recent call last):
        ...
    tailcut.journal.events.DamagedError: event 7: time is missing
    """
    number, at, kind, text, key = row
    try:
        known = EventKind(kind)
    except ValueError:
        raise _damaged(number, "kind", f"{kind!r} is not known to this Tailcut") from None
    if not isinstance(at, int | float):
        raise _damaged(number, "at", f"at is not a time: {at!r}")
    if not isinstance(key, str | None):
        raise _damaged(number, "key", f"key is not a text: {key!r}")
    try:
        body = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(number, "body", f"body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise _damaged(number, "body", "body is not a JSON object")
    _check_fields(number, "", _BODIES.get(known, {}), body)
    if known in DECIDING and body["decision"] is not None:
        _check_fields(number, "decision.", _DECISION, body["decision"])
    return Event(number, at, known, body, key)


def _damaged(event: int, field: str, problem: str) -> DamagedError:
    return DamagedError(f"event {event}: {problem}", event=event, field=field)


_NUMBER, _NOTHING = (int, float), type(None)
_Kinds = dict[str, tuple[type, ...]]
_DECISION: _Kinds = {
    "id": (int,),
    "instance": (str, _NOTHING),
    "algorithm": (str,),
    "budget": _NUMBER,
    "cutoff": _NUMBER,
    "scores": (dict,),
    "reason": (str,),
    "stage": (int,),
    "spent": _NUMBER,
}
_BODIES: dict[EventKind, _Kinds] = {
    EventKind.SELECT: {
        "features": (list, dict, _NOTHING),
        "instance": (str, _NOTHING),
        "cutoff": (*_NUMBER, _NOTHING),
        "among": (list, _NOTHING),
        "spent": _NUMBER,
        "feature_cost": _NUMBER,
        "decision": (dict,),
        "learned": (int, _NOTHING),
    },
    EventKind.OBSERVE: {"decision": (int,), "status": (str,), "time": (*_NUMBER, _NOTHING)},
    EventKind.PROCEED: {"after": (int,), "spent": (*_NUMBER, _NOTHING), "decision": (dict, _NOTHING)},
    EventKind.FIT: {"algorithms": (list,), "features": (list,), "runtimes": (list,), "runs": (int,)},
    EventKind.ADD_ALGORITHM: {"algorithm": (str,)},
    EventKind.REMOVE_ALGORITHM: {"algorithm": (str,)},
}
"""Which fields an event has, and of which types."""


def _check_fields(number: int, prefix: str, kinds: _Kinds, body: dict[str, Any]) -> None:
    """Raise unless a body has all these fields, with the right types."""
    for name, types in kinds.items():
        field = prefix + name
        if name not in body:
            raise _damaged(number, field, f"{field} is missing")
        if not isinstance(body[name], types):
            text = repr(body[name])
            raise _damaged(number, field, f"{field} is {text if len(text) <= 60 else f'{text[:57]}...'}")
