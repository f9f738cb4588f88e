"""Durable state: every step of a selector is an event in a journal before it is reported.

events.py               what an event says; snapshots
schema.py               what the SQLite file looks like inside
ownership.py            who may write to it
database.py             the file: who may write, transactions, errors
unwritten.py            the events of a transaction until it is committed
file.py                 the append-only journal in it: projects, events, snapshots
repeat.py               how a selector repeats an event
replaying.py            how a project is brought to where its events are
project_description.py  how its selector is made
project.py              a named selector that writes down every step and comes back bit for bit
past_runs.py            recorded runs of a scenario, or of another state file
warm_project.py         a project learns such runs, once
statistics.py           what a project has done so far, counted event by event
served_instances.py     the instances asked for, with their runs and how they ended
runtime_bins.py         how long an algorithm's runs take
upkeep.py               verify, export, compact
repair.py               keep what is whole of a damaged project
tokens.py               who may read and write over HTTP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.journal.events import Event, EventKind, NewEvent
    from tailcut.journal.file import Journal
    from tailcut.journal.project import Project
    from tailcut.journal.statistics import ProjectStatistics
    from tailcut.journal.tokens import Tokens

_HOMES = {
    "Event": "tailcut.journal.events",
    "EventKind": "tailcut.journal.events",
    "Journal": "tailcut.journal.file",
    "NewEvent": "tailcut.journal.events",
    "Project": "tailcut.journal.project",
    "ProjectStatistics": "tailcut.journal.statistics",
    "Tokens": "tailcut.journal.tokens",
}
"""Imported when first used: tokens and exports need no selector."""

__all__ = ["Event", "EventKind", "Journal", "NewEvent", "Project", "ProjectStatistics", "Tokens"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found
