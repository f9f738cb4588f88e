"""Durable state: every step of a selector is an event in a journal before anyone is told of it.

journal.py   an append-only SQLite file: projects, events, snapshots
events.py    what an event says, and how a selector repeats it
project.py   a named selector that writes down every step and comes back bit for bit
"""

from tailcut.state.journal import Event, Journal
from tailcut.state.project import Project

__all__ = ["Event", "Journal", "Project"]
