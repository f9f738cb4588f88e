"""Durable state: every step of a selector is an event in a journal before anyone is told of it.

schema.py    what the SQLite file looks like inside, and how older ones are migrated
records.py   events and snapshots as plain values
journal.py   the append-only file: projects, events, snapshots
events.py    what an event says, and how a selector repeats it
project.py   a named selector that writes down every step and comes back bit for bit
tally.py     what a project has done so far, counted event by event
survival.py  how long an algorithm's runs take
upkeep.py    verify, export, compact
tokens.py    who may read and write over HTTP
"""

from tailcut.journal.journal import Journal
from tailcut.journal.project import Project
from tailcut.journal.records import Entry, Event
from tailcut.journal.tally import Tally
from tailcut.journal.tokens import Tokens

__all__ = ["Entry", "Event", "Journal", "Project", "Tally", "Tokens"]
