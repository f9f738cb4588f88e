"""A project: a named selector whose every step is in the journal before it is reported.

An event contains the input and the decision. Selectors are deterministic, so replaying the events of a
project restores its selector, and a decision that differs from the recorded one is detected.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tailcut import types
from tailcut.errors import (
    InputError,
    JournalError,
    OutOfTurnError,
    RepeatedKeyError,
    TailcutError,
    UnknownDecisionError,
)
from tailcut.explain import Explanation
from tailcut.journal import file
from tailcut.journal.events import DamagedError, Event, EventKind, NewEvent, Snapshot
from tailcut.journal.file import Journal
from tailcut.journal.statistics import ProjectStatistics
from tailcut.policies.pending import SINCE_0_3, known_as, number_of, plain_outcome
from tailcut.policies.recorded_runs import Recorded, RecordedRuns
from tailcut.selector import Selector
from tailcut.state import pack, unpack
from tailcut.types import Decision, Features, Outcome, Request

SNAPSHOT_EVERY = 1000
"""Events between two snapshots: at most this many are replayed when a project is opened."""
SLICES = 8
"""Pieces of a snapshot that are written after one step."""
RECENT = 256
"""The number of latest decisions kept with everything that their explanation needs."""

NEEDS_HISTORY = "needs_history"
"""Field of a description: whether the project's users rely on its events, so that none may be dropped."""
MAX_PENDING = 10_000
"""The default maximum number of waiting decisions."""
_COMPARED = ("id", "algorithm", "budget", "stage", "reason")
"""The fields that must be equal; scores may differ in the last digit between machines."""
_OF_RACE = "\x1f"
"""Separates the key of a race from the number of each of its decisions; no other key contains it."""

log = logging.getLogger("tailcut.journal")


class Project:
    """A selector kept in a journal; it is restored bit for bit, however the process ended.

    Each step is made, written, and only then returned. If it cannot be written, an error is raised and the
    selector returns to the state in the journal, so that memory and journal always agree. Within
    `Journal.together`, several steps, also of several projects, are written at once. The methods are those of
    `tailcut.Selector` (`tailcut.types.SelectorLike`).

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> settings = {"selector": "thompson_rev", "algorithms": ["kissat", "minisat"], "cutoff": 300.0}
    >>> with Journal(f"{folder.name}/state.db") as journal:
    ...     project = Project.create(journal, "sat", settings)
    ...     decision = project.select([0.3, 120.0], instance="i1")
    >>> with Journal(f"{folder.name}/state.db") as journal:  # another day
    ...     project = Project(journal, "sat")
    ...     project.observe(decision, runtime=12.3)
    True
    >>> folder.cleanup()
    """

    def __init__(self, journal: Journal, name: str, *, snapshot_every: int | None = None) -> None:
        numbers = journal.projects()
        if name not in numbers:
            known = ", ".join(numbers) or "none"
            raise JournalError(f"{journal.path}: there is no project {name!r}; known: {known}")
        self.journal, self.name, self.number = journal, name, numbers[name]
        with self._named():
            self.description = journal.description(self.number)
        self.snapshot_every = snapshot_every
        self._state: tuple[Selector, ProjectStatistics] | None = None
        """As of the journal; None: it is to be read."""
        self._recent: OrderedDict[int, Decision] = OrderedDict()
        self._slices: Iterator[bool] | None = None
        """What is left to do of a snapshot."""
        self._current()

    @classmethod
    def create(cls, journal: Journal, name: str, description: Mapping[str, Any]) -> Project:
        """Create a project: `description` holds the keywords of `Selector` and anything else to keep."""
        made = make(description)  # raises if it cannot be created, before anything is written
        if not made.can_be_saved:
            raise InputError(f"{made.name} cannot be saved, so it cannot be a project", field="selector")
        journal.create(name, dict(description))
        return cls(journal, name)

    def _current(self) -> tuple[Selector, ProjectStatistics]:
        if self._state is None:
            self._recent.clear()
            with self._named():
                kept = self.journal.snapshot(self.number)
                state = begun(self.description, kept)
                state[0].identity = known_as(self.name)
                self._last = self._held = self._tried = 0 if kept is None else kept.event
                for event in self.journal.events(self.number, after=self._held):
                    self._remember(repeated(*state, event))
                    self._last = event.number
            self._state = state
        return self._state

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except DamagedError as error:
            path = self.journal.path
            way_out = f"'tailcut state repair {path}' keeps all that is intact"
            words = f"{path}: project {self.name!r}: {error}; {way_out}"
            raise DamagedError(words, event=error.event, field=error.field, reason=error.reason) from error

    @property
    def selector(self) -> Selector:
        """The selector in the state of the journal; read-only."""
        return self._current()[0]

    @property
    def statistics(self) -> ProjectStatistics:
        """The statistics so far; read-only."""
        return self._current()[1]

    @property
    def last_event(self) -> int:
        self._current()
        return self._last

    def history(self, after: int = 0) -> Iterator[Event]:
        return self.journal.events(self.number, after)

    def select(
        self,
        features: Features = None,
        *,
        key: str | None = None,
        note: Mapping[str, Any] | None = None,
        **options: Unpack[types.RequestOptions],
    ) -> Decision:
        """Decide as `Selector.select`; `note` is stored with the decision.

        `key` is the caller's own name for this request: repeating it returns the first decision.
        """
        request = Request(features, **options)
        before = self.decided_before([key])
        if key in before:
            return repeated_decision(before[key], request)
        return self.decide(request, key=key, note=note)

    def decide(
        self,
        request: Request,
        *,
        key: str | None = None,
        note: Mapping[str, Any] | None = None,
        asked: Mapping[str, Any] = MappingProxyType({}),
    ) -> Decision:
        """Decide as `select`, for a complete `Request` and a key that is known to be new.

        `asked` is what differs between the request and what the caller of `race` asked for.
        """
        if not asked and _OF_RACE in (key or ""):
            raise InputError("key must not contain the control character U+001F", field="key")
        with self._whole():
            decision = self.selector.decide(request)
            body = {**request.to_dict(), **_written(decision)}
            if key is not None:
                body["asked"] = dict(asked)
            self._record(NewEvent(EventKind.SELECT, body, key, decision.id), note)
        self._remember(decision)
        return decision

    def race(
        self,
        features: Features = None,
        *,
        k: int,
        running: Mapping[str, float] | None = None,
        failed: Mapping[str, float] | None = None,
        key: str | None = None,
        note: Mapping[str, Any] | None = None,
        **options: Unpack[types.RequestOptions],
    ) -> list[Decision]:
        """Decide as `Selector.race`, all runs or none; each is a separate decision in the journal."""
        request = Request(features, **options)
        asked = {name: request.to_dict()[name] for name in ("among", "cutoff")}
        asked |= {"k": k, "running": sorted(running or {}), "failed": sorted(failed or {})}
        keys = [None] * k if key is None else [f"{key}{_OF_RACE}{number}" for number in range(k)]
        before = [] if key is None else self._raced_before(key, k)
        if before:
            return [repeated_decision(one, request, **asked) for one in before]
        made: list[Decision] = []
        first = self.statistics.race_of(request.instance) if running or failed else None
        with self.journal.together():
            for own in keys:
                started = {**(running or {}), **{other.algorithm: 0.0 for other in made}}
                following = self.selector.joining(request, started, failed, free=k - len(made))
                if following is None:
                    break
                joined = {**({} if first is None else {"race": first}), **(note or {})}
                made.append(self.decide(following, key=own, note=joined, asked=asked))
                first = made[0].id if first is None else first
        return made

    def decided_before(self, keys: Iterable[str | None]) -> dict[str | None, Event]:
        return self.journal.by_keys(self.number, EventKind.SELECT, keys)

    def _raced_before(self, key: str, k: int) -> list[Event]:
        """Return the decisions of an earlier race of this key.

        Version 0.2 separated the number by a blank, as selects may, and did not store what was asked for.
        """
        for sign in (_OF_RACE, " "):
            keys = [f"{key}{sign}{number}" for number in range(k)]
            found = self.decided_before(keys)
            made = [found[own] for own in keys if own in found]
            if made and (sign == _OF_RACE or all("asked" not in one.body for one in made)):
                return made
        return []

    def observe(
        self,
        decision: Decision | int,
        outcome: Outcome | None = None,
        *,
        note: Mapping[str, Any] | None = None,
        **form: Unpack[types.OutcomeOptions],
    ) -> bool:
        """Learn as `Selector.observe`; a known outcome is not written again."""
        outcome = Outcome.one_of(outcome, **form)
        with self._whole():
            if not self.selector.observe(decision, outcome):
                return False
            number = number_of(decision)
            body = {"decision": number, **plain_outcome(outcome)}
            self._record(NewEvent(EventKind.OBSERVE, body, None, number), note)
        return True

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Continue as `Selector.proceed`; write nothing if nothing changes."""
        number = number_of(decision)
        was_open = number in self.statistics.open
        with self._whole():
            following = self.selector.proceed(decision, spent=spent)
            if was_open:
                body = {"after": number, "spent": spent, **_written(following)}
                made = None if following is None else following.id
                self._record(NewEvent(EventKind.PROCEED, body, None, made))
                self._remember(following)
        return following

    def proceed_again(self, number: int, *, spent: float | None = None) -> tuple[Decision | None, bool]:
        """Continue as `proceed`, or return the earlier continuation; also return whether it was repeated."""
        try:
            return self.proceed(number, spent=spent), False
        except OutOfTurnError:
            following = self.selector.continuation(number)
            event = None if following is None else self.journal.made(self.number, following)
            if event is None:
                raise
            return event.decision(), True

    def fit(
        self,
        scenario: Recorded,
        *,
        known: NDArray[np.bool_] | None = None,
        key: str | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> int:
        """Learn from recorded runs as `Selector.fit`; they are stored with all their features.

        If `key` is repeated, nothing is learned, and the first number is returned.
        """
        before = self.journal.by_keys(self.number, EventKind.FIT, [key])
        runs = RecordedRuns.of(scenario, known)
        for event in before.values():
            if RecordedRuns.from_dict(event.body).to_dict() != runs.to_dict():
                raise RepeatedKeyError(f"key {key!r} was used before, for other recorded runs")
            return int(event.body["runs"])
        with self._whole():
            count = self.selector.fit(runs, known=runs.known)
            self._record(NewEvent(EventKind.FIT, {**runs.to_dict(), "runs": count}, key), note)
        return count

    def feature_budget(self, *, cutoff: float | None = None) -> float:
        """Return how long computing the next instance's features may take, as `Selector.feature_budget`."""
        return self.selector.feature_budget(cutoff=cutoff)

    def consider(
        self, features: Features = None, *, top: int = 5, **options: Unpack[types.ConsiderOptions]
    ) -> Explanation:
        """Return what would be chosen, and why, as `Selector.consider`; nothing is written."""
        return self.selector.consider(features, top=top, **options)

    def add_algorithm(self, name: str) -> None:
        with self._whole():
            self.selector.add_algorithm(name)
            self._record(NewEvent(EventKind.ADD_ALGORITHM, {"algorithm": name}))

    def remove_algorithm(self, name: str) -> None:
        with self._whole():
            self.selector.remove_algorithm(name)
            self._record(NewEvent(EventKind.REMOVE_ALGORITHM, {"algorithm": name}))

    def remark(self, body: Mapping[str, Any]) -> None:
        self._record(NewEvent(EventKind.REMARK, dict(body)))

    def keep_features(self, body: Mapping[str, Any]) -> None:
        self._record(NewEvent(EventKind.FEATURES, dict(body)))

    def explain(self, decision: Decision | int, *, top: int = 5) -> Explanation:
        """Return why a decision was made, as `Selector.explain`, as long as it is in the journal."""
        number = number_of(decision)
        own = self._recent.get(number)
        if own is None:
            event = self.journal.made(self.number, number)
            made = None if event is None else event.decision()
            if event is None or made is None:
                raise UnknownDecisionError(f"there is no decision {number}")
            # Only the first decision on an instance is stored with its features.
            own = self.selector.recall(made, event.body.get("features"), event.body["learned"])
        if isinstance(decision, Decision) and decision.to_dict() != own.to_dict():
            theirs, ours = (f"{one.algorithm} on {one.instance}" for one in (decision, own))
            words = f"decision {number} ({theirs}) is not this project's: its own number {number} is {ours}"
            raise UnknownDecisionError(words)
        return self.selector.explain(own, top=top)

    def _remember(self, decision: Decision | None) -> None:
        if decision is not None:
            self._recent[decision.id] = decision
            if len(self._recent) > RECENT:
                self._recent.popitem(last=False)

    def _record(self, new: NewEvent, note: Mapping[str, Any] | None = None) -> None:
        if note:
            new.body["note"] = dict(note)
        at = time.time()
        try:
            self.journal.if_lost(self.forget)
            self._last = self.journal.append(self.number, [new], at=at)
            if self._state is not None:  # otherwise it is read from the journal when needed
                self._state[1].take(Event(self._last, at, new.kind, new.body))
        except BaseException:
            self.forget()
            raise
        if self._slices is not None or self._last - self._tried >= (self.snapshot_every or SNAPSHOT_EVERY):
            self.journal.afterwards(self.try_to_keep)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Take a step and write it, or neither: if it fails midway, the selector is read again.

        An error of Tailcut's own is a refusal, which comes before the first change.
        """
        try:
            yield
        except TailcutError:
            raise
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Discard a selector that may be ahead of the journal: it is read again when needed."""
        self._state = None

    def snapshot(self) -> Snapshot:
        selector, statistics = self._current()
        return Snapshot(self._last, selector.to_bytes(), statistics.state())

    def keep(self) -> None:
        """Write a snapshot, so that the next start has nothing to replay."""
        self._slices = None
        if self._state is not None and self._last > self._held:
            self.journal.keep_snapshot(self.number, self.snapshot())
            self._held = self._last

    def try_to_keep(self) -> None:
        """Begin a snapshot, or write some more of it; without it, only the next start takes longer."""
        try:
            if self._slices is None:
                self._slices = self._snapshot_in_slices()
            with self.journal.together():
                under_way = all(next(self._slices, False) for _ in range(SLICES))
            self._slices = self._slices if under_way else None
        except Exception:  # whatever it was: the events are on disk, and that is what counts
            log.exception("no snapshot of %s", self.name)
            self._slices = None

    def _snapshot_in_slices(self) -> Iterator[bool]:
        """Copy what a snapshot holds at once, and return what writes it beside the following steps."""
        event, (selector, statistics) = self._last, self._current()
        self._tried = event
        pieces, counts = selector.to_pieces(file.PIECE), statistics.state()

        def slices() -> Iterator[bool]:
            for _ in self.journal.keep_in_slices(self.number, event, counts, pieces):
                yield True
            self._held = event

        return slices()

    def verify(self) -> int:
        """Replay the history, since a compaction if there was one; return the number of events.

        Raises unless selector and statistics then equal those in use bit for bit.
        """
        count = 0
        with self._named():
            base = self.journal.base(self.number)
            selector, statistics = begun(self.description, base)
            for event in self.journal.events(self.number, after=0 if base is None else base.event):
                repeated(selector, statistics, event)
                count += 1
        where = f"{self.journal.path}: project {self.name!r}: repeating its {count} events gives"
        states = selector.to_bytes(), self.selector.to_bytes()
        if states[0] != states[1] and len({*map(as_version_0_2, states)}) > 1:
            raise JournalError(f"{where} another selector than its snapshot and the events behind it")
        if statistics.state() != self.statistics.state():
            raise JournalError(f"{where} other counts than its snapshot and the events behind it")
        return count


def repeated_decision(made: Event, request: Request, **more: Any) -> Decision:
    """Return an earlier decision if this is the same request; seconds may be measured again, and differ."""
    known = {**made.body, **made.body.get("asked", {})}
    if more and "asked" not in made.body:  # a race of version 0.2
        known = {name: made.body[name] for name in ("features", "instance")}
    wanted = {**request.to_dict(), **more}
    compared = (known.keys() & wanted.keys()) - {"spent", "feature_cost"}
    differ = sorted(name for name in compared if known[name] != wanted[name])
    if differ:
        key = (made.key or "").partition(_OF_RACE)[0]
        raise RepeatedKeyError(f"key {key!r} was used before, with other {', '.join(differ)}")
    return Decision.from_dict(made.body["decision"])


def _written(decision: Decision | None) -> dict[str, Any]:
    """Return the body of a decision's event, with which it can be returned and explained again."""
    if decision is None:
        return {"decision": None, "learned": None}
    learned = 0 if decision.origin is None else decision.origin.learned
    return {"decision": decision.to_dict(), "learned": learned}


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
    """Return a selector's state without what version 0.2 did not keep, and repeating its history gives."""
    state = unpack(data)
    for runs in ("waiting", "unsolved"):
        columns = state["pending"][runs].items()
        state["pending"][runs] = {name: column for name, column in columns if name not in SINCE_0_3}
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
            runs = RecordedRuns.from_dict(body)
            count = selector.fit(runs, known=runs.known)
            if count != body["runs"]:
                raise _different(event, f"{body['runs']} recorded runs were learned", f"{count} are")
        case EventKind.ADD_ALGORITHM:
            selector.add_algorithm(body["algorithm"])
        case EventKind.REMOVE_ALGORITHM:
            selector.remove_algorithm(body["algorithm"])
        case EventKind.RUN:
            raise JournalError(f"event {event.number}: a {event.kind} is not a step of a selector")
    return None


def _same(event: Event, decision: Decision | None) -> Decision | None:
    before: Mapping[str, Any] | None = event.body["decision"]
    now = None if decision is None else decision.to_dict()
    if any((before or {}).get(name) != (now or {}).get(name) for name in _COMPARED):
        raise _different(event, f"the decision was {_words(before)}", f"is {_words(now)}")
    return decision


def _different(event: Event, before: str, now: str) -> JournalError:
    reason = "the journal was written by another version of Tailcut, or on another kind of machine"
    return JournalError(f"event {event.number}: {before}, and {now} when repeated; {reason}")


def _words(decision: Mapping[str, Any] | None) -> str:
    return "to give up" if decision is None else f"{decision['algorithm']} for {decision['budget']:g} s"
