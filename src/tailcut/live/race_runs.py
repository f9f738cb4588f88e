"""The runs of a race in a stream: several solvers at once on one instance, and the first answer wins.

Every decision and outcome is in the journal. Runs in progress when the process was killed start again, all at
once, except for those that had lost.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tailcut.live import outcomes
from tailcut.live.instance_record import ChosenRun, InstanceRecord, RunRecord
from tailcut.live.instances import Instance
from tailcut.live.jobs import JobStopper
from tailcut.live.limits import Ending
from tailcut.live.racing import RaceBook
from tailcut.live.workflow_group import WorkflowGroup
from tailcut.live.workflows import WideWorkflow, Workflow

if TYPE_CHECKING:
    from tailcut.live.engine import Engine

_MORE_TIME = (str(Ending.CPU_LIMIT), str(Ending.WALL_LIMIT), str(Ending.CANCELLED))
"""Endings of runs that might have answered with more time."""


class RaceRuns:
    """The race on one instance, begun or continued."""

    def __init__(self, engine: Engine, instance: Instance, record: InstanceRecord) -> None:
        self._engine, self._instance, self._record = engine, instance, record
        self._cutoff = engine.cutoff if record.cutoff is None else record.cutoff
        limit = self._cutoff - record.feature_seconds
        self._book = RaceBook(engine.parallel, limit, used=max(0.0, record.used - record.feature_seconds))
        self._began = time.monotonic() - record.race_seconds
        for run in record.runs:
            self._book.left_unsolved(run["solver"], run["seconds"], for_good=_is_final(run))
        self._waiting = record.open_runs
        """Chosen runs that have not started, or not in this process."""
        self._stoppers: dict[int, JobStopper] = {}
        """For the runs in progress, by decision."""

    def run(self) -> WideWorkflow[None]:
        """Run solvers until there is an answer and all others are stopped, or none is left."""
        record, group = self._record, WorkflowGroup()
        if record.first_decision is None or record.complete:
            return
        try:
            while True:
                begun = self._begin(group)
                if group:
                    yield from group.until_one_ends()
                elif not begun:
                    break
        finally:
            group.close()
        if not record.closed:
            self._engine.proceed(record, self._cutoff)  # it is over, unsolved

    def _begin(self, group: WorkflowGroup) -> bool:
        """Start as many runs as there are cores, or stop all in progress; return whether any started."""
        if self._record.chosen_answer is not None:
            self._stop()
            return False
        if not self._waiting:
            self._join()
        begun = False
        while self._waiting and not self._book.full:
            group.add(self._one(self._waiting.pop(0)))
            begun = True
        return begun

    def _stop(self) -> None:
        """Stop the losers; runs that never started have lost as well."""
        for stopper in self._stoppers.values():
            stopper.stop()
        for chosen in self._waiting:
            lost = outcomes.dismissed_run()
            self._engine.learn_chosen(self._record, chosen, lost.outcome, lost.note)
        self._waiting = []

    def _join(self) -> None:
        """Ask which solver joins the race, if there is room."""
        runners, record = self._book.room(), self._record
        if runners is None:
            return
        for decision in self._engine.project.race(
            record.features,
            k=runners.k,
            instance=record.instance,
            cutoff=self._cutoff,
            spent=runners.spent,
            feature_cost=record.feature_seconds,
            running=runners.running,
            failed=runners.failed,
            note={"race": record.first_decision},
        ):
            record.joined(ChosenRun.of(decision))
            self._waiting.append(ChosenRun.of(decision))

    def _one(self, chosen: ChosenRun) -> Workflow[None]:
        """Make one run, which can be stopped."""
        stopper = self._stoppers[chosen.decision] = JobStopper()
        self._book.started(chosen.solver, max(0.0, chosen.spent - self._record.feature_seconds))
        began = time.monotonic() - self._began
        yield from self._engine.run_chosen(self._instance, self._record, chosen, began=began, stopper=stopper)
        del self._stoppers[chosen.decision]
        run = next(run for run in reversed(self._record.runs) if run["solver"] == chosen.solver)
        self._book.ended(run["solver"], run["seconds"], for_good=_is_final(run))


def _is_final(run: RunRecord) -> bool:
    """Return whether a run failed, so that more time would not have helped."""
    return run["ending"] not in _MORE_TIME
