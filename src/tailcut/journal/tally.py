"""What a project has done so far, counted event by event: statistics that need no look at the past.

A tally holds a bounded amount, whatever the number of events, and is kept with each snapshot. It follows
from the events alone, so repeating them gives it again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from tailcut.journal.records import Event
from tailcut.journal.survival import BINS, Bins, Point

PENALTY = 10.0
"""The k of PARk: an unsolved instance counts k times its cutoff."""
CURVE = 256
"""Points of the curve over time at most; then every second is dropped and they are taken half as often."""


class Waiting(NamedTuple):
    """A run whose outcome is not known yet or, of a schedule, an instance that may go on."""

    algorithm: str
    instance: str | None
    cutoff: float
    budget: float
    spent: float
    stage: int
    at: float


class Counts:
    """What is known of one algorithm."""

    def __init__(self, cutoff: float) -> None:
        self.chosen = self.solved = self.censored = self.failed = 0
        self.seconds = 0.0
        """Of its solved runs."""
        self.loss = 0.0
        """PAR10 of the instances it was picked for, in seconds, where one pick is all."""
        self.bins = Bins(cutoff)

    @property
    def outcomes(self) -> int:
        """How many of its runs have ended."""
        return self.solved + self.censored + self.failed

    def state(self) -> list[Any]:
        """Return everything as JSON values."""
        counts = [self.chosen, self.solved, self.censored, self.failed, self.seconds, self.loss]
        return [*counts, self.bins.solved, self.bins.censored]

    def restore(self, state: list[Any]) -> None:
        """Continue where `state` was taken."""
        self.chosen, self.solved, self.censored, self.failed, self.seconds, self.loss = state[:6]
        if len(state[6]) == BINS:  # else the bins were cut otherwise: begin them anew
            self.bins.solved, self.bins.censored = list(state[6]), list(state[7])


class CurvePoint(NamedTuple):
    """Where things stood after some instances."""

    instances: int
    at: float
    loss: float
    """Sum of PAR10 over them, in seconds."""
    solved: int
    regret: float | None


class Tally:
    """Counts the events of one project; at most `limit` decisions wait, as in its selector."""

    def __init__(self, cutoff: float, *, schedules: bool, limit: int) -> None:
        self.cutoff, self.schedules, self.limit = cutoff, schedules, limit
        self.events = self.decisions = self.outcomes = self.given_up = 0
        self.instances = self.solved = 0
        """Instances that are over, and those of them that were solved."""
        self.loss = 0.0
        self.algorithms: dict[str, Counts] = {}
        self.pending: OrderedDict[int, Waiting] = OrderedDict()
        self.open: OrderedDict[int, Waiting] = OrderedDict()
        """Of schedules: unsolved instances that may go on, by the last decision on each."""
        self.curve: list[CurvePoint] = []
        self.stride = 1

    def take(self, event: Event) -> None:
        """Count one more event."""
        self.events += 1
        body = event.body
        match event.kind:
            case "select":
                cutoff = self.cutoff if body["cutoff"] is None else body["cutoff"]
                spent = body["spent"] + body.get("feature_cost", 0.0)
                self._start(body["decision"], body["instance"], cutoff, spent, event.at)
            case "observe":
                self._end(body["decision"], body["status"], body["time"], event.at)
            case "proceed":
                self._go_on(body, event.at)

    def counts(self, algorithm: str) -> Counts:
        """Return the counts of an algorithm, which may be new."""
        if algorithm not in self.algorithms:
            self.algorithms[algorithm] = Counts(self.cutoff)
        return self.algorithms[algorithm]

    def _start(
        self, told: Mapping[str, Any], instance: str | None, cutoff: float, spent: float, at: float
    ) -> None:
        self.decisions += 1
        name = told["algorithm"]
        self.counts(name).chosen += 1
        run = Waiting(name, instance, cutoff, told["budget"], spent, told["stage"], at)
        self.pending[told["id"]] = run
        if len(self.pending) > self.limit:
            self.pending.popitem(last=False)
            self.given_up += 1

    def _end(self, number: int, status: str, time: float | None, at: float) -> None:
        run = self.pending.pop(number)
        self.outcomes += 1
        counts = self.counts(run.algorithm)
        took = run.budget if time is None else time
        # A failed run would not have answered in any time: its curve stays up to the cutoff.
        counts.bins.add(run.cutoff if time is None else time, solved=status == "solved")
        if status == "solved":
            counts.solved += 1
            counts.seconds += took
            self._finish(counts, run.spent + took, at, solved=True)
            return
        if status == "censored":
            counts.censored += 1
        else:
            counts.failed += 1
        if not self.schedules:
            self._finish(counts, PENALTY * run.cutoff, at, solved=False)
            return
        self.open[number] = run._replace(spent=min(run.cutoff, run.spent + took))
        if len(self.open) > self.limit:
            self.open.popitem(last=False)

    def _go_on(self, body: Mapping[str, Any], at: float) -> None:
        run = self.open.pop(body["after"], None)
        if run is None:
            return
        if body["decision"] is None:
            self._finish(self.counts(run.algorithm), PENALTY * run.cutoff, at, solved=False)
            return
        spent = run.spent if body["spent"] is None else body["spent"]
        self._start(body["decision"], run.instance, run.cutoff, spent, at)

    def _finish(self, counts: Counts, loss: float, at: float, *, solved: bool) -> None:
        """Count an instance that is over."""
        self.instances += 1
        self.solved += solved
        self.loss += loss
        counts.loss += loss
        if self.instances % self.stride == 0:
            self.curve.append(CurvePoint(self.instances, at, self.loss, self.solved, self.regret))
            if len(self.curve) >= CURVE:
                del self.curve[::2]
                self.stride *= 2

    @property
    def par10(self) -> float | None:
        """PAR10 so far: mean seconds per instance, an unsolved one counting ten times its cutoff."""
        return self.loss / self.instances if self.instances else None

    @property
    def regret(self) -> float | None:
        """Seconds of PAR10 lost so far against the algorithm with the best mean of its own instances.

        An estimate: nobody knows what the others would have taken, and each was measured on the instances
        it was picked for. Less than 0 where picking pays. None for schedules, whose runs are slices.
        """
        if self.schedules or not self.instances:
            return None
        best = min(one.loss / one.outcomes for one in self.algorithms.values() if one.outcomes)
        return self.loss - self.instances * best

    def survival(self, algorithm: str) -> list[Point]:
        """Return the survival curve of an algorithm's runs."""
        return self.algorithms[algorithm].bins.curve() if algorithm in self.algorithms else []

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "events": self.events,
            "decisions": self.decisions,
            "outcomes": self.outcomes,
            "given_up": self.given_up,
            "instances": self.instances,
            "solved": self.solved,
            "loss": self.loss,
            "stride": self.stride,
            "algorithms": {name: counts.state() for name, counts in self.algorithms.items()},
            "pending": [[number, *run] for number, run in self.pending.items()],
            "open": [[number, *run] for number, run in self.open.items()],
            "curve": [list(point) for point in self.curve],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` was taken."""
        for field in ("events", "decisions", "outcomes", "given_up", "instances", "solved", "loss", "stride"):
            setattr(self, field, state[field])
        for name, counts in state["algorithms"].items():
            self.counts(name).restore(counts)
        self.pending = OrderedDict((number, Waiting(*run)) for number, *run in state["pending"])
        self.open = OrderedDict((number, Waiting(*run)) for number, *run in state["open"])
        self.curve = [CurvePoint(*point) for point in state["curve"]]
