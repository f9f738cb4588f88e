"""Durable state: every step of a selector is an event in a journal before it is reported."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.journal.events import Event, EventKind, NewEvent
    from tailcut.journal.file import Journal
    from tailcut.journal.project import Project
    from tailcut.journal.statistics import ProjectStatistics
    from tailcut.journal.tokens import Tokens

_HOMES = {"Journal": "file", "Project": "project", "ProjectStatistics": "statistics", "Tokens": "tokens"}
"""The others are in `events`. Imported when first used: tokens and exports need no selector."""

__all__ = ["Event", "EventKind", "Journal", "NewEvent", "Project", "ProjectStatistics", "Tokens"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"tailcut.journal.{_HOMES.get(name, 'events')}")
    globals()[name] = home = getattr(module, name)
    return home
