"""Learning while idle: idle workers run other solvers on answered instances.

Which solver, on which instance and for how long is the selector's choice (`Selector.next_lesson`). Lessons
run at the lowest priority and stop as soon as their worker is needed; their time is counted separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tailcut.errors import InputError
from tailcut.journal.answered import LentLessons, LessonOffer
from tailcut.live import outcomes
from tailcut.live.engine import Engine
from tailcut.live.instance_record import InstanceRecord, RunRecord, run_record
from tailcut.live.instances import Instance
from tailcut.live.jobs import JobStopper
from tailcut.live.limits import Ending
from tailcut.live.portfolio import Clock, Portfolio
from tailcut.live.totals import Totals
from tailcut.live.workflows import StoppableWork, Workflow
from tailcut.types import Status

WORTH_KEEPING = 0.1
"""A stopped lesson is learned if it used at least this share of its budget."""


@dataclass(frozen=True)
class LearnIdle:
    """When lessons are run."""

    idle: bool = False
    """Whether every worker that has nothing else to do runs lessons."""
    share: float = 0.0
    """CPU time for lessons beside the stream, one at a time, as a share of the answers' CPU time."""

    def check(self, portfolio: Portfolio) -> None:
        """Raise if lessons would teach wrong times."""
        if portfolio.clock is Clock.WALL:
            raise InputError(
                f"{portfolio.file}: lessons run at the lowest priority, so only their CPU time says "
                'something, and clock is "wall": leave out --learn-idle and --learn-share',
                field="clock",
            )


class IdleLessons:
    """Gives the lessons of a stream, one after the other."""

    def __init__(
        self, plan: LearnIdle, engine: Engine, records: Mapping[str, InstanceRecord], totals: Totals
    ) -> None:
        self._plan, self._engine, self._records, self._totals = plan, engine, records, totals
        self._instances: dict[str, Instance] = {}
        self._lent = LentLessons()

    def seen(self, instance: Instance) -> None:
        """Add an instance: lessons may run on it once it is completed."""
        self._instances[instance.name] = instance

    def room(self, idle_workers: int) -> int:
        """Return how many lessons may be in progress."""
        beside = self._totals.lesson_seconds < self._plan.share * self._totals.seconds
        return max(idle_workers if self._plan.idle else 0, int(beside))

    def begin(self) -> StoppableWork[InstanceRecord] | None:
        """Return the next lesson, None if there is none."""
        project = self._engine.project
        while offer := self._lent.offer(project.selector, project.statistics.answered, self._may_be_run):
            instance, record = self._instances[offer.instance], self._records[offer.instance]
            if record.content is None or record.content.is_in(instance.path):
                stopper = JobStopper()
                return StoppableWork(self._lesson(offer, instance, record, stopper), stopper)
            del self._instances[offer.instance]  # its file has changed, or is gone
        return None

    def _may_be_run(self, name: str) -> bool:
        return name in self._instances and name in self._records and self._records[name].complete

    def _lesson(
        self, offer: LessonOffer, instance: Instance, record: InstanceRecord, stopper: JobStopper
    ) -> Workflow[InstanceRecord]:
        """Run a solver on an instance, and learn from it unless it was stopped early."""
        observers = self._engine.observers
        for observer in observers:
            observer.lesson_started(record, offer.algorithm, offer.budget)
        run = yield from self._run(offer, instance, stopper)
        decision, outcome = record.first_decision, run.outcome
        learned = (
            outcome.status is not Status.CENSORED or (outcome.time or 0.0) >= WORTH_KEEPING * offer.budget
        )
        ended: RunRecord = run_record(offer.algorithm, offer.budget, run.note)
        learned &= offer.algorithm in self._engine.project.selector.algorithms  # not set aside since
        if learned:
            self._engine.project.fit(
                offer.runs(outcome),
                note={
                    "lesson": offer.algorithm,
                    "decision": decision,
                    "budget": offer.budget,
                    "run": run.note,
                },
            )
            record.lessons.append(ended)
        self._lent.give_back(offer)
        for observer in observers:
            observer.lesson_ended(record, ended, learned=learned)
        return record

    def _run(
        self, offer: LessonOffer, instance: Instance, stopper: JobStopper
    ) -> Workflow[outcomes.SolverRun]:
        """Run the solver and verify its answer, both at the lowest priority; both can be stopped."""
        portfolio = self._engine.portfolio
        work = outcomes.solver_run(portfolio, portfolio.solvers[offer.algorithm], instance, offer.budget)
        try:
            first = yield next(work)._replace(stopper=stopper, lowest_priority=True)
            job = work.send(first)  # to verify an answer
            while True:
                checked = yield job._replace(stopper=stopper, lowest_priority=True)
                if checked.ending is Ending.CANCELLED:
                    return outcomes.unchecked_run(portfolio, first)
                job = work.send(checked)
        except StopIteration as stopped:
            run: outcomes.SolverRun = stopped.value
            run.note.pop("problem" if outcomes.starved(portfolio, first, offer.budget) else "", None)
            return run
        finally:
            work.close()
