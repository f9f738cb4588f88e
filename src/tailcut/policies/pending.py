"""The decisions that a selector remembers: those that wait, their outcomes, and instances still open."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from tailcut.errors import ConflictingOutcomeError, OutOfTurnError, UnknownDecisionError
from tailcut.policies import runs
from tailcut.policies.runs import Run
from tailcut.types import Decision, Outcome, Status


class Ledger:
    """Numbers decisions and keeps the latest `limit` of each kind, so that a stream costs no memory."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.next_id = 0
        self.learned = 0
        """How many outcomes taught the selector something, since ever."""
        self.pending: OrderedDict[int, Run] = OrderedDict()
        """Decisions that wait for their outcome, oldest first."""
        self.observed: OrderedDict[int, Outcome] = OrderedDict()
        """Outcomes, the oldest first."""
        # Of schedules only, and for no longer than the decision is in `observed`:
        self.open: dict[int, Run] = {}
        """Unsolved instances, by the last decision on each."""
        self.continued: dict[int, int] = {}
        """Decision -> the next one on the same instance."""

    def enter(self, run: Run) -> int:
        """Let a run wait for its outcome and return its number; the oldest is given up if there are many."""
        number = self.next_id
        self.pending[number] = run
        self.next_id = number + 1
        if len(self.pending) > self.limit:
            self.pending.popitem(last=False)
        return number

    def settle(self, decision: Decision | int, outcome: Outcome) -> Run | None:
        """Take in the outcome of a run and return the run; None if this very outcome is known already."""
        number = _number(decision)
        run = self.pending.get(number)
        if run is None:
            self._check_repeated(number, outcome)
            return None
        if isinstance(decision, Decision):
            _check_same(decision, run)
        del self.pending[number]
        self.observed[number] = outcome
        if run.failed is not None and outcome.status is not Status.SOLVED:
            self.open[number] = run.after(outcome)
        if len(self.observed) > self.limit:
            oldest, _ = self.observed.popitem(last=False)
            self.open.pop(oldest, None)
            self.continued.pop(oldest, None)
        return run

    def find_open(self, decision: Decision | int) -> tuple[int, Run | None]:
        """Return a decision's number and its instance, None if that is over; raise if it cannot go on."""
        number = _number(decision)
        run = self.open.get(number)
        if run is None:
            self._check_over(number)
        elif isinstance(decision, Decision):
            _check_same(decision, run)
        return number, run

    def check_own(self, decision: Decision) -> None:
        """Raise unless the decision can be one of ours."""
        run = self.pending.get(decision.id)
        if run is not None:
            _check_same(decision, run)
        elif not 0 <= decision.id < self.next_id:
            raise UnknownDecisionError(f"there is no decision {decision.id}")

    def _check_repeated(self, number: int, outcome: Outcome) -> None:
        """Raise unless this very outcome is already known for the decision."""
        if number not in self.observed:
            self._refuse(number)
        known = self.observed[number]
        if known != outcome:
            raise ConflictingOutcomeError(
                f"decision {number} was already observed as {_words(known)}; got {_words(outcome)}"
            )

    def _check_over(self, number: int) -> None:
        """Raise unless the decision is known to have been the last on its instance."""
        if number in self.pending:
            raise OutOfTurnError(f"decision {number} waits for its outcome: observe() it before proceed()")
        if number in self.continued:
            raise OutOfTurnError(f"decision {number} was already continued, by {self.continued[number]}")
        if number not in self.observed:
            self._refuse(number)

    def _refuse(self, number: int) -> NoReturn:
        """Say why a decision is not known."""
        if 0 <= number < self.next_id:
            raise UnknownDecisionError(
                f"decision {number} is no longer known: only the latest {self.limit} are kept"
            )
        raise UnknownDecisionError(f"there is no decision {number}")

    def state(self) -> dict[str, Any]:
        """Return everything as values for a state file."""
        return {
            "next_id": self.next_id,
            "learned": self.learned,
            "pending": runs.pack(self.pending),
            "observed": [[n, o.status.value, o.time] for n, o in self.observed.items()],
            "open": runs.pack(self.open),
            "continued": [[number, following] for number, following in self.continued.items()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue exactly where `state` was taken."""
        self.next_id = state["next_id"]
        self.learned = state.get("learned", len(state["observed"]))
        self.pending = OrderedDict(runs.unpack(state["pending"]))
        self.observed = OrderedDict((n, Outcome(Status(s), t)) for n, s, t in state["observed"])
        if "open" in state:  # not in format 1, which knew no schedules
            self.open = runs.unpack(state["open"])
            self.continued = dict(state["continued"])


def _number(decision: Decision | int) -> int:
    number = decision.id if isinstance(decision, Decision) else decision
    if not isinstance(number, int):
        raise UnknownDecisionError(f"there is no decision {number!r}: decisions are numbered")
    return number


def _check_same(decision: Decision, run: Run) -> None:
    if (decision.algorithm, decision.instance, decision.cutoff) != run[:3]:
        raise UnknownDecisionError(
            f"decision {decision.id} ({decision.algorithm} on {decision.instance}) is not this selector's: "
            f"its own number {decision.id} is {run.algorithm} on {run.instance}"
        )


def _words(outcome: Outcome) -> str:
    return outcome.status.value if outcome.time is None else f"{outcome.status.value} at {outcome.time:g} s"
