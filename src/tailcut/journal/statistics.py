"""Statistics of a project, updated event by event and stored with each snapshot, so of a bounded size."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tailcut.journal.events import Event, EventKind
from tailcut.types import PENALTY, Outcome, Status

CURVE = 256
"""The maximum number of points of the curve; then every second one is dropped and the step is doubled."""
_DECIDED = -1
"""Replaces a race's first decision once the race is won."""
_LOST = 100
"""How many unsolved instances, the latest, another run may still join."""
_BINS = 64
_DECADES = 5.0
"""The bins reach from the cutoff down to this many powers of ten below it."""


class Waiting(NamedTuple):
    """A run without an outcome or, for a schedule, an instance that may continue."""

    algorithm: str
    instance: str | None
    cutoff: float
    budget: float
    spent: float
    stage: int
    at: float
    race: int | None = None
    """For a run in a race: the race's first decision; -1 if another run has solved the instance."""


_OF_DECISION = ("algorithm", "instance", "cutoff", "budget", "spent", "stage")
"""The fields of a run that are those of its decision."""


class SurvivalStep(NamedTuple):
    """The share of runs that are still unsolved after some time, among those that ran that long."""

    time: float
    survival: float
    at_risk: int


class RuntimeBins:
    """An algorithm's runs by when they ended, in bins of equal width on a logarithmic scale up to the cutoff.

    >>> bins = RuntimeBins(cutoff=100.0)
    >>> for seconds in (1.0, 10.0, 10.0):
    ...     bins.add(seconds, solved=True)
    >>> bins.add(100.0, solved=False)
    >>> [(round(point.time), point.survival, point.at_risk) for point in bins.curve()]
    [(0, 1.0, 4), (1, 0.75, 4), (12, 0.25, 3), (100, 0.25, 1)]
    """

    def __init__(
        self, cutoff: float, solved: Sequence[int] = (0,) * _BINS, censored: Sequence[int] = (0,) * _BINS
    ) -> None:
        self.cutoff, self.solved, self.censored = cutoff, [*solved], [*censored]

    def state(self) -> dict[str, list[int]]:
        return {"solved": [*self.solved], "censored": [*self.censored]}

    def add(self, seconds: float, *, solved: bool) -> None:
        share = seconds / self.cutoff
        place = 0 if share <= 0.0 else math.ceil(_BINS * (1.0 + math.log10(share) / _DECADES)) - 1
        counts = self.solved if solved else self.censored
        counts[min(max(place, 0), _BINS - 1)] += 1

    def curve(self) -> list[SurvivalStep]:
        """Return the Kaplan-Meier estimate: its start, each bin with a solved run, the last bin with any."""
        at_risk = sum(self.solved) + sum(self.censored)
        if not at_risk:
            return []
        survival, points = 1.0, [SurvivalStep(0.0, 1.0, at_risk)]
        last = max(place for place in range(_BINS) if self.solved[place] or self.censored[place])
        for place, (solved, censored) in enumerate(zip(self.solved, self.censored, strict=True)):
            survival *= 1.0 - solved / at_risk if solved else 1.0
            if solved or place == last:
                end = self.cutoff * 10.0 ** (_DECADES * ((place + 1) / _BINS - 1.0))
                points.append(SurvivalStep(float(end), survival, at_risk))
            at_risk -= solved + censored
        return points


@dataclass
class AlgorithmCounts:
    bins: RuntimeBins
    chosen: int = 0
    solved: int = 0
    censored: int = 0
    failed: int = 0
    seconds: float = 0.0
    loss: float = 0.0
    """PAR10 of the instances it was picked for, in seconds; for selectors that pick once."""
    rated: int = 0
    """Runs whose answer was rated by a loss."""
    rated_loss: float = 0.0

    @property
    def outcomes(self) -> int:
        return self.solved + self.censored + self.failed + self.rated

    @property
    def mean_loss(self) -> float | None:
        """The mean loss of its runs, if losses count; a failed one has a loss of 1."""
        return (self.rated_loss + self.failed) / (self.rated + self.failed) if self.rated else None


class CurveSample(NamedTuple):
    instances: int
    at: float
    loss: float
    solved: int


_TOTALS = ("events", "decisions", "outcomes", "given_up", "instances", "solved", "loss", "stride")
_RUNS = ("pending", "open", "lost")


class ProjectStatistics:
    """Counts the events of one project; at most `limit` decisions wait, as in its selector."""

    def __init__(self, cutoff: float, *, schedules: bool, limit: int) -> None:
        self.cutoff, self.schedules, self.limit = cutoff, schedules, limit
        self.events = self.decisions = self.outcomes = self.given_up = 0
        self.instances = self.solved = 0
        """Completed instances, and those of them that were solved."""
        self.loss = 0.0
        self.algorithms: dict[str, AlgorithmCounts] = {}
        self.pending: OrderedDict[int, Waiting] = OrderedDict()
        self.open: OrderedDict[int, Waiting] = OrderedDict()
        """For schedules: unsolved instances that may continue, by the last decision on each."""
        self.lost: OrderedDict[int, Waiting] = OrderedDict()
        """For one pick: the last run on an instance that counts as unsolved, by its race."""
        self.curve: list[CurveSample] = []
        self.stride = 1

    def state(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in _TOTALS},
            "saved_algorithms": {
                name: {**vars(counts), "bins": counts.bins.state()}
                for name, counts in self.algorithms.items()
            },
            **{
                f"saved_{name}": [[number, *run] for number, run in getattr(self, name).items()]
                for name in _RUNS
            },
            "saved_curve": [list(sample) for sample in self.curve],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` was taken; the earliest ones know no losses and nothing that was lost."""
        for name in _TOTALS:
            setattr(self, name, state[name])
        self.algorithms = {
            name: AlgorithmCounts(**{**saved, "bins": RuntimeBins(self.cutoff, **saved["bins"])})
            for name, saved in state["saved_algorithms"].items()
        }
        for name in _RUNS:
            rows = state.get(f"saved_{name}", [])
            setattr(self, name, OrderedDict((number, Waiting(*run)) for number, *run in rows))
        self.curve = [CurveSample(*sample[:4]) for sample in state["saved_curve"]]  # some have a fifth value

    def take(self, event: Event) -> None:
        self.events += 1
        match event.kind:
            case EventKind.SELECT:
                self._start(event.body["decision"], event.at, (event.body.get("note") or {}).get("race"))
            case EventKind.OBSERVE:
                self._end(event.body["decision"], event.outcome(), event.at)
            case EventKind.PROCEED:
                self._continue(event.body["after"], event.body["decision"], event.at)
            case EventKind.REMOVE_ALGORITHM:
                self.algorithms.pop(event.body["algorithm"], None)

    def counts(self, algorithm: str) -> AlgorithmCounts:
        if algorithm not in self.algorithms:
            self.algorithms[algorithm] = AlgorithmCounts(RuntimeBins(self.cutoff))
        return self.algorithms[algorithm]

    def _counts_of(self, run: Waiting) -> AlgorithmCounts:
        """Return the counts of a run's algorithm; those of a removed algorithm are discarded."""
        return self.algorithms.get(run.algorithm) or AlgorithmCounts(RuntimeBins(self.cutoff))

    def _start(self, decision: Mapping[str, Any], at: float, race: int | None = None) -> None:
        self.decisions += 1
        self.counts(decision["algorithm"]).chosen += 1
        if race is not None and race in self.pending:
            self.pending[race] = self.pending[race]._replace(race=race)
        if race is not None and race in self.lost:
            self._take_back(self.lost.pop(race))
        run = Waiting(**{name: decision[name] for name in _OF_DECISION}, at=at, race=race)
        self.given_up += _keep(self.pending, decision["id"], run, self.limit)

    def _end(self, number: int, outcome: Outcome, at: float) -> None:
        run = self.pending.pop(number)
        self.outcomes += 1
        counts = self._counts_of(run)
        took = run.budget if outcome.time is None else outcome.time
        if outcome.loss is not None:
            counts.rated += 1
            counts.rated_loss += outcome.loss
            self._finish(counts, 0.0, at, solved=True)
            return
        solved = outcome.status is Status.SOLVED
        rivals = self._rivals(run)
        # A failed run counts as unsolved up to the cutoff.
        counts.bins.add(run.cutoff if outcome.time is None else outcome.time, solved=solved)
        if solved:
            counts.solved += 1
            counts.seconds += took
            if run.race != _DECIDED:
                self._finish(counts, run.spent + took, at, solved=True)
            for one in rivals:
                self.pending[one] = self.pending[one]._replace(race=_DECIDED)
            return
        counts.censored += outcome.status is Status.CENSORED
        counts.failed += outcome.status is Status.FAILED
        if run.race == _DECIDED:
            return
        if self.schedules:
            _keep(self.open, number, run, self.limit)
        elif not rivals:  # the last of a race to end
            self._finish(counts, PENALTY * run.cutoff, at, solved=False)
            _keep(self.lost, number if run.race is None else run.race, run, _LOST)

    def race_of(self, instance: str | None) -> int | None:
        """Return the race on an instance that a run joins; None: there is no run on it."""
        for runs in (self.pending, self.open, self.lost):
            for number, run in reversed(runs.items()):
                if instance is not None and run.instance == instance:
                    return number if run.race in (None, _DECIDED) else run.race
        return None

    def _rivals(self, run: Waiting) -> list[int]:
        if run.race is None or run.race == _DECIDED:
            return []
        return [number for number, other in self.pending.items() if other.race == run.race]

    def _continue(self, after: int, following: Mapping[str, Any] | None, at: float) -> None:
        run = self.open.pop(after, None)
        if run is not None and following is not None:
            self._start(following, at)
        elif run is not None:
            self._finish(self._counts_of(run), PENALTY * run.cutoff, at, solved=False)

    def _finish(self, counts: AlgorithmCounts, loss: float, at: float, *, solved: bool) -> None:
        self.instances += 1
        self.solved += solved
        self.loss += loss
        counts.loss += loss
        if self.instances % self.stride == 0:
            self.curve.append(CurveSample(self.instances, at, self.loss, self.solved))
            if len(self.curve) >= CURVE:
                del self.curve[::2]
                self.stride *= 2

    def _take_back(self, run: Waiting) -> None:
        """Count an unsolved instance as not over: another run has joined."""
        loss = PENALTY * run.cutoff
        self.instances -= 1
        self.loss -= loss
        self._counts_of(run).loss -= loss
        if self.curve and self.curve[-1].instances > self.instances:
            self.curve.pop()

    @property
    def par10(self) -> float | None:
        """PAR10 so far, in seconds; None if losses count instead of runtimes."""
        return self.loss / self.instances if self.instances and self.mean_loss is None else None

    @property
    def mean_loss(self) -> float | None:
        """The mean loss so far, if losses count."""
        total = AlgorithmCounts(RuntimeBins(self.cutoff))
        for one in self.algorithms.values():
            total.rated, total.failed = total.rated + one.rated, total.failed + one.failed
            total.rated_loss += one.rated_loss
        return total.mean_loss

    def survival(self, algorithm: str) -> list[SurvivalStep]:
        return self.algorithms[algorithm].bins.curve() if algorithm in self.algorithms else []


def _keep(runs: OrderedDict[int, Waiting], number: int, run: Waiting, most: int) -> bool:
    """Add a run; return whether the oldest had to go for it."""
    runs[number] = run
    if len(runs) > most:
        runs.popitem(last=False)
        return True
    return False
