r"""The engine: takes each instance from its features through its runs to its answer, all in the journal.

    features -> select -> run -> verify the answer -> observe -> proceed -> run ... -> done
                   \-> to be measured: run every other solver -> verify -> fit

`Engine.serve` does that for one instance; `tailcut.live.workflows` runs several at once, so feedback comes
late and in any order. This module prints nothing: use an observer to see what happens.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tailcut import state as statefile
from tailcut.errors import LiveError
from tailcut.journal import Project
from tailcut.journal.instances import one_run
from tailcut.live import outcomes
from tailcut.live.aside import AsideSolvers
from tailcut.live.instance_record import ASIDE, ChosenRun, InstanceRecord, RunRecord
from tailcut.live.instances import Instance
from tailcut.live.jobs import JobStopper
from tailcut.live.objective import rated_run
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio, Solver
from tailcut.live.portfolio_program import Program
from tailcut.live.printable import printable
from tailcut.live.race_runs import RaceRuns
from tailcut.live.tags import with_tags
from tailcut.live.trust import Trust
from tailcut.live.workflows import WideWorkflow, Workflow
from tailcut.types import Outcome

_LONGEST_NAME = 200
"""Bytes of a file's name; file systems allow 255, and the temporary name is longer."""


class _Features(NamedTuple):
    values: dict[str, float] | None
    """None if they cost more than they gain (docs/howto/feature-budget.md), and if they failed."""
    seconds: float
    problem: str | None
    cannot_choose: bool = False
    """Whether the selector cannot choose with these."""


class PutOff(NamedTuple):
    """An instance to be run after the others."""

    instance: Instance
    measure_cutoff: float | None


class Engine:
    """Runs the solvers of a portfolio on instances, chosen by the selector of a project."""

    def __init__(
        self,
        portfolio: Portfolio,
        project: Project,
        *,
        cutoff: float,
        outputs: Path | None = None,
        observers: Sequence[StreamObserver] = (),
        aside: AsideSolvers | None = None,
        trust: Trust | None = None,
        parallel: int = 1,
    ) -> None:
        self.parallel = parallel
        """The maximum number of solvers at once on an instance."""
        self.portfolio, self.project, self.cutoff, self.outputs = portfolio, project, cutoff, outputs
        self.observers = tuple(observers)
        self.aside = AsideSolvers(portfolio, project, {}, self.observers) if aside is None else aside
        self.trust = Trust(portfolio, self.aside) if trust is None else trust
        self.put_off: list[PutOff] = []
        """Instances whose features could not be read before it was known which features there are."""
        self.urgent: deque[WideWorkflow[InstanceRecord]] = deque()
        """Runs that measure instances: they precede instances that have not started."""

    def serve(
        self,
        instance: Instance,
        record: InstanceRecord | None = None,
        *,
        may_put_off: bool = False,
        measure_cutoff: float | None = None,
    ) -> WideWorkflow[InstanceRecord]:
        """Complete an instance, from the beginning or from where its record stops.

        With `may_put_off`, an instance that cannot start yet is added to `put_off`. With `measure_cutoff`, a
        new instance is also run with every other solver, each for at most that many seconds: these runs are
        added to `urgent`.
        """
        record = InstanceRecord(instance.name) if record is None else record
        if not record.begun:
            yield from self._begin(instance, record, may_put_off=may_put_off, measure_cutoff=measure_cutoff)
        if self.parallel > 1 or record.raced:
            yield from RaceRuns(self, instance, record).run()
        else:
            yield from self._in_turn(instance, record)
        self._queue_extra(instance, record)
        yield from self.trust.opinions(self, instance, record)
        return record

    def _in_turn(self, instance: Instance, record: InstanceRecord) -> Workflow[None]:
        """Run one solver after the other until there is an answer or the schedule ends."""
        if record.begun and record.pending is None and not record.closed:
            self.proceed(record, record.seconds)
        self._queue_extra(instance, record)
        while record.pending is not None:
            yield from self.run_chosen(instance, record, record.pending)
            if not record.closed:
                self.proceed(record, record.seconds)

    def _begin(
        self, instance: Instance, record: InstanceRecord, *, may_put_off: bool, measure_cutoff: float | None
    ) -> Workflow[None]:
        """Compute the features and make the first decision."""
        found = yield from self._features(instance, record)
        note: dict[str, Any] = {"feature_seconds": found.seconds}
        if record.content is not None:
            note["content"] = record.content._asdict()
        if found.problem is not None:
            note["problem"] = found.problem
        if found.cannot_choose and may_put_off:
            self.put_off.append(PutOff(instance, measure_cutoff))
            return
        cutoff = self._cutoff(instance)
        if found.seconds >= cutoff or found.cannot_choose:
            self.project.remark({"instance": record.instance, "note": note})
            record.given_up(note)
            return
        if measure_cutoff is not None:
            # Every solver pays for the features, as the chosen one does.
            limit = min(measure_cutoff, cutoff - found.seconds)
            note["measure"] = {"solvers": list(self.portfolio.solvers), "cutoff": limit}
        record.cutoff = cutoff
        if self.parallel > 1:
            note["cutoff"] = cutoff  # the budget of a decision is the end of its slice
            made = self.project.race(
                found.values,
                k=self.parallel,
                instance=record.instance,
                cutoff=instance.cutoff,
                feature_cost=found.seconds,
                note=note,
            )
        else:
            made = [
                self.project.select(
                    found.values,
                    instance=record.instance,
                    cutoff=instance.cutoff,
                    feature_cost=found.seconds,
                    note=note,
                )
            ]
        record.selected(ChosenRun.of(made[0]), found.values, note)
        for rival in made[1:]:
            record.joined(ChosenRun.of(rival))

    def _cutoff(self, instance: Instance) -> float:
        return self.cutoff if instance.cutoff is None else instance.cutoff

    def compute_features(
        self, instance: Instance, record: InstanceRecord, program: Program
    ) -> Workflow[InstanceRecord]:
        """Compute the features of an instance before anything is decided, and store them."""
        for observer in self.observers:
            observer.features_started(record)
        found = yield from outcomes.computed_features(self.portfolio, program, instance, self.cutoff)
        self.project.keep_features(found.body(instance))
        record.computed = found
        for observer in self.observers:
            observer.features_ended(record)
        return record

    def _features(self, instance: Instance, record: InstanceRecord) -> Workflow[_Features]:
        """Return the features, unless the selector wants none."""
        program, selector = self.portfolio.features, self.project.selector
        budget = selector.feature_budget(cutoff=self._cutoff(instance))
        found = record.computed
        if found is None:
            if budget > 0.0 and program is None and (instance.tags or self.portfolio.tags):
                own = with_tags({}, instance.tags, selector.feature_names, always=self.portfolio.tags)
                return _Features(own, 0.0, None)
            if program is None or budget == 0.0:
                return _Features(None, 0.0, None)
            for observer in self.observers:
                observer.features_started(record)
            found = yield from outcomes.computed_features(self.portfolio, program, instance, budget)
        known, values, problem = selector.feature_names, found.values, found.problem
        if not values and selector.may_skip_features:
            return _Features(None, found.seconds, None if found.timed_out else problem)
        if not values and known is None:
            problem = f"{problem}; {selector.name} cannot choose without features"
            return _Features(None, found.seconds, problem, cannot_choose=True)
        tagged = with_tags(values, instance.tags, known, always=self.portfolio.tags)
        return _Features(tagged, found.seconds, problem)

    def run_chosen(
        self,
        instance: Instance,
        record: InstanceRecord,
        pending: ChosenRun,
        *,
        began: float | None = None,
        stopper: JobStopper | None = None,
    ) -> Workflow[None]:
        """Run the chosen solver, verify its answer, and learn from the run.

        In a race, `began` is the start of the run in seconds since the race began, and `stopper` may end it.
        """
        solver = self.portfolio.solvers.get(pending.solver)
        note: dict[str, Any]
        if solver is None or pending.solver in self.aside:  # removed since the decision
            ending = "gone" if solver is None else ASIDE
            outcome, note = Outcome.failed(), {"ending": ending, "seconds": 0.0, "answer": None}
        else:
            for observer in self.observers:
                observer.run_started(record, pending.solver, pending.budget)
            outcome, note = yield from self._try(solver, instance, record, pending.budget, stopper)
        if began is not None:
            note["began"] = began
        run = self.learn_chosen(record, pending, outcome, note)
        yield from self.aside.ended(record, run)
        self.trust.ended(record)

    def learn_chosen(
        self, record: InstanceRecord, chosen: ChosenRun, outcome: Outcome, note: dict[str, Any]
    ) -> RunRecord:
        """Learn how a chosen run ended, and return its record."""
        self.project.observe(chosen.decision, outcome, note=note)
        record.observed(note, schedules=self.project.selector.schedules, decision=chosen.decision)
        run = record.runs[-1]
        for observer in self.observers:
            observer.run_ended(record, run)
        return run

    def _queue_extra(self, instance: Instance, record: InstanceRecord) -> None:
        """Queue the runs that measure an instance, as soon as it is known which ones are needed.

        A schedule may still run any solver; a selector that picks once has already chosen.
        """
        ready = record.closed or (record.begun and not self.project.selector.schedules)
        if ready and not record.extra_queued:
            record.extra_queued = True
            for name in record.missing:
                self.urgent.append(self._measure(self.portfolio.solvers[name], instance, record))

    def _measure(
        self, solver: Solver, instance: Instance, record: InstanceRecord
    ) -> Workflow[InstanceRecord]:
        """Run one more solver on an instance that is measured."""
        assert record.measure is not None
        if solver.name in self.aside:
            record.without(solver.name)
            return record
        return (yield from self.run_besides(solver, instance, record, record.measure.cutoff))

    def run_besides(
        self, solver: Solver, instance: Instance, record: InstanceRecord, budget: float
    ) -> Workflow[InstanceRecord]:
        """Run one more solver on an instance, whatever was chosen for it, and learn from it."""
        for observer in self.observers:
            observer.extra_started(record, solver.name, budget)
        outcome, note = yield from self._try(solver, instance, record, budget)
        if solver.name in self.aside:  # set aside while it ran: the selector no longer knows it
            record.without(solver.name)
            return record
        decision = record.first_decision
        self.project.fit(
            one_run(record.instance, solver.name, record.features or {}, self.cutoff, outcome),
            key=f"measured {decision} {solver.name}",
            note={"measured": solver.name, "decision": decision, "budget": budget, "run": note},
        )
        record.measured(solver.name, budget, note)
        for observer in self.observers:
            observer.extra_ended(record, record.extra[solver.name])
        yield from self.aside.ended(record, record.extra[solver.name])
        self.trust.ended(record)
        return record

    def _try(
        self,
        solver: Solver,
        instance: Instance,
        record: InstanceRecord,
        budget: float,
        stopper: JobStopper | None = None,
    ) -> Workflow[tuple[Outcome, dict[str, Any]]]:
        """Return the outcome of a run and its note; keep the output of the first run that answers."""
        rule = self.portfolio.objective
        if rule is not None:
            rule.check(instance)
        run = yield from outcomes.solver_run(
            self.portfolio,
            solver,
            instance,
            budget,
            seed=self.project.description.get("seed", 0),
            stopper=stopper,
        )
        if rule is not None:
            run = rated_run(rule, instance, run)
        note = run.note
        if note["answer"] is not None and record.answer is None and self.outputs is not None:
            note["output"] = keep_output(self.outputs, instance, run.output)
        return run.outcome, note

    def proceed(self, record: InstanceRecord, spent: float) -> None:
        """Ask for the next decision on an instance that is unsolved after so many seconds."""
        assert record.last_decision is not None
        decision = self.project.proceed(record.last_decision, spent=spent)
        record.proceeded(None if decision is None else ChosenRun.of(decision))


def keep_output(folder: Path, instance: Instance, output: bytes) -> str:
    """Write the output of the run that answered into a file named after the instance; return its path."""
    target = folder / output_name(instance.name)
    try:
        statefile.write(target, output)
    except OSError as error:
        raise LiveError(
            f"{printable(str(target))}: cannot be written: {error.strerror}; everything else is kept: "
            "make room and run the same command again"
        ) from None
    return str(target)


def output_name(instance: str) -> str:
    """Return the name of an instance's output file; a name that is too long ends in its digest.

    >>> output_name("queue/50%.cnf")
    'queue%2F50%25.cnf.out'
    >>> len(output_name("deep/" * 100))
    200
    """
    name = instance.replace("%", "%25").replace(os.sep, "%2F")
    encoded = os.fsencode(name)
    if len(encoded) > _LONGEST_NAME:
        digest = hashlib.sha256(encoded).hexdigest()[:20]
        name = encoded[: _LONGEST_NAME - 25].decode(errors="ignore") + f"-{digest}"
    return name + ".out"
