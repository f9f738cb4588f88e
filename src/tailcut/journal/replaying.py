"""Brings a selector up to date with a project's events, and reports damage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tailcut.journal.events import DamagedError, Event, Snapshot
from tailcut.journal.project_description import MAX_PENDING, make
from tailcut.journal.repeat import repeat
from tailcut.journal.statistics import ProjectStatistics
from tailcut.selector import Selector
from tailcut.types import Decision


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
        selector = make(description) if found is None else Selector.from_bytes(found.selector)
        limit = description.get("max_pending", MAX_PENDING)
        statistics = ProjectStatistics(selector.cutoff, schedules=selector.schedules, limit=limit)
        if found is not None:
            statistics.restore(found.statistics)
    return selector, statistics


def repeated(selector: Selector, statistics: ProjectStatistics, event: Event) -> Decision | None:
    """Apply an event to a selector and its statistics; raise with the damage if that fails."""
    with _sensible(f"event {event.number}", event.number):
        decision = repeat(selector, event)
        statistics.take(event)
    return decision
