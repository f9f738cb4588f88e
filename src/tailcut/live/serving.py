r"""Serving: each instance from its features through its runs to its answer, all in the journal.

    features -> select -> run -> verify the answer -> observe -> proceed -> run ... -> done
                   \-> to be measured: run every other solver -> verify -> fit

`tailcut run` serves a stream (`tailcut.live.stream`) with one `Serving`, `tailcut solve` each call with one
of its own. A `Decider` chooses and learns; the engine makes the runs. This module prints nothing: use an
observer to see what happens.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

from tailcut.errors import ConflictingOutcomeError, RepeatedKeyError, ServiceError
from tailcut.journal import Project
from tailcut.journal.instances import one_run
from tailcut.live import engine
from tailcut.live.engine import ProgramExecutor, ProgramJob, Run, RunResult, Task
from tailcut.live.instance_record import AT_A_LIMIT, NOT_RUN, InstanceRecord, RunRecord
from tailcut.live.instances import Instance, with_tags
from tailcut.live.limits import Ending
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio, Program, Solver
from tailcut.live.quarantine import Quarantine
from tailcut.types import Decision, Outcome

T = TypeVar("T")
Work = Task[InstanceRecord]

_MORE_TIME = (*AT_A_LIMIT, Ending.CANCELLED)
"""Endings of runs that might have answered with more time."""
_AT_END = 0.99
"""Once a core has used this share of its time, no other solver starts on it."""


class Decider:
    """Chooses runs and learns from them, by a project of a state file.

    With a `key`, a decision is made once, however often it is requested, and a known outcome is not changed:
    a call of `tailcut solve` whose daemon was killed simply starts again from the beginning.
    """

    waits = False
    """Whether it may block: then it is called in a thread."""

    def __init__(self, project: Project, selector: str, *, schedules: bool, key: str | None = None) -> None:
        self.project, self.name, self._key, self._rounds = project, selector, key, 0
        self.problems: list[str] = []
        """What went wrong without preventing an answer."""
        self.schedules = schedules

    @classmethod
    def of(cls, project: Project, key: str | None = None) -> Decider:
        return cls(project, project.selector.name, schedules=project.selector.schedules, key=key)

    def feature_names(self) -> Sequence[str] | None:
        return self.project.selector.feature_names

    def may_skip_features(self) -> bool:
        return self.project.selector.may_skip_features

    def select(self, features: Mapping[str, float] | None, **request: Any) -> Decision:
        return self.project.select(features, key=self._key, **request)

    def race(self, features: Mapping[str, float] | None, **request: Any) -> list[Decision]:
        while True:
            key = None if self._key is None else f"{self._key} {self._rounds}"
            self._rounds += 1
            try:
                return self.project.race(features, key=key, **request)
            except RepeatedKeyError:  # a daemon that was killed had asked for something else
                pass
            except ServiceError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise

    def offers(self, solver: str) -> bool:
        """Return whether a solver may be run: it may have been removed after the decision."""
        return solver in self.project.selector.algorithms

    def observe(self, decision: int, outcome: Outcome, note: Mapping[str, Any]) -> None:
        with suppress(ConflictingOutcomeError):  # it was run a second time, for a daemon that was killed
            self.project.observe(decision, outcome, note=note)

    def proceed(self, decision: int, spent: float) -> Decision | None:
        return self.project.proceed_again(decision, spent=spent)[0]

    def remark(self, body: Mapping[str, Any]) -> None:
        self.project.remark(body)


class Serving:
    """Runs the solvers of a portfolio on instances, as a decider chooses."""

    def __init__(
        self,
        place: ProgramExecutor,
        portfolio: Portfolio,
        decider: Decider,
        *,
        cutoff: float,
        parallel: int = 1,
        seed: int = 0,
        keep: Callable[[Instance, RunResult], None] | None = None,
        observers: Sequence[StreamObserver] = (),
        quarantine: Quarantine | None = None,
    ) -> None:
        self.place, self.portfolio, self.decider, self.cutoff = place, portfolio, decider, cutoff
        self.parallel = parallel
        self._seed, self.observers, self.quarantine = seed, tuple(observers), quarantine
        self._keep = keep
        """Is called with the first run that answers an instance."""
        self.put_off: list[Instance] = []
        """Instances whose features could not be read before it was known which features there are."""
        self.urgent: deque[Work] = deque()
        """Runs that measure instances: they precede instances that have not started."""
        self.stopped = False
        self.running: dict[Run, InstanceRecord] = {}

    def stop(self) -> None:
        """Stop all runs; they are learned as censored at that time, and no others start."""
        self.stopped = True
        for run in self.running:
            run.stop()

    async def serve(
        self, instance: Instance, record: InstanceRecord, *, may_put_off: bool = False
    ) -> InstanceRecord:
        """Complete an instance, from the beginning or from where its record stops.

        With `may_put_off`, an instance that cannot start yet is added to `put_off`. The extra runs of a new
        instance that is measured are added to `urgent`.
        """
        if not record.begun:
            await self._begin(instance, record, may_put_off=may_put_off)
        if self.parallel > 1 or record.raced:
            await _Race(self, instance, record).run()
        else:
            await self._in_turn(instance, record)
        self._queue_extra(instance, record)
        while self.quarantine is not None and (name := self.quarantine.next_to_ask(record)) is not None:
            await self._run_besides(
                self.portfolio.solvers[name], instance, record, record.cutoff or self.cutoff
            )
        return record

    async def ask(self, question: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        """Call a method of the decider, in a thread if it may block."""
        if self.decider.waits:
            return await asyncio.to_thread(question, *arguments, **keywords)
        return question(*arguments, **keywords)

    async def _in_turn(self, instance: Instance, record: InstanceRecord) -> None:
        self._queue_extra(instance, record)
        while record.begun and not record.closed and not self.stopped:
            if record.open_runs:
                await self.run_chosen(instance, record, next(iter(record.open_runs.values())))
            else:
                await self.proceed(record, record.seconds)

    async def _begin(self, instance: Instance, record: InstanceRecord, *, may_put_off: bool) -> None:
        cutoff = self.cutoff if instance.cutoff is None else instance.cutoff
        features, seconds, problem = await self._features(instance, record, cutoff)
        if self.stopped:
            record.feature_seconds = seconds
            return
        note: dict[str, Any] = {"feature_seconds": seconds}
        if record.content is not None:
            note["content"] = record.content._asdict()
        if problem is not None:
            note["problem"] = problem
        cannot_choose = features is None and problem is not None and not self.decider.may_skip_features()
        if cannot_choose and may_put_off:
            self.put_off.append(instance)
            return
        if seconds >= cutoff or cannot_choose:
            await self.ask(self.decider.remark, {"instance": record.instance, "note": note})
            record.given_up(note)
            return
        if instance.measure is not None:
            # Every solver pays for the features, as the chosen one does.
            limit = min(instance.measure, cutoff - seconds)
            note["measure"] = {"solvers": list(self.portfolio.solvers), "cutoff": limit}
        record.cutoff = cutoff
        request: dict[str, Any] = {
            "instance": record.instance,
            "cutoff": instance.cutoff,
            "feature_cost": seconds,
            "note": note,
        }
        if self.parallel > 1:
            note["cutoff"] = cutoff  # the budget of a decision is the end of its slice
            made = await self.ask(self.decider.race, features, k=self.parallel, **request)
        else:
            made = [await self.ask(self.decider.select, features, **request)]
        record.selected(made[0], features, note)
        for rival in made[1:]:
            record.joined(rival)

    async def _features(
        self, instance: Instance, record: InstanceRecord, cutoff: float
    ) -> tuple[dict[str, float] | None, float, str | None]:
        """Return the features, their seconds, and the problem with them, if any.

        There are none if they cost more than they gain (docs/howto/feature-budget.md), or if they failed.
        """
        program, tagged = self.portfolio.features, self.portfolio.tags
        budget = await self.ask(self.decider.project.feature_budget, cutoff=cutoff)
        known = await self.ask(self.decider.feature_names)
        computed = record.computed
        if computed is None:
            if budget > 0.0 and program is None and (instance.tags or tagged):
                return with_tags({}, instance.tags, known, always=tagged), 0.0, None
            if program is None or budget == 0.0:
                return None, 0.0, None
            computed = await self.compute_features(instance, record, program, budget)
            known = await self.ask(self.decider.feature_names)  # another instance may have come first
        values, problem = computed.values, computed.problem
        if not values and self.decider.may_skip_features():
            return None, computed.seconds, None if computed.timed_out else problem
        if not values and known is None:
            return None, computed.seconds, f"{problem}; {self.decider.name} cannot choose without features"
        return with_tags(values, instance.tags, known, always=tagged), computed.seconds, problem

    async def compute_features(
        self, instance: Instance, record: InstanceRecord, program: Program, most: float
    ) -> engine.ComputedFeatures:
        for observer in self.observers:
            observer.features_started(record)
        with self._started(engine.features_job(self.portfolio, program, instance, most), record) as run:
            return await engine.computed_features(self.portfolio, run)

    @contextmanager
    def _started(self, job: ProgramJob, record: InstanceRecord) -> Iterator[Run]:
        """Start a job that can be stopped while this context lasts."""
        run = self.place.start(job)
        self.running[run] = record
        if self.stopped:
            run.stop()
        try:
            yield run
        finally:
            del self.running[run]

    async def run_chosen(
        self, instance: Instance, record: InstanceRecord, chosen: Decision, *, began: float | None = None
    ) -> RunRecord:
        """Run the chosen solver, and learn from the run; in a race, it began so many seconds after that."""
        solver = self.portfolio.solvers.get(chosen.algorithm)
        if solver is None or not self.decider.offers(chosen.algorithm):  # removed since the decision
            ending = "gone" if solver is None else NOT_RUN
            result = engine.unmade_run(ending)
        else:
            for observer in self.observers:
                observer.run_started(record, chosen.algorithm, chosen.budget)
            result = await self._run(solver, instance, record, chosen.budget)
        if began is not None:
            result.note["began"] = began
        run = await self.learn_chosen(record, chosen, result)
        if self.quarantine is not None:
            await self.quarantine.ended(record, run, self.place)
        return run

    async def learn_chosen(self, record: InstanceRecord, chosen: Decision, result: RunResult) -> RunRecord:
        if not self.decider.waits:  # nothing is believed that is not in the journal
            self.decider.observe(chosen.id, result.outcome, result.note)
        run = record.observed(result.note, schedules=self.decider.schedules, decision=chosen.id)
        if self.decider.waits:
            await self.ask(self.decider.observe, chosen.id, result.outcome, result.note)
        for observer in self.observers:
            observer.run_ended(record, run)
        return run

    def _queue_extra(self, instance: Instance, record: InstanceRecord) -> None:
        """Queue the runs that measure an instance, as soon as it is known which ones are needed.

        A schedule may still run any solver; a selector that picks once has already chosen.
        """
        ready = record.closed or (record.begun and not self.decider.schedules)
        if record.measure is not None and ready and not record.extra_queued:
            record.extra_queued = True
            for name in record.missing:
                solver = self.portfolio.solvers[name]
                self.urgent.append(
                    partial(self._run_besides, solver, instance, record, record.measure.cutoff)
                )

    async def _run_besides(
        self, solver: Solver, instance: Instance, record: InstanceRecord, budget: float
    ) -> InstanceRecord:
        """Run one more solver on an instance, whatever was chosen for it, and learn from it."""
        if not self.decider.offers(solver.name):
            record.without(solver.name)
            return record
        for observer in self.observers:
            observer.extra_started(record, solver.name, budget)
        outcome, note, *_ = await self._run(solver, instance, record, budget)
        if not self.decider.offers(solver.name):  # since it started: the selector no longer knows it
            record.without(solver.name)
            return record
        decision = record.first_decision
        assert self.quarantine is not None
        self.decider.project.fit(
            one_run(record.instance, solver.name, record.features or {}, self.cutoff, outcome),
            key=f"measured {decision} {solver.name}",
            note={"measured": solver.name, "decision": decision, "budget": budget, "run": note},
        )
        run = record.measured(solver.name, budget, note)
        for observer in self.observers:
            observer.extra_ended(record, run)
        await self.quarantine.ended(record, run, self.place)
        return record

    async def _run(
        self, solver: Solver, instance: Instance, record: InstanceRecord, budget: float
    ) -> RunResult:
        rule = self.portfolio.objective
        if rule is not None:
            rule.check(instance)
        job = engine.solver_job(self.portfolio, solver, instance, budget, seed=self._seed)
        with self._started(job, record) as run:
            result = await engine.solver_result(self.place, self.portfolio, solver, instance, run)
        if rule is not None:
            result = engine.rated_run(rule, instance, result)
        if result.note["answer"] is not None and record.answer is None and self._keep is not None:
            self._keep(instance, result)
        return result

    async def proceed(self, record: InstanceRecord, spent: float) -> None:
        assert record.last_decision is not None
        record.proceeded(await self.ask(self.decider.proceed, record.last_decision, spent))


class _Race:
    """Several solvers at once on one instance, and the first answer wins.

    Every decision and outcome is in the journal. Runs in progress when the process was killed start again,
    all at once, except for those that had lost.

    Each core has the cutoff minus the features, in seconds of the portfolio's clock. On a machine with fewer
    cores than runners, CPU time passes more slowly than wall time, so no solver loses CPU time.
    """

    def __init__(self, serving: Serving, instance: Instance, record: InstanceRecord) -> None:
        self._serving, self._instance, self._record = serving, instance, record
        self._cutoff = record.cutoff or serving.cutoff
        self._limit = self._cutoff - record.feature_seconds
        self._free = [max(0.0, record.used - record.feature_seconds)] * serving.parallel
        """For each idle core, the seconds used on it."""
        self._busy: dict[str, float] = {}
        """For each running solver, the seconds used on its core before."""
        self._failed = {run["solver"]: self._seconds_without_answer(run) for run in record.runs}
        self._began = time.monotonic() - record.race_seconds
        self._waiting = list(record.open_runs.values())
        """Chosen runs that have not started, or not in this process."""
        self._tasks: set[asyncio.Task[None]] = set()

    def _seconds_without_answer(self, run: RunRecord) -> float:
        """Return how long a solver ran; the limit if it failed, so that more time would not have helped."""
        return run["seconds"] if run["ending"] in _MORE_TIME else self._limit

    async def run(self) -> None:
        """Run solvers until there is an answer and all others are stopped, or none is left."""
        record = self._record
        if record.first_decision is None or record.complete:
            return
        try:
            while await self._begin() or self._tasks:
                done, self._tasks = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            await engine.give_up(self._tasks)
        if not record.closed and not self._serving.stopped:
            await self._serving.proceed(record, self._cutoff)  # it is over, unsolved

    async def _begin(self) -> bool:
        """Start as many runs as there are cores, or stop all in progress; return whether any started."""
        if self._record.chosen_answer is not None or self._serving.stopped:
            await self._stop()
            return False
        if not self._waiting:
            await self._join()
        begun = False
        while self._waiting and self._free:
            chosen = self._waiting.pop(0)
            self._free.remove(min(self._free))
            self._busy[chosen.algorithm] = max(0.0, chosen.spent - self._record.feature_seconds)
            self._tasks.add(asyncio.create_task(self._one(chosen)))
            begun = True
        return begun

    async def _stop(self) -> None:
        for run, record in self._serving.running.items():
            if record is self._record:
                run.stop()
        waiting, self._waiting = self._waiting, []
        for chosen in waiting:
            await self._serving.learn_chosen(self._record, chosen, engine.unmade_run(str(Ending.CANCELLED)))

    async def _join(self) -> None:
        """Ask which solvers join the race on the least used cores, unless all are busy or used up."""
        used, record = min(self._free, default=self._limit), self._record
        if used >= _AT_END * self._limit:
            return
        made = await self._serving.ask(
            self._serving.decider.race,
            record.features,
            k=self._free.count(used),
            running={name: max(0.0, used - since) for name, since in self._busy.items()},
            failed=dict(self._failed),
            spent=used,
            instance=record.instance,
            cutoff=self._cutoff,
            feature_cost=record.feature_seconds,
            note={"race": record.first_decision},
        )
        for decision in made:
            record.joined(decision)
            self._waiting.append(decision)

    async def _one(self, chosen: Decision) -> None:
        began = time.monotonic() - self._began
        run = await self._serving.run_chosen(self._instance, self._record, chosen, began=began)
        now = self._busy.pop(chosen.algorithm) + run["seconds"]
        self._free = [max(idle, now) for idle in self._free] + [now]  # time also passes on an idle core
        self._failed[chosen.algorithm] = self._seconds_without_answer(run)
