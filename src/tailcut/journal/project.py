"""A project: a named selector whose every step is in the journal before anyone is told of it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tailcut.errors import InputError, JournalError, OutOfTurnError, StateFileError, UnknownDecisionError
from tailcut.explain.explanation import Explanation
from tailcut.journal import events
from tailcut.journal.journal import Journal
from tailcut.journal.records import Entry, Event, Snapshot
from tailcut.journal.tally import Tally
from tailcut.selector import Selector
from tailcut.types import Decision, Features, Outcome

SNAPSHOT_EVERY = 1000
"""Events between two snapshots: so many at most are repeated when a project is opened."""
RECENT = 256
"""How many of the latest decisions are remembered with all that their explanation needs."""

NEEDS_HISTORY = "needs_history"
"""Field of a description: whether the project's users go by its events, so that none may be dropped."""


class Project:
    """A selector kept in a journal; it comes back bit for bit, whatever ended the process before.

    Each step is made, written, and only then returned. When it cannot be written, an error is raised and
    the selector goes back to what the journal holds, so that memory and journal never part. Several steps,
    also of several projects, are written at once within `Journal.together`.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> settings = {"selector": "thompson_rev", "algorithms": ["kissat", "minisat"], "cutoff": 300.0}
    >>> with Journal(f"{folder.name}/state.db") as journal:
    ...     project = Project.create(journal, "sat", settings)
    ...     decision = project.select([0.3, 120.0], instance="i1")
    >>> with Journal(f"{folder.name}/state.db") as journal:  # another day
    ...     project = Project(journal, "sat")
    ...     project.observe(decision, Outcome.solved(12.3))
    True
    >>> folder.cleanup()
    """

    def __init__(self, journal: Journal, name: str, *, snapshot_every: int | None = None) -> None:
        numbers = journal.projects()
        if name not in numbers:
            known = ", ".join(numbers) or "none"
            raise JournalError(f"{journal.path}: there is no project {name!r}; known: {known}")
        self.journal, self.name, self.number = journal, name, numbers[name]
        self.description = journal.description(self.number)
        self.snapshot_every = snapshot_every
        self._selector: Selector | None = None
        self._tally: Tally | None = None
        self._recent: OrderedDict[int, Decision] = OrderedDict()
        self._last = self._held = 0
        self._load()

    @classmethod
    def create(cls, journal: Journal, name: str, description: Mapping[str, Any]) -> Project:
        """Begin a project: `description` holds the keywords of `Selector`, and whatever else to keep."""
        make(description)  # raises if it cannot be made, before anything is written
        journal.create(name, dict(description))
        return cls(journal, name)

    def _load(self) -> tuple[Selector, Tally]:
        """Bring the selector to where the journal is."""
        found = self.journal.snapshot(self.number)
        selector, tally = self._begin(found)
        self._held = 0 if found is None else found.event
        if found is not None and found.tally is None:  # a snapshot of format 1
            for event in self.journal.events(self.number):
                if event.number <= found.event:
                    tally.take(event)
        self._last = self._held
        self._recent.clear()
        for event in self.journal.events(self.number, after=self._held):
            self._remember(events.repeat(selector, event))
            tally.take(event)
            self._last = event.number
        self._selector, self._tally = selector, tally
        return selector, tally

    def _begin(self, found: Snapshot | None) -> tuple[Selector, Tally]:
        """Return selector and tally as they were at a snapshot, or new ones."""
        try:
            selector = make(self.description) if found is None else Selector.from_bytes(found.state)
        except StateFileError as error:
            raise JournalError(f"{self.journal.path}: snapshot of {self.name!r}: {error}") from error
        limit = self.description.get("max_pending", MAX_PENDING)
        tally = Tally(selector.cutoff, schedules=selector.schedules, limit=limit)
        if found is not None and found.tally is not None:
            tally.restore(found.tally)
        return selector, tally

    @property
    def selector(self) -> Selector:
        """The selector as the journal has it; to look at, not to change."""
        return self._load()[0] if self._selector is None else self._selector

    @property
    def tally(self) -> Tally:
        """What has been counted so far; to look at, not to change."""
        return self._load()[1] if self._selector is None or self._tally is None else self._tally

    @property
    def last_event(self) -> int:
        """The number of the latest event, 0 if there is none."""
        if self._selector is None:
            self._load()
        return self._last

    def history(self, after: int = 0) -> Iterator[Event]:
        """Yield all events behind number `after`, oldest first."""
        return self.journal.events(self.number, after)

    def select(
        self,
        features: Features = None,
        *,
        instance: str | None = None,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
        spent: float = 0.0,
        feature_cost: float = 0.0,
        key: str | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Decide as `Selector.select`; `note` is written down beside it.

        `key` is the caller's own name for this request: asked again with the same one, the decision that
        was made the first time is returned.
        """
        before = None if key is None else self.answered(key).get(key)
        return before or self.decide(
            features,
            instance=instance,
            cutoff=cutoff,
            among=among,
            spent=spent,
            feature_cost=feature_cost,
            key=key,
            note=note,
        )

    def decide(
        self,
        features: Features = None,
        *,
        instance: str | None = None,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
        spent: float = 0.0,
        feature_cost: float = 0.0,
        key: str | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Decide as `select` for a key that is known to be new."""
        chosen = None if among is None else list(among)
        how: dict[str, Any] = {"instance": instance, "cutoff": cutoff, "among": chosen}
        how |= {"spent": spent, "feature_cost": feature_cost}
        decision = self.selector.select(features, **how)
        body = {
            "features": events.plain_features(features),
            **how,
            "decision": events.told(decision),
            "details": events.details(decision),
        }
        self._record(Entry(events.SELECT, body, key, decision.id), note)
        self._remember(decision)
        return decision

    def answered(self, *keys: str) -> dict[str, Decision]:
        """Return the decisions that were made for these keys; those that are new are not in it."""
        events_of = self.journal.by_keys(self.number, keys) if keys else {}
        made = {key: events.decision_of(event) for key, event in events_of.items()}
        return {key: decision for key, decision in made.items() if decision is not None}

    def observe(
        self, decision: Decision | int, outcome: Outcome, *, note: Mapping[str, Any] | None = None
    ) -> bool:
        """Learn as `Selector.observe`; an outcome that is known already is not written again."""
        if not self.selector.observe(decision, outcome):
            return False
        number = decision.id if isinstance(decision, Decision) else decision
        body = {"decision": number, "status": outcome.status.value, "time": outcome.time}
        self._record(Entry(events.OBSERVE, body, None, number), note)
        return True

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Go on as `Selector.proceed`; where that changes nothing, there is nothing to write."""
        number = decision.id if isinstance(decision, Decision) else decision
        was_open = number in self.tally.open
        following = self.selector.proceed(decision, spent=spent)
        if was_open:
            body = {
                "after": number,
                "spent": spent,
                "decision": events.told(following),
                "details": events.details(following),
            }
            made = None if following is None else following.id
            self._record(Entry(events.PROCEED, body, None, made))
            self._remember(following)
        return following

    def proceed_again(self, number: int, *, spent: float | None = None) -> tuple[Decision | None, bool]:
        """Go on as `proceed`, or tell once more how it went on before; and whether it was that."""
        try:
            return self.proceed(number, spent=spent), False
        except OutOfTurnError:
            following = self.selector.continuation(number)
            event = None if following is None else self.journal.made(self.number, following)
            if event is None:
                raise
            return events.decision_of(event), True

    def add_algorithm(self, name: str) -> None:
        """Offer one more algorithm from now on."""
        self.selector.add_algorithm(name)
        self._record(Entry(events.ADD, {"algorithm": name}))

    def remove_algorithm(self, name: str) -> None:
        """Stop offering an algorithm and forget what was learned of it."""
        self.selector.remove_algorithm(name)
        self._record(Entry(events.REMOVE, {"algorithm": name}))

    def remark(self, body: Mapping[str, Any]) -> None:
        """Keep something in the journal that is no step of the selector."""
        self._record(Entry(events.REMARK, dict(body)))

    def explain(self, number: int, *, top: int = 5) -> Explanation:
        """Return why a decision fell as it did, as `Selector.explain`, for as long as it is written down."""
        decision = self._recent.get(number)
        if decision is None:
            event = self.journal.made(self.number, number)
            if event is None:
                raise UnknownDecisionError(f"there is no decision {number}")
            made = events.decision_of(event)
            assert made is not None
            learned = event.body["details"]["learned"]
            decision = self.selector.recall(made, event.body.get("features"), learned)
        return self.selector.explain(decision, top=top)

    def _remember(self, decision: Decision | None) -> None:
        if decision is not None:
            self._recent[decision.id] = decision
            if len(self._recent) > RECENT:
                self._recent.popitem(last=False)

    def _record(self, entry: Entry, note: Mapping[str, Any] | None = None) -> None:
        if note:
            entry.body["note"] = dict(note)
        at = time.time()
        try:
            self.journal.if_lost(self.forget)
            self._last = self.journal.append(self.number, [entry], at=at)
            self.tally.take(Event(self._last, at, entry.kind, entry.body))
        except BaseException:
            self.forget()
            raise
        if self._last - self._held >= (self.snapshot_every or SNAPSHOT_EVERY):
            self.keep()

    def forget(self) -> None:
        """Let go of a selector that may be ahead of the journal: it is read anew when it is needed."""
        self._selector = self._tally = None

    def keep(self) -> None:
        """Write a snapshot, so that the next start has nothing to repeat."""
        if self._selector is not None and self._tally is not None and self._last > self._held:
            state, tally = self._selector.to_bytes(), self._tally.state()
            self.journal.keep_snapshot(self.number, self._last, state, tally)
            self._held = self._last

    def verify(self) -> int:
        """Repeat the project's whole history; return how many events, or say where it differs.

        The selector that comes out must equal the one in use, bit for bit, and so must what was counted.
        Of a project that was compacted, what lies behind the compaction is repeated.
        """
        base = self.journal.base(self.number)
        (selector, tally), count = self._begin(base), 0
        for event in self.journal.events(self.number, after=0 if base is None else base.event):
            try:
                events.repeat(selector, event)
            except InputError as error:
                raise JournalError(f"event {event.number} cannot be repeated: {error}") from error
            tally.take(event)
            count += 1
        where = f"{self.journal.path}: project {self.name!r}: repeating its {count} events gives"
        if selector.to_bytes() != self.selector.to_bytes():
            raise JournalError(f"{where} another selector than its snapshot and the events behind it")
        if tally.state() != self.tally.state():
            raise JournalError(f"{where} other counts than its snapshot and the events behind it")
        return count


MAX_PENDING = 10_000
"""How many decisions wait at most, where a project's description does not say."""


def make(description: Mapping[str, Any]) -> Selector:
    """Return a new selector as a project's description says."""
    return Selector(
        description["selector"],
        description["algorithms"],
        description["cutoff"],
        seed=description.get("seed", 0),
        feature_names=description.get("feature_names"),
        max_pending=description.get("max_pending", MAX_PENDING),
        **description.get("hyperparameters", {}),
    )
