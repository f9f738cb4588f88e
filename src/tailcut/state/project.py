"""A project: a named selector whose every step is in the journal before anyone is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tailcut.border import Features
from tailcut.errors import JournalError, StateFileError
from tailcut.selector import Selector
from tailcut.state import events
from tailcut.state.journal import Event, Journal
from tailcut.types import Decision, Outcome

SNAPSHOT_EVERY = 1000
"""Events between two snapshots: so many at most are repeated when a project is opened."""


class Project:
    """A selector kept in a journal; it comes back bit for bit, whatever ended the process before.

    Each step is made, written, and only then returned. When it cannot be written, an error is raised and
    the selector goes back to what the journal holds, so that memory and journal never part.

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

    def __init__(self, journal: Journal, name: str) -> None:
        numbers = journal.projects()
        if name not in numbers:
            known = ", ".join(numbers) or "none"
            raise JournalError(f"{journal.path}: there is no project {name!r}; known: {known}")
        self.journal, self.name, self.number = journal, name, numbers[name]
        self.description = journal.description(self.number)
        self._selector: Selector | None = None
        self._last = self._held = 0
        self._load()

    @classmethod
    def create(cls, journal: Journal, name: str, description: Mapping[str, Any]) -> Project:
        """Begin a project: `description` holds the keywords of `Selector`, and whatever else to keep."""
        make(description)  # raises if it cannot be made, before anything is written
        journal.create(name, dict(description))
        return cls(journal, name)

    def _load(self) -> Selector:
        """Bring the selector to where the journal is."""
        found = self.journal.snapshot(self.number)
        try:
            selector = make(self.description) if found is None else Selector.from_bytes(found[1])
        except StateFileError as error:
            raise JournalError(f"{self.journal.path}: snapshot of {self.name!r}: {error}") from error
        self._last = self._held = 0 if found is None else found[0]
        for event in self.journal.events(self.number, after=self._held):
            events.repeat(selector, event)
            self._last = event.number
        self._selector = selector
        return selector

    @property
    def selector(self) -> Selector:
        """The selector as the journal has it; to look at, not to change."""
        return self._load() if self._selector is None else self._selector

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
        note: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Decide as `Selector.select`; `note` is written down beside it."""
        chosen = None if among is None else list(among)
        how: dict[str, Any] = {"instance": instance, "cutoff": cutoff, "among": chosen}
        how |= {"spent": spent, "feature_cost": feature_cost}
        decision = self.selector.select(features, **how)
        body = {"features": events.plain_features(features), **how, "decision": events.told(decision)}
        self._record(events.SELECT, body, note)
        return decision

    def observe(
        self, decision: Decision | int, outcome: Outcome, *, note: Mapping[str, Any] | None = None
    ) -> bool:
        """Learn as `Selector.observe`; an outcome that is known already is not written again."""
        if not self.selector.observe(decision, outcome):
            return False
        number = decision.id if isinstance(decision, Decision) else decision
        body = {"decision": number, "status": outcome.status.value, "time": outcome.time}
        self._record(events.OBSERVE, body, note)
        return True

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Go on as `Selector.proceed`; where the selector picks once, there is nothing to write."""
        following = self.selector.proceed(decision, spent=spent)
        if self.selector.schedules:
            number = decision.id if isinstance(decision, Decision) else decision
            body = {"after": number, "spent": spent, "decision": events.told(following)}
            self._record(events.PROCEED, body)
        return following

    def add_algorithm(self, name: str) -> None:
        """Offer one more algorithm from now on."""
        self.selector.add_algorithm(name)
        self._record(events.ADD, {"algorithm": name})

    def remove_algorithm(self, name: str) -> None:
        """Stop offering an algorithm and forget what was learned of it."""
        self.selector.remove_algorithm(name)
        self._record(events.REMOVE, {"algorithm": name})

    def remark(self, body: Mapping[str, Any]) -> None:
        """Keep something in the journal that is no step of the selector."""
        self._record(events.REMARK, dict(body))

    def _record(self, kind: str, body: dict[str, Any], note: Mapping[str, Any] | None = None) -> None:
        if note:
            body["note"] = dict(note)
        try:
            self._last = self.journal.append(self.number, [(kind, body)])
        except BaseException:
            self._selector = None  # it is ahead of the journal: read it anew when it is needed
            raise
        if self._last - self._held >= SNAPSHOT_EVERY:
            self.keep()

    def keep(self) -> None:
        """Write a snapshot, so that the next start has nothing to repeat."""
        if self._selector is not None and self._last > self._held:
            self.journal.keep_snapshot(self.number, self._last, self._selector.to_bytes())
            self._held = self._last

    def verify(self) -> int:
        """Repeat the project's whole history; return how many events, or say where it differs.

        The selector that comes out must equal the one in use, bit for bit.
        """
        selector, count = make(self.description), 0
        for event in self.journal.events(self.number):
            events.repeat(selector, event)
            count += 1
        if selector.to_bytes() != self.selector.to_bytes():
            raise JournalError(
                f"{self.journal.path}: project {self.name!r}: repeating its {count} events gives another "
                "selector than its snapshot and the events behind it"
            )
        return count


def make(description: Mapping[str, Any]) -> Selector:
    """Return a new selector as a project's description says."""
    return Selector(
        description["selector"],
        description["algorithms"],
        description["cutoff"],
        seed=description.get("seed", 0),
        feature_names=description.get("feature_names"),
        **description.get("hyperparameters", {}),
    )
