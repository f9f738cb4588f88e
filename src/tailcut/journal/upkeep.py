"""Maintenance of a state file: verify, export, compact, repair.

Repairing keeps intact events, drops damaged ones and reports them. A project's history is replayed bit for
bit up to the first damaged event. From there on the selector would decide differently, so each recorded
decision is forced: the selector may choose only that algorithm. So ids stay the same for clients, and every
outcome is learned for the algorithm that ran. The result becomes the beginning of the history; earlier events
stay in the file for reading.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.errors import InputError, JournalError, TailcutError
from tailcut.journal.database import FORMAT
from tailcut.journal.events import DamagedError, Event, EventKind, Snapshot, event_of
from tailcut.journal.file import EVENTS, Journal
from tailcut.journal.project import NEEDS_HISTORY, Project, begun, repeat, repeated
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.types import Request

GAP = 10_000
"""The largest gap of missing decisions in a repair: a larger one means a damaged number."""
WHOLE_FILE = "(the file)"
"""Used as the project's name if no particular project is at fault."""


class Verified(NamedTuple):
    project: str
    events: int
    problem: str | None
    event: int | None = None
    field: str | None = None


class Compacted(NamedTuple):
    project: str
    dropped: int
    kept: int


def verify(journal: Journal, names: Sequence[str] = ()) -> Iterator[Verified]:
    """Replay the whole history of these projects, by default of all."""
    for (problem,) in journal.rows("PRAGMA quick_check(5)"):
        if problem != "ok":
            yield Verified(WHOLE_FILE, 0, str(problem))
    for name in _chosen(journal, names, lambda description: "selector" in description):
        try:
            with journal.as_of_now():  # otherwise new writes of a server would look like differences
                found = Verified(name, Project(journal, name).verify(), None)
        except TailcutError as error:
            place = getattr(error, "event", None), getattr(error, "field", None)
            found = Verified(name, 0, _reason(error), *place)
        yield found


def _reason(error: TailcutError) -> str:
    return error.reason if isinstance(error, DamagedError) else str(error)


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
    except TailcutError:
        raise
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def compact(journal: Journal, names: Sequence[str] = ()) -> Iterator[Compacted]:
    """Replace each project's events by a snapshot, and free the space.

    Remarks, decisions that wait or may continue, and those for the latest keys are kept. Projects whose users
    rely on their history (`tailcut run`, `tailcut measure`) are unchanged.
    """

    def suits(description: Mapping[str, Any]) -> bool:
        return "selector" in description and not description.get(NEEDS_HISTORY)

    for name in _chosen(journal, names, suits):
        project = Project(journal, name)
        number, snapshot, statistics = project.number, project.snapshot(), project.statistics
        waiting = {*statistics.pending, *statistics.open}
        oldest_key = project.selector.decisions - statistics.limit
        with journal.transaction() as db:
            journal.begin_from(number, snapshot)
            db.execute("CREATE TEMP TABLE waiting (decision INTEGER PRIMARY KEY)")
            db.executemany("INSERT INTO waiting VALUES (?)", [(decision,) for decision in waiting])
            kept, outcomes = EventKind.REMARK.value, EventKind.OBSERVE.value
            dropped = db.execute(_DROP, (number, snapshot.event, kept, oldest_key, outcomes)).rowcount
            db.execute("DROP TABLE waiting")
        yield Compacted(name, dropped, journal.count(number))
    journal.rows("VACUUM")
    journal.rows("PRAGMA wal_checkpoint(TRUNCATE)")


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


class Repaired(NamedTuple):
    project: str
    kept: int
    dropped: list[str]
    problem: str | None = None
    """Why it cannot be repaired; None if it is intact now."""

    def describe(self) -> str:
        if self.problem is not None:
            return f"{self.project}: cannot be repaired: {self.problem}"
        if not self.dropped:
            return f"{self.project}: {self.kept} events, all whole"
        lines = [f"{self.project}: {self.kept} events kept, {len(self.dropped)} dropped:"]
        return "\n".join(lines + [f"  {one}" for one in self.dropped])


def repair_file(path: Path) -> list[Repaired]:
    """Repair all projects of a file that exists; refused while another process writes."""
    if not path.is_file():
        raise JournalError(f"{path}: there is no such state file")
    with Journal(path, repairing=True) as journal:
        journal.rows("REINDEX")
        found = [_repair(journal, name) for name in journal.projects()]
        with journal.transaction():
            journal.make_unique()
    return found


def _repair(journal: Journal, name: str) -> Repaired:
    number, dropped, problem = journal.projects()[name], list[str](), None
    try:
        description = journal.description(number)
        broken = _first_damage(journal, name) if "selector" in description else None
        if broken is not None:
            with journal.together():
                dropped = _rebuild(journal, number, description, broken)
    except TailcutError as error:
        dropped, problem = [], _reason(error)
    return Repaired(name, journal.count(number), dropped, problem)


def _first_damage(journal: Journal, name: str) -> int | None:
    """Return the first event that cannot be replayed, 0 if the damage is elsewhere, None if intact."""
    with suppress(TailcutError):
        Project(journal, name).verify()
        return None
    number = journal.projects()[name]
    base = journal.base(number)
    selector, statistics = begun(journal.description(number), base)
    try:
        for event in journal.events(number, after=0 if base is None else base.event):
            repeated(selector, statistics, event)
    except DamagedError as error:
        return error.event or 0
    return journal.last(number) + 1 if journal.count(number) else 0  # only the snapshot is damaged


def _rebuild(journal: Journal, number: int, description: dict[str, Any], broken: int) -> list[str]:
    base = journal.base(number)
    history = _History(description, base)
    query = f"{EVENTS} WHERE project = ? AND number > ? ORDER BY number"
    rows = journal.rows(query, number, 0 if base is None else base.event)
    for row in rows:
        history.take(row, exactly=row[0] < broken)
    with journal.transaction() as db:
        db.executemany("DELETE FROM events WHERE number = ?", [(one,) for one in history.dropped])
    if history.dropped or history.forced:
        # Not the number of a dropped event: the next event may get it again.
        state = Snapshot(journal.last(number), history.selector.to_bytes(), history.statistics.state())
        journal.begin_from(number, state)
        return list(history.dropped.values())
    journal.drop_snapshot(number)
    return ["the snapshot: it is made again from the events"]


class _History:
    """A project's history, read event by event as far as each is valid."""

    def __init__(self, description: dict[str, Any], base: Snapshot | None) -> None:
        self.selector, self.statistics = begun(description, base)
        self.dropped: dict[int, str] = {}
        """Event -> why it is dropped."""
        self.forced = False
        self._made: dict[int, str] = {}
        """Decision -> algorithm."""
        self._ambiguous: set[int] = set()

    def take(self, row: tuple[Any, ...], *, exactly: bool) -> None:
        try:
            event = event_of(row)
            if exactly:
                decision = repeated(self.selector, self.statistics, event)
                if decision is not None:
                    self._made[decision.id] = decision.algorithm
            else:
                self.forced = True
                self._force(event)
        except Exception as error:  # whatever is in a damaged event, the others must be kept
            reason = str(error) or type(error).__name__
            if not reason.startswith("event "):
                reason = f"event {row[0]} ({row[2]}): {reason}"
            self.dropped[row[0]] = reason

    def _force(self, event: Event) -> None:
        body = event.body
        match event.kind:
            case EventKind.SELECT:
                self._decide(event)
            case EventKind.OBSERVE:
                self._check_observed(body["decision"])
                repeat(self.selector, event)
            case EventKind.PROCEED:
                raise JournalError("how a schedule continued cannot be repeated after what was dropped")
            case EventKind.FIT:  # perhaps of fewer runs than before
                runs = RecordedRuns.from_dict(body)
                self.selector.fit(runs, known=runs.known)
            case _:
                repeat(self.selector, event)
        self.statistics.take(event)

    def _decide(self, event: Event) -> None:
        made = event.decision()
        assert made is not None
        if made.id in self._made:
            if self._made[made.id] != made.algorithm:
                self._ambiguous.add(made.id)
            raise JournalError(f"decision {made.id} was made a second time")
        if not 0 <= made.id - self.selector.decisions <= GAP:
            raise JournalError(f"decision {made.id} is out of order")
        request = Request.from_dict(event.body)
        while self.selector.decisions < made.id:  # those are lost, and their numbers are not reused
            self.selector.decide(request)
        self.selector.decide(replace(request, among=[made.algorithm]))
        self._made[made.id] = made.algorithm

    def _check_observed(self, number: int) -> None:
        if number in self._ambiguous:
            raise JournalError(f"decision {number} was made twice: it is not known whose outcome this is")
        if number not in self.statistics.pending:
            raise JournalError(f"decision {number} does not wait for an outcome")
