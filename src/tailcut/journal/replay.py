"""Brings a selector to where the events of its project are, and reports damage.

An event contains the input and the decision. Selectors are deterministic, so replaying the events of a
project restores its selector, and a decision that differs from the recorded one is detected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tailcut.errors import JournalError
from tailcut.journal.events import DamagedError, Event, EventKind, Snapshot
from tailcut.journal.statistics import ProjectStatistics
from tailcut.policies.pending import SINCE_0_3
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.selector import Selector
from tailcut.state import pack, unpack
from tailcut.types import Decision, Request

NEEDS_HISTORY = "needs_history"
"""Field of a description: whether the project's users rely on its events, so that none may be dropped."""
MAX_PENDING = 10_000
"""The default maximum number of waiting decisions."""
_COMPARED = ("id", "algorithm", "budget", "stage", "reason")
"""The fields that must be equal; scores may differ in the last digit between machines."""


def make(description: Mapping[str, Any]) -> Selector:
    return Selector(
        description["selector"],
        description["algorithms"],
        description["cutoff"],
        seed=description.get("seed", 0),
        feature_names=description.get("feature_names"),
        max_pending=description.get("max_pending", MAX_PENDING),
        **description.get("hyperparameters", {}),
    )


@contextmanager
def _sensible(what: str, event: int | None = None) -> Iterator[None]:
    """Turn every error of reading or replaying into one that names the damage."""
    try:
        yield
    except DamagedError:
        raise
    except Exception as error:
        field = getattr(error, "field", None)
        if isinstance(error, KeyError) and error.args:
            field, reason = str(error.args[0]), f"{error.args[0]} is missing"
        else:
            reason = str(error) or type(error).__name__
        words = reason if reason.startswith("event ") else f"{what}: {reason}"
        raise DamagedError(words, event=event, field=field or what) from error


def begun(description: Mapping[str, Any], found: Snapshot | None) -> tuple[Selector, ProjectStatistics]:
    """Return selector and statistics from a snapshot, or new ones from a description."""
    with _sensible("description" if found is None else "snapshot"):
        data = make(description).to_bytes() if found is None else found.selector
        selector = Selector.from_bytes(data)  # in each process the same: it knows decisions by their contents
        limit = description.get("max_pending", MAX_PENDING)
        statistics = ProjectStatistics(selector.cutoff, schedules=selector.schedules, limit=limit)
        if found is not None:
            statistics.restore(found.statistics)
    return selector, statistics


def as_version_0_2(data: bytes) -> bytes:
    """Return a selector's state without what version 0.2 did not keep of instances in flight.

    A project that it wrote begins without that, and repeating its history gives it.
    """
    state = unpack(data)
    for runs in ("waiting", "unsolved"):
        state["pending"][runs] = {
            name: column for name, column in state["pending"][runs].items() if name not in SINCE_0_3
        }
    state["policy"] = {**(state["policy"] or {}), "at_hand": None}
    return pack(state)


def repeated(selector: Selector, statistics: ProjectStatistics, event: Event) -> Decision | None:
    with _sensible(f"event {event.number}", event.number):
        decision = repeat(selector, event)
        statistics.take(event)
    return decision


def repeat(selector: Selector, event: Event) -> Decision | None:
    """Let a selector take the step that an event describes; return its decision, if it made one."""
    body = event.body
    match event.kind:
        case EventKind.SELECT:
            return _same(event, selector.decide(Request.from_dict(body)))
        case EventKind.OBSERVE:
            selector.observe(body["decision"], event.outcome())
        case EventKind.PROCEED:
            return _same(event, selector.proceed(body["after"], spent=body["spent"]))
        case EventKind.FIT:
            _fit(selector, event)
        case EventKind.ADD_ALGORITHM:
            selector.add_algorithm(body["algorithm"])
        case EventKind.REMOVE_ALGORITHM:
            selector.remove_algorithm(body["algorithm"])
        case EventKind.REMARK | EventKind.FEATURES:
            pass
        case EventKind.RUN:
            raise JournalError(f"event {event.number}: a {event.kind} is not a step of a selector")
    return None


def _fit(selector: Selector, event: Event) -> None:
    runs = RecordedRuns.from_dict(event.body)
    count, before = selector.fit(runs, known=runs.known), event.body["runs"]
    if count != before:
        raise _different(event, f"{before} recorded runs were learned", f"{count} are")


def _same(event: Event, decision: Decision | None) -> Decision | None:
    before: Mapping[str, Any] | None = event.body["decision"]
    now = None if decision is None else decision.to_dict()
    if any((before or {}).get(name) != (now or {}).get(name) for name in _COMPARED):
        raise _different(event, f"the decision was {_words(before)}", f"is {_words(now)}")
    return decision


def _different(event: Event, before: str, now: str) -> JournalError:
    return JournalError(
        f"event {event.number}: {before}, and {now} when repeated; "
        "the journal was written by another version of Tailcut, or on another kind of machine"
    )


def _words(decision: Mapping[str, Any] | None) -> str:
    return "to give up" if decision is None else f"{decision['algorithm']} for {decision['budget']:g} s"
