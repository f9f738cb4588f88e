"""Repairs a state file: intact events are kept, damaged ones are dropped and reported.

A project's history is replayed bit for bit up to the first damaged event. From there on the selector would
decide differently, so each recorded decision is forced: the selector may choose only that algorithm. So ids
stay the same for clients, and every outcome is learned for the algorithm that ran. The result becomes the
beginning of the history; earlier events stay in the file for reading.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.errors import JournalError, TailcutError
from tailcut.journal.events import DamagedError, Event, EventKind, Snapshot, event_of
from tailcut.journal.file import Journal
from tailcut.journal.project import Project
from tailcut.journal.replay import begun, repeated
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.types import Request

GAP = 10_000
"""The largest gap of missing decisions: a larger one means a damaged number."""


class Repaired(NamedTuple):
    """What repairing a project did."""

    project: str
    kept: int
    """The number of events that are kept."""
    dropped: list[str]
    """What was dropped, and why."""
    problem: str | None = None
    """Why it cannot be repaired; None if it is intact now."""

    def words(self) -> str:
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
    number = journal.projects()[name]
    try:
        if "selector" not in journal.description(number):  # measurements: nothing is decided
            return Repaired(name, _count(journal, number), [])
        broken = _first_damage(journal, name)
        if broken is None:
            return Repaired(name, _count(journal, number), [])
        with journal.together():
            dropped = _rebuild(journal, number, broken)
        return Repaired(name, _count(journal, number), dropped)
    except DamagedError as error:
        return Repaired(name, _count(journal, number), [], error.reason)
    except TailcutError as error:
        return Repaired(name, _count(journal, number), [], str(error))


def _count(journal: Journal, number: int) -> int:
    ((count,),) = journal.rows("SELECT count(*) FROM events WHERE project = ?", number)
    return int(count)


def _first_damage(journal: Journal, name: str) -> int | None:
    """Return the first event that cannot be replayed, 0 if the damage is elsewhere, None if intact."""
    try:
        Project(journal, name).verify()
    except TailcutError:
        pass
    else:
        return None
    number = journal.projects()[name]
    base = journal.base(number)
    selector, statistics = begun(journal.description(number), base)
    try:
        for event in journal.events(number, after=0 if base is None else base.event):
            repeated(selector, statistics, event)
    except DamagedError as error:
        return error.event or 0
    return _count(journal, number) and journal.last(number) + 1  # only the snapshot is damaged


def _rebuild(journal: Journal, number: int, broken: int) -> list[str]:
    base = journal.base(number)
    history = _History(journal.description(number), base)
    query = "SELECT number, at, kind, body, key FROM events WHERE project = ? AND number > ? ORDER BY number"
    rows = journal.rows(query, number, 0 if base is None else base.event)
    for row in rows:
        history.take(row, exactly=row[0] < broken)
    with journal.transaction() as db:
        db.executemany("DELETE FROM events WHERE number = ?", [(one,) for one in history.gone])
    if history.dropped or history.forced:
        # Not the number of a dropped event: the next event may get it again.
        journal.begin_from(number, history.snapshot(journal.last(number)))
    else:
        journal.drop_snapshot(number)
        history.dropped.append("the snapshot: it is made again from the events")
    return history.dropped


class _History:
    """A project's history, read event by event as far as each is valid."""

    def __init__(self, description: dict[str, Any], base: Snapshot | None) -> None:
        self.selector, self.statistics = begun(description, base)
        self.dropped: list[str] = []
        self.gone: list[int] = []
        """Numbers of the events that are dropped."""
        self.forced = False
        self._made: dict[int, str] = {}
        """Decision -> algorithm."""
        self._ambiguous: set[int] = set()

    def snapshot(self, event: int) -> Snapshot:
        return Snapshot(event, self.selector.to_bytes(), self.statistics.state())

    def take(self, row: tuple[Any, ...], *, exactly: bool) -> None:
        """Read one event, or record why it is dropped."""
        try:
            event = event_of(row)
            if exactly:
                repeated(self.selector, self.statistics, event)
                self._note(event)
            else:
                self.forced = True
                self._force(event)
        except Exception as error:  # whatever is in a damaged event, the others must be kept
            reason = str(error) or type(error).__name__
            words = reason if reason.startswith("event ") else f"event {row[0]} ({row[2]}): {reason}"
            self.dropped.append(words)
            self.gone.append(row[0])

    def _note(self, event: Event) -> None:
        decision = event.decision()
        if decision is not None:
            self._made[decision.id] = decision.algorithm

    def _force(self, event: Event) -> None:
        body = event.body
        match event.kind:
            case EventKind.SELECT:
                self._decide(event)
            case EventKind.OBSERVE:
                self._observe(event)
            case EventKind.PROCEED:
                raise JournalError("how a schedule continued cannot be repeated after what was dropped")
            case EventKind.FIT:
                runs = RecordedRuns.from_dict(body)
                self.selector.fit(runs, known=runs.known)
            case EventKind.ADD_ALGORITHM:
                self.selector.add_algorithm(body["algorithm"])
            case EventKind.REMOVE_ALGORITHM:
                self.selector.remove_algorithm(body["algorithm"])
            case EventKind.REMARK | EventKind.FEATURES:
                pass
            case _:
                raise JournalError("it is not a step of a selector")
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

    def _observe(self, event: Event) -> None:
        number = event.body["decision"]
        if number in self._ambiguous:
            raise JournalError(f"decision {number} was made twice: it is not known whose outcome this is")
        if number not in self.statistics.pending:
            raise JournalError(f"decision {number} does not wait for an outcome")
        self.selector.observe(number, event.outcome())
