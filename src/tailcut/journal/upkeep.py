"""Maintenance of a state file: verify, export, compact."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.errors import InputError, JournalError, TailcutError
from tailcut.journal.database import FORMAT
from tailcut.journal.events import DamagedError, EventKind
from tailcut.journal.file import Journal
from tailcut.journal.project import Project
from tailcut.journal.replay import NEEDS_HISTORY

WHOLE_FILE = "(the file)"
"""Used as the project's name if no particular project is at fault."""


class Verified(NamedTuple):
    """The result of replaying a project's history."""

    project: str
    events: int
    """The number of replayed events."""
    problem: str | None
    """The difference, or None."""
    event: int | None = None
    """The event at fault, if any."""
    field: str | None = None
    """The field at fault, if known."""


class Compacted(NamedTuple):
    """The result of compacting a project."""

    project: str
    dropped: int
    kept: int


class CompactedFile(NamedTuple):
    """The result of compacting a file."""

    bytes_before: int
    bytes_after: int
    projects: list[Compacted]


def verify(journal: Journal, names: Sequence[str] = ()) -> Iterator[Verified]:
    """Replay the whole history of these projects, by default of all."""
    for (problem,) in journal.rows("PRAGMA quick_check(5)"):
        if problem != "ok":
            yield Verified(WHOLE_FILE, 0, str(problem))
    for name in _chosen(journal, names, lambda description: "selector" in description):
        yield _verify(journal, name)


def _verify(journal: Journal, name: str) -> Verified:
    try:
        with journal.as_of_now():  # otherwise new writes of a server would look like differences
            return Verified(name, Project(journal, name).verify(), None)
    except DamagedError as error:
        return Verified(name, 0, error.reason, error.event, error.field)
    except TailcutError as error:
        return Verified(name, 0, str(error))


def export(journal: Journal, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the whole content as JSON values: the file, each project, its events."""
    yield {"tailcut_state": FORMAT}
    numbers = journal.projects()
    for name in _chosen(journal, names):
        number, base = numbers[name], journal.base(numbers[name])
        yield {
            "project": name,
            "created": journal.created(number),
            "description": journal.description(number),
            "compacted_up_to_event": None if base is None else base.event,
        }
        for event in journal.events(number):
            yield {"project": name, **event._asdict()}


def write_lines(lines: Iterable[Mapping[str, Any]], out: Path) -> None:
    """Write JSON lines into a new file, which appears only when it is complete."""
    if out.exists():
        raise InputError(f"{out}: the file already exists")
    partial = out.with_name(f"{out.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{json.dumps(line, allow_nan=False)}\n" for line in lines)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(partial, out)  # unlike a renaming, it replaces nothing
    except FileExistsError:
        raise InputError(f"{out}: the file already exists") from None
    except OSError as error:
        if isinstance(error, TailcutError):
            raise
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def compact_file(path: Path, names: Sequence[str] = ()) -> CompactedFile:
    """Compact the projects of a file that exists; refused while another process writes."""
    if not path.is_file():
        raise JournalError(f"{path}: there is no such state file")
    before = path.stat().st_size
    with Journal(path) as journal:
        projects = list(compact(journal, names))
    return CompactedFile(before, path.stat().st_size, projects)


def compact(journal: Journal, names: Sequence[str] = ()) -> Iterator[Compacted]:
    """Replace each project's events by a snapshot, and free the space.

    Remarks, decisions that wait or may continue, and the decisions for the latest keys are kept. Projects
    whose users rely on their history (`tailcut run`, `tailcut measure`) are unchanged.
    """
    for name in _chosen(
        journal, names, lambda description: "selector" in description and not description.get(NEEDS_HISTORY)
    ):
        yield _compact(journal, Project(journal, name))
    journal.rows("VACUUM")
    journal.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def _compact(journal: Journal, project: Project) -> Compacted:
    number, snapshot = project.number, project.snapshot()
    statistics = project.statistics
    waiting = {*statistics.pending, *statistics.open}
    oldest_key = project.selector.decisions - statistics.limit
    with journal.together(), journal.transaction() as db:
        journal.begin_from(number, snapshot)
        db.execute("CREATE TEMP TABLE waiting (decision INTEGER PRIMARY KEY)")
        db.executemany("INSERT INTO waiting VALUES (?)", [(decision,) for decision in waiting])
        kept, outcomes = EventKind.REMARK.value, EventKind.OBSERVE.value
        dropped = db.execute(_DROP, (number, snapshot.event, kept, oldest_key, outcomes)).rowcount
        db.execute("DROP TABLE waiting")
    ((kept_events,),) = journal.rows("SELECT count(*) FROM events WHERE project = ?", number)
    return Compacted(project.name, dropped, kept_events)


# The last event stays: SQLite gives the numbers of deleted last rows again, and a number that the snapshot
# holds already would never be repeated.
_DROP = """DELETE FROM events WHERE project = ? AND number < ? AND kind <> ?
    AND NOT (key IS NOT NULL AND decision IS NOT NULL AND decision >= ?)
    AND NOT (decision IS NOT NULL AND kind <> ? AND decision IN (SELECT decision FROM waiting))"""


def _chosen(
    journal: Journal, names: Sequence[str], suits: Callable[[Mapping[str, Any]], bool] = lambda _: True
) -> list[str]:
    """Return the given names, or all, whose description suits, or is damaged: opening it says so."""
    numbers = journal.projects()
    unknown = [name for name in names if name not in numbers]
    if unknown:
        known = ", ".join(numbers) or "none"
        raise JournalError(f"{journal.path}: there is no project {unknown[0]!r}; known: {known}")
    chosen = []
    for name in names or numbers:
        with suppress(DamagedError):
            if not suits(journal.description(numbers[name])):
                if name in names:
                    raise JournalError(f"{journal.path}: project {name!r} needs its history")
                continue
        chosen.append(name)
    return chosen
