"""How a program observes a stream, and the totals: solved, unsolved, time per solver, and what runs now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailcut.journal.past_runs import WarmStart
from tailcut.live.instance_record import InstanceRecord, RunRecord


class StreamObserver:
    """Is called when something happens in a stream; override the methods you need.

    The thread that runs the stream calls all methods and waits for them.
    """

    def solver_added(self, solver: str) -> None:
        """Handle a solver of the portfolio that the state file did not have."""

    def solver_removed(self, solver: str) -> None:
        """Handle a solver of the state file that is no longer in the portfolio."""

    def solver_quarantined(self, solver: str, words: str) -> None:
        """Handle a solver that is set aside, now or since an earlier call, and the reason."""

    def noted(self, words: str) -> None:
        """Handle a remark for the user: completed instances that are run again, and why; missing outputs."""

    def warm_started(self, report: WarmStart) -> None:
        """Handle the recorded runs that were learned before the stream began, and mismatches."""

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        """Handle the earlier totals and the total number of instances, None if unknown.

        The stream keeps the totals up to date, each time before it calls a method of this class.
        """

    def features_started(self, record: InstanceRecord) -> None:
        """Handle the start of computing an instance's features."""

    def features_ended(self, record: InstanceRecord) -> None:
        """Handle features that were computed and stored before anything was decided."""

    def run_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        """Handle the start of a solver on an instance, with its budget in seconds."""

    def run_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        """Handle the end of a run, which is in the journal."""

    def extra_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        """Handle the start of an extra run that measures an instance."""

    def extra_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        """Handle the end of an extra run."""

    def instance_over(self, record: InstanceRecord) -> None:
        """Handle a completed instance, solved or not; its line is in the file of answers."""


@dataclass
class SolverTotals:
    runs: int = 0
    solved: int = 0
    seconds: float = 0.0
    said: str | None = None
    """The output of one of its runs that finished without an answer."""


@dataclass
class Totals(StreamObserver):
    """Sums over completed instances, and the activity on the others."""

    clock: Callable[[], float] = time.monotonic
    solved: int = 0
    unsolved: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    wall: float = 0.0
    """CPU and wall time of chosen runs; CPU time is larger if several solvers ran at once."""
    raced: int = 0
    """Instances on which several solvers ran at once."""
    feature_seconds: float = 0.0
    measured: set[str] = field(default_factory=set)
    """Completed instances that are, or were, run with every solver."""
    extra_runs: int = 0
    extra_seconds: float = 0.0
    """Time of the extra runs that measure instances; in no other sum."""
    opinion_runs: int = 0
    opinion_seconds: float = 0.0
    """Time of second opinions; in no other sum."""
    rated: int = 0
    loss: float = 0.0
    """Runs rated by a loss, and the sum of their losses."""
    skipped: int = 0
    """Given instances that were completed earlier with the same content."""
    problems: list[str] = field(default_factory=list)
    """Answers refuted, programs missing and the like, with their instances."""
    solvers: dict[str, SolverTotals] = field(default_factory=dict)
    current: dict[tuple[str, str | None], tuple[float | None, float]] = field(default_factory=dict)
    """What runs now, in the order in which it began: instance and solver -> budget, and when it began by the
    clock; features have neither a solver nor a budget."""

    @staticmethod
    def of(records: Iterable[InstanceRecord]) -> Totals:
        """Return the totals of earlier work, whose problems were reported then."""
        totals = Totals()
        for record in records:
            for run in record.runs:
                totals.add_run(run)
            for run in record.extra.values():
                totals._add_extra(record, run)
            if record.over:
                totals.add_instance(record)
        return totals

    @property
    def over(self) -> int:
        return self.solved + self.unsolved

    @property
    def silent(self) -> list[str]:
        """A sentence on each solver that gave no answer at all, although some of its runs finished."""
        lines = []
        for name, one in self.solvers.items():
            if one.said is not None and not one.solved:
                runs = "its only run, which" if one.runs == 1 else f"{one.runs} runs; one"
                lines.append(f"no answer at all from {name} in {runs} printed: {one.said}")
        return lines

    def solver_quarantined(self, solver: str, words: str) -> None:  # noqa: ARG002
        self.problems.append(words)

    def features_started(self, record: InstanceRecord) -> None:
        self.current[record.instance, None] = None, self.clock()

    def features_ended(self, record: InstanceRecord) -> None:
        self.current.pop((record.instance, None), None)

    def run_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        self.features_ended(record)
        self.extra_started(record, solver, budget)

    def run_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        self.add_run(run)
        if record.announced:  # another solver was faster
            self.seconds += run["seconds"]
        self._end(record, run)

    def extra_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        self.current[record.instance, solver] = budget, self.clock()

    def extra_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        self._add_extra(record, run)
        self._end(record, run)

    def _end(self, record: InstanceRecord, run: RunRecord) -> None:
        self.current.pop((record.instance, run["solver"]), None)
        if run.get("problem"):
            self.problems.append(f"{record.instance}: {run['solver']}: {run['problem']}")

    def instance_over(self, record: InstanceRecord) -> None:
        self.features_ended(record)
        self.add_instance(record)
        if record.problem:
            self.problems.append(f"{record.instance}: {record.problem}")

    def add_run(self, run: Mapping[str, Any]) -> None:
        solver = self.solvers.setdefault(run["solver"], SolverTotals())
        solver.runs += 1
        solver.seconds += run["seconds"]
        solver.solved += run["answer"] is not None
        solver.said = run.get("said", solver.said)
        if "loss" in run:
            self.rated += 1
            self.loss += run["loss"]

    def _add_extra(self, record: InstanceRecord, run: RunRecord) -> None:
        if record.measure is None:
            self.opinion_runs += 1
            self.opinion_seconds += run["seconds"]
        else:
            self.extra_runs += 1
            self.extra_seconds += run["seconds"]

    def add_instance(self, record: InstanceRecord, count: int = 1) -> None:
        if record.measure is not None:
            self.measured.add(record.instance)
        self.solved += count * (record.answer is not None)
        self.unsolved += count * (record.answer is None)
        self.seconds += count * record.seconds
        self.cpu += count * record.cpu
        self.wall += count * record.wall
        self.raced += count * record.raced
        self.feature_seconds += count * record.feature_seconds
