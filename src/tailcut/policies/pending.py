"""The decisions that a selector remembers: those that wait, their outcomes, and instances still open."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from tailcut.errors import ConflictingOutcomeError, OutOfTurnError, StateFileError, UnknownDecisionError
from tailcut.policies.policy import Policy
from tailcut.state import Stateful, expect
from tailcut.types import NO_FEATURES, Array, Decision, Outcome, Progress, Status

_NOTHING = 1e-9
"""A remaining share of the cutoff below this is a rounding error."""


class PendingRun(NamedTuple):
    """What is stored about a run until its outcome is known, and about an open instance.

    Algorithms are identified by name here, because their numbers may change.
    """

    algorithm: str
    instance: str | None
    cutoff: float
    x: Array
    """The represented instance, shape (d,)."""
    budget: float
    spent: float = 0.0
    """Seconds used on the instance before this run or, for an open instance, after it."""
    stage: int = 0
    among: tuple[str, ...] | None = None
    """Which algorithms may run on this instance; None: all. In a race, where others follow by `race` alone,
    it is the one that runs."""
    failed: Mapping[str, float] | None = None
    """The longest unsuccessful run of each algorithm on this instance; None for one pick."""
    alone: bool = False
    """Whether the favourite began on this instance without others; never in a race."""
    begun: int = -1
    """The number of the first decision on this instance; version 0.2 did not keep it."""

    @property
    def time_is_left(self) -> bool:
        """Whether another run on the instance makes sense."""
        return self.cutoff - self.spent > _NOTHING * self.cutoff

    def progress(self, algorithms: Sequence[str]) -> Progress:
        """Return the progress on the instance, for the algorithms in this order."""
        failed = self.failed
        if failed is None:
            return Progress(self.cutoff, self.spent, None, self.begun)
        seconds = np.fromiter(map(failed.get, algorithms, repeat(0.0)), np.float64, len(algorithms))
        return Progress(self.cutoff, self.spent, seconds, self.begun)

    def after(self, outcome: Outcome) -> PendingRun:
        """Return the instance after this run ended without solving it.

        >>> run = PendingRun("a", None, 60.0, np.zeros(0), budget=20.0, spent=5.0, failed={})
        >>> run.after(Outcome.censored(20.0)).spent, run.after(Outcome.censored(20.0)).failed
        (25.0, {'a': 20.0})
        >>> run.after(Outcome.failed()).failed  # it would not have solved it in any time
        {'a': 60.0}
        """
        assert not outcome.answered
        # A failed run has no end time; its whole slice counts unless the caller knows better.
        took, known = (self.budget, self.cutoff) if outcome.time is None else (outcome.time, outcome.time)
        failed = dict(self.failed or {})
        failed[self.algorithm] = max(known, failed.get(self.algorithm, 0.0))
        return self._replace(spent=min(self.cutoff, self.spent + took), failed=failed)

    def still_offered(self, algorithms: Sequence[str]) -> list[int] | None:
        """Return the numbers of the algorithms that may run next, without failed ones; None for all."""
        failed = self.failed or {}
        lost = {name for name, seconds in failed.items() if seconds >= self.cutoff}
        if self.among is None and not lost:
            return None
        pool = set(algorithms if self.among is None else self.among) - lost
        return [number for number, name in enumerate(algorithms) if name in pool]


class PendingDecisions(Stateful):
    """Numbers decisions and keeps the latest `limit` of each kind, so that memory is bounded."""

    STATE = ("next_id", "learned")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.identity = secrets.randbits(62) | 1
        """Ties decisions to their selector, also in a copy; 0: they are compared by their contents alone."""
        self.next_id = 0
        self.learned = 0
        """The total number of outcomes from which the selector learned something."""
        self.runs: OrderedDict[int, PendingRun] = OrderedDict()
        """Decisions that wait for their outcome, oldest first."""
        self.observed: OrderedDict[int, Outcome] = OrderedDict()
        """Outcomes, the oldest first."""
        # For schedules only, and as long as the decision is in `observed`:
        self.open: dict[int, PendingRun] = {}
        """Unsolved instances, by the last decision on each."""
        self.continued: dict[int, int] = {}
        """Decision -> the next one on the same instance."""

    def enter(self, run: PendingRun) -> int:
        """Let a run wait for its outcome and return its number; drop the oldest beyond the limit."""
        number = self.next_id
        self.runs[number] = run
        self.next_id = number + 1
        if len(self.runs) > self.limit:
            self.runs.popitem(last=False)
        return number

    def settle(self, decision: Decision | int, outcome: Outcome) -> PendingRun | None:
        """Record the outcome of a run and return the run; None if the same outcome is already known."""
        number = number_of(decision)
        run = self.runs.get(number)
        if isinstance(decision, Decision):
            self._check_same(decision, run)
        if run is None:
            self._check_done(number)
            known = self.observed[number]
            if known == outcome:
                return None
            given = f"{_described(known)}; got {_described(outcome)}"
            raise ConflictingOutcomeError(f"decision {number} was already observed as {given}")
        del self.runs[number]
        self.observed[number] = outcome
        if run.failed is not None and not outcome.answered:
            self.open[number] = run.after(outcome)
        if len(self.observed) > self.limit:
            oldest, _ = self.observed.popitem(last=False)
            self.open.pop(oldest, None)
            self.continued.pop(oldest, None)
        return run

    def budgets(self, running: Iterable[str], instance: str | None) -> dict[str, float]:
        """Return the seconds that each running algorithm was given on an instance, if its decision waits.

        >>> pending = PendingDecisions(limit=10)
        >>> _ = pending.enter(PendingRun("a", "i1", 60.0, np.zeros(0), budget=20.0))
        >>> pending.budgets(["a", "b"], "i1")
        {'a': 20.0}
        """
        wanted, budgets = set(running), dict[str, float]()
        for run in reversed(self.runs.values()):  # the latest first; those of a race are among the last
            if not wanted:
                break
            if run.instance == instance and run.algorithm in wanted:
                wanted.remove(run.algorithm)
                budgets[run.algorithm] = run.budget
        return budgets

    def find_open(self, decision: Decision | int) -> tuple[int, PendingRun | None]:
        """Return a decision's number and its instance, None if that is done; raise if it cannot continue."""
        number = number_of(decision)
        run = self.open.get(number)
        if isinstance(decision, Decision):
            self._check_same(decision, self.find(number))
        if number in self.runs:
            raise OutOfTurnError(f"decision {number} waits for its outcome: observe() it before proceed()")
        if number in self.continued:
            raise OutOfTurnError(f"decision {number} was already continued, by {self.continued[number]}")
        if run is None:
            self._check_done(number)
        return number, run

    def find(self, number: int) -> PendingRun | None:
        """Return the stored run of a decision that waits or whose instance is open."""
        return self.runs.get(number) or self.open.get(number)

    def check_own(self, decision: Decision) -> None:
        """Raise unless the decision can be one of this selector's."""
        run = self.runs.get(decision.id)
        self._check_same(decision, run)
        if run is None and not 0 <= decision.id < self.next_id:
            raise UnknownDecisionError(f"there is no decision {decision.id}")

    def _check_same(self, decision: Decision, run: PendingRun | None) -> None:
        """Raise if another selector made the decision, or if it is not that of the `run` stored."""
        origin = decision.origin
        maker = 0 if origin is None else origin.maker
        ours = origin is not None and run is not None and maker == self.identity and origin.x is run.x
        if ours and run is not None and decision.algorithm is run.algorithm:  # as almost always
            return
        foreign = maker and self.identity and maker != self.identity
        if not foreign and (run is None or _is_of(decision, run)):
            return
        if foreign or run is None:
            why = "another one made it"
        else:
            why = f"its own number {decision.id} is {run.algorithm} on {run.instance} for {run.budget:g} s"
        theirs = f"{decision.algorithm} on {decision.instance}"
        raise UnknownDecisionError(f"decision {decision.id} ({theirs}) is not this selector's: {why}")

    def check_fits(self, policy: Policy | None) -> None:
        """Raise unless waiting runs have the representation of this policy."""
        waiting = [*self.runs.values(), *self.open.values()]
        if not waiting:
            return
        if policy is None:
            raise StateFileError("policy: decisions wait, and there is none")
        same = policy.width is None or all(len(run.x) in (0, policy.width) for run in waiting)
        expect(same, f"x: expected {policy.width} entries")
        expect(max((*self.runs, *self.open)) < self.next_id, "next_id: is too low")

    def _check_done(self, number: int) -> None:
        """Raise unless the outcome of the decision is known."""
        if number in self.observed:
            return
        if 0 <= number < self.next_id:
            raise UnknownDecisionError(
                f"decision {number} is no longer known: only the latest {self.limit} are kept"
            )
        raise UnknownDecisionError(f"there is no decision {number}")

    def state(self) -> dict[str, Any]:
        return {
            **super().state(),
            "waiting": _columns(self.runs),
            "outcomes": [[number, *plain_outcome(known).values()] for number, known in self.observed.items()],
            "unsolved": _columns(self.open),
            "continuations": [list(pair) for pair in self.continued.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.runs = OrderedDict(_runs(state["waiting"]))
        self.observed = OrderedDict(
            (n, Outcome(Status(status), *rest)) for n, status, *rest in state["outcomes"]
        )
        for number, outcome in self.observed.items():
            expect(isinstance(number, int) and is_outcome(outcome), f"outcome of {number!r:.20}: is not one")
        self.open = dict(_runs(state["unsolved"]))
        self.continued = dict(state["continuations"])
        numbers = (*self.continued, *self.continued.values())
        fine = all(isinstance(number, int) for number in numbers)
        expect(fine, "continuations: expected numbers of decisions")


def known_as(project: str) -> int:
    """Return the identity of a project's selector, the same in every process."""
    return int.from_bytes(sha256(project.encode()).digest()[:7], "big") | 1


def plain_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as it is stored: with a `loss` only if it has one.

    >>> plain_outcome(Outcome.solved(2.5)), plain_outcome(Outcome.rated(0.25))
    ({'status': 'solved', 'time': 2.5}, {'status': 'rated', 'time': None, 'loss': 0.25})
    """
    loss = {} if outcome.loss is None else {"loss": outcome.loss}
    return {"status": outcome.status.value, "time": outcome.time, **loss}


def is_outcome(outcome: Outcome) -> bool:
    """Return whether a stored outcome is valid: whether it has the numbers that its status needs."""
    time, loss = outcome.time, outcome.loss
    if outcome.status is Status.RATED:
        return time is None and isinstance(loss, int | float) and 0.0 <= loss <= 1.0
    if loss is not None:
        return False
    if time is None:
        return outcome.status is Status.FAILED
    return isinstance(time, int | float) and 0.0 <= time < np.inf


def number_of(decision: Decision | int) -> int:
    """Return the number of a decision, given by itself or as that number."""
    number = decision.id if isinstance(decision, Decision) else decision
    if not isinstance(number, int | np.integer):
        raise UnknownDecisionError(f"there is no decision {number!r}: decisions are numbered")
    return int(number)


def _is_of(decision: Decision, run: PendingRun) -> bool:
    """Return whether a decision is that of a run, by all that is known of both."""
    same = decision.algorithm == run.algorithm and decision.instance == run.instance
    same = same and decision.cutoff == run.cutoff and decision.budget == run.budget
    if not same or decision.stage != run.stage or decision.origin is None:
        return same and decision.stage == run.stage
    x = decision.origin.x
    return x is run.x or not len(x) or not len(run.x) or np.array_equal(x, run.x)


def _described(outcome: Outcome) -> str:
    if outcome.loss is not None:
        return f"rated {outcome.loss:g}"
    return outcome.status.value if outcome.time is None else f"{outcome.status.value} at {outcome.time:g} s"


_COLUMNS = tuple(name for name in PendingRun._fields if name != "x")
SINCE_0_3 = {"alone", "begun"}
"""What version 0.2 did not write."""


def _columns(runs: Mapping[int, PendingRun]) -> dict[str, Any]:
    """Return runs as values for a state file: a column per field, the instances as one table.

    A row of nan has no features.
    """
    columns = {name: [getattr(run, name) for run in runs.values()] for name in _COLUMNS}
    width = max((len(run.x) for run in runs.values()), default=0)
    rows = [run.x if len(run.x) else np.full(width, np.nan) for run in runs.values()]
    x = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    return {"number": list(runs), **columns, "x": x}


def _runs(saved: Mapping[str, Any]) -> Iterator[tuple[int, PendingRun]]:
    """Yield the runs, and their numbers, that `_columns` turned into `saved`; raise if one is invalid."""
    names = [name for name in _COLUMNS if name in saved or name not in SINCE_0_3]
    columns = zip(*(saved[name] for name in names), strict=True)
    for number, values, x in zip(saved["number"], columns, saved["x"], strict=True):
        fields = dict(zip(names, values, strict=True))
        fields["among"] = None if fields["among"] is None else tuple(fields["among"])
        fields["x"] = NO_FEATURES if np.isnan(x).any() else x  # represented, no value is missing
        run = PendingRun(**fields)
        expect(isinstance(number, int) and _is_run(run), f"decision {number!r:.20}: is not a run")
        yield number, run


def _is_run(run: PendingRun) -> bool:
    """Return whether a run read from a state is valid."""
    failed = {} if run.failed is None else run.failed
    seconds = (run.cutoff, run.budget, run.spent, *failed.values())
    return bool(
        isinstance(run.algorithm, str)
        and isinstance(run.instance, str | None)
        and isinstance(run.stage, int)
        and isinstance(run.alone, bool)
        and isinstance(run.begun, int)
        and all(isinstance(value, int | float) and 0.0 <= value < np.inf for value in seconds)
        and min(run.cutoff, run.budget) > 0.0
        and all(isinstance(name, str) for name in (*(run.among or ()), *failed))
        and np.isfinite(run.x).all()
    )
