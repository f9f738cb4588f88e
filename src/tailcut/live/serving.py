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
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from tailcut.errors import ConflictingOutcomeError
from tailcut.journal import Project
from tailcut.journal.instances import one_run
from tailcut.live import engine
from tailcut.live.engine import ProgramExecutor, RunResult, SolverRun
from tailcut.live.instance_record import NOT_RUN, ChosenRun, InstanceRecord, RunRecord
from tailcut.live.instances import Instance, with_tags
from tailcut.live.limits import Ending
from tailcut.live.objective import rated_run
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio, Program, Solver
from tailcut.live.quarantine import Quarantine
from tailcut.types import Decision, Outcome

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, InstanceRecord]]
"""The work on an instance, to be started by `engine.run_all`."""

_MORE_TIME = (str(Ending.CPU_LIMIT), str(Ending.WALL_LIMIT), str(Ending.CANCELLED))
"""Endings of runs that might have answered with more time."""
_AT_END = 0.99
"""Once a core has used this share of its time, no other solver starts on it."""


class Decider(Protocol):
    """Chooses runs and learns from them, as `Project`; if `waits`, it may block and is called in a thread."""

    waits: bool
    name: str
    schedules: bool
    """Whether several solvers may be tried in turn."""

    def feature_names(self) -> Sequence[str] | None: ...

    def may_skip_features(self) -> bool: ...

    def feature_budget(self, cutoff: float) -> float: ...

    def select(self, features: Mapping[str, float] | None, **request: Any) -> Decision: ...

    def race(self, features: Mapping[str, float] | None, **request: Any) -> list[Decision]: ...

    def observe(self, decision: int, outcome: Outcome, note: Mapping[str, Any]) -> None: ...

    def proceed(self, decision: int, spent: float) -> Decision | None: ...

    def remark(self, body: Mapping[str, Any]) -> None: ...


class ProjectDecider:
    """Decides by a project of a state file.

    With a `key`, a decision is made once, however often it is requested, and a known outcome is not changed:
    a call of `tailcut solve` whose daemon was killed simply starts again from the beginning.
    """

    waits = False

    def __init__(self, project: Project, key: str | None = None) -> None:
        self.project, self._key, self._rounds = project, key, 0
        self.name, self.schedules = project.selector.name, project.selector.schedules

    def feature_names(self) -> Sequence[str] | None:
        return self.project.selector.feature_names

    def may_skip_features(self) -> bool:
        return self.project.selector.may_skip_features

    def feature_budget(self, cutoff: float) -> float:
        return self.project.feature_budget(cutoff=cutoff)

    def select(self, features: Mapping[str, float] | None, **request: Any) -> Decision:
        return self.project.select(features, key=self._key, **request)

    def race(self, features: Mapping[str, float] | None, **request: Any) -> list[Decision]:
        key = None if self._key is None else f"{self._key} {self._rounds}"
        self._rounds += 1
        return self.project.race(features, key=key, **request)

    def observe(self, decision: int, outcome: Outcome, note: Mapping[str, Any]) -> None:
        with suppress(ConflictingOutcomeError):  # it was run a second time, for a daemon that was killed
            self.project.observe(decision, outcome, note=note)

    def proceed(self, decision: int, spent: float) -> Decision | None:
        return self.project.proceed_again(decision, spent=spent)[0]

    def remark(self, body: Mapping[str, Any]) -> None:
        self.project.remark(body)


class _Features(NamedTuple):
    values: dict[str, float] | None
    """None if they cost more than they gain (docs/howto/feature-budget.md), and if they failed."""
    seconds: float = 0.0
    problem: str | None = None
    cannot_choose: bool = False
    """Whether the selector cannot choose with these."""


class Wanted(NamedTuple):
    """An instance to run, and the seconds for each extra solver on it; None: no extra runs."""

    instance: Instance
    measure_cutoff: float | None = None


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
        """The maximum number of solvers at once on an instance."""
        self._seed, self._observers, self.quarantine = seed, tuple(observers), quarantine
        self._keep = keep
        """Is called with the first run that answers an instance."""
        self.put_off: list[Wanted] = []
        """Instances whose features could not be read before it was known which features there are."""
        self.urgent: deque[Work] = deque()
        """Runs that measure instances: they precede instances that have not started."""
        self.stopped = False
        self._running: set[SolverRun | engine.Run] = set()

    def stop(self) -> None:
        """Stop all runs; they are learned as censored at that time, and no others start."""
        self.stopped = True
        for run in self._running:
            run.stop()

    async def serve(
        self,
        wanted: Wanted,
        record: InstanceRecord,
        *,
        may_put_off: bool = False,
    ) -> InstanceRecord:
        """Complete an instance, from the beginning or from where its record stops.

        With `may_put_off`, an instance that cannot start yet is added to `put_off`. The extra runs of a new
        instance that is measured are added to `urgent`.
        """
        instance = wanted.instance
        if not record.begun:
            await self._begin(wanted, record, may_put_off=may_put_off)
        if self.parallel > 1 or record.raced:
            await _Race(self, instance, record).run()
        else:
            await self._in_turn(instance, record)
        self._queue_extra(instance, record)
        while self.quarantine is not None and (name := self.quarantine.next_to_ask(record)) is not None:
            await self._run_besides(self.portfolio.solvers[name], instance, record, self.cutoff_of(record))
        return record

    def cutoff_of(self, record: InstanceRecord) -> float:
        return self.cutoff if record.cutoff is None else record.cutoff

    async def ask(self, question: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        """Call a method of the decider, in a thread if it may block."""
        if self.decider.waits:
            return await asyncio.to_thread(question, *arguments, **keywords)
        return question(*arguments, **keywords)

    async def _in_turn(self, instance: Instance, record: InstanceRecord) -> None:
        """Run one solver after the other until there is an answer or the schedule ends."""
        if record.begun and record.pending is None and not record.closed:
            await self.proceed(record, record.seconds)
        self._queue_extra(instance, record)
        while record.pending is not None and not self.stopped:
            await self.run_chosen(instance, record, record.pending)
            if not record.closed and not self.stopped:
                await self.proceed(record, record.seconds)

    async def _begin(self, wanted: Wanted, record: InstanceRecord, *, may_put_off: bool) -> None:
        """Compute the features and make the first decision."""
        instance, measure_cutoff = wanted
        cutoff = self.cutoff if instance.cutoff is None else instance.cutoff
        features = await self._features(instance, record, cutoff)
        if self.stopped:
            record.feature_seconds = features.seconds
            return
        note: dict[str, Any] = {"feature_seconds": features.seconds}
        if record.content is not None:
            note["content"] = record.content._asdict()
        if features.problem is not None:
            note["problem"] = features.problem
        if features.cannot_choose and may_put_off:
            self.put_off.append(wanted)
            return
        if features.seconds >= cutoff or features.cannot_choose:
            await self.ask(self.decider.remark, {"instance": record.instance, "note": note})
            record.given_up(note)
            return
        if measure_cutoff is not None:
            # Every solver pays for the features, as the chosen one does.
            limit = min(measure_cutoff, cutoff - features.seconds)
            note["measure"] = {"solvers": list(self.portfolio.solvers), "cutoff": limit}
        record.cutoff = cutoff
        request: dict[str, Any] = {
            "instance": record.instance,
            "cutoff": instance.cutoff,
            "feature_cost": features.seconds,
            "note": note,
        }
        if self.parallel > 1:
            note["cutoff"] = cutoff  # the budget of a decision is the end of its slice
            made = await self.ask(self.decider.race, features.values, k=self.parallel, **request)
        else:
            made = [await self.ask(self.decider.select, features.values, **request)]
        record.selected(ChosenRun.of(made[0]), features.values, note)
        for rival in made[1:]:
            record.joined(ChosenRun.of(rival))

    async def _features(self, instance: Instance, record: InstanceRecord, cutoff: float) -> _Features:
        program, tagged = self.portfolio.features, self.portfolio.tags
        budget = await self.ask(self.decider.feature_budget, cutoff)
        known = await self.ask(self.decider.feature_names)
        computed = record.computed
        if computed is None:
            if budget > 0.0 and program is None and (instance.tags or tagged):
                return _Features(with_tags({}, instance.tags, known, always=tagged))
            if program is None or budget == 0.0:
                return _Features(None)
            computed = await self.compute_features(instance, record, program, budget)
            known = await self.ask(self.decider.feature_names)  # another instance may have come first
        values, problem = computed.values, computed.problem
        if not values and self.decider.may_skip_features():
            return _Features(None, computed.seconds, None if computed.timed_out else problem)
        if not values and known is None:
            problem = f"{problem}; {self.decider.name} cannot choose without features"
            return _Features(None, computed.seconds, problem, cannot_choose=True)
        return _Features(with_tags(values, instance.tags, known, always=tagged), computed.seconds, problem)

    async def compute_features(
        self, instance: Instance, record: InstanceRecord, program: Program, most: float
    ) -> engine.ComputedFeatures:
        """Compute the features of an instance, for at most so many seconds."""
        for observer in self._observers:
            observer.features_started(record)
        run = self.place.start(engine.features_job(self.portfolio, program, instance, most))
        self._running.add(run)
        try:
            return await engine.computed_features(self.portfolio, run)
        finally:
            self._running.discard(run)

    async def run_chosen(
        self,
        instance: Instance,
        record: InstanceRecord,
        chosen: ChosenRun,
        *,
        began: float | None = None,
        started: Callable[[SolverRun], None] | None = None,
    ) -> RunRecord:
        """Run the chosen solver, verify its answer, and learn from the run.

        In a race, `began` is the start of the run in seconds since the race began, and `started` is called
        with the run, which may be stopped.
        """
        solver = self.portfolio.solvers.get(chosen.solver)
        if solver is None or self._is_quarantined(chosen.solver):  # removed since the decision
            ending = "gone" if solver is None else NOT_RUN
            result = engine.unmade_run(ending)
        else:
            for observer in self._observers:
                observer.run_started(record, chosen.solver, chosen.budget)
            result = await self._run(solver, instance, record, chosen.budget, started)
        if began is not None:
            result.note["began"] = began
        run = await self.learn_chosen(record, chosen, result)
        if self.quarantine is not None:
            await self.quarantine.ended(record, run, self.place)
        return run

    def _is_quarantined(self, solver: str) -> bool:
        return self.quarantine is not None and solver in self.quarantine

    async def learn_chosen(self, record: InstanceRecord, chosen: ChosenRun, result: RunResult) -> RunRecord:
        """Learn how a chosen run ended, and return its record."""
        if not self.decider.waits:  # nothing is believed that is not in the journal
            self.decider.observe(chosen.decision, result.outcome, result.note)
        run = record.observed(result.note, schedules=self.decider.schedules, decision=chosen.decision)
        if self.decider.waits:
            await self.ask(self.decider.observe, chosen.decision, result.outcome, result.note)
        for observer in self._observers:
            observer.run_ended(record, run)
        return run

    def _queue_extra(self, instance: Instance, record: InstanceRecord) -> None:
        """Queue the runs that measure an instance, as soon as it is known which ones are needed.

        A schedule may still run any solver; a selector that picks once has already chosen.
        """
        ready = record.closed or (record.begun and not self.decider.schedules)
        if ready and not record.extra_queued:
            record.extra_queued = True
            for name in record.missing:
                self.urgent.append(partial(self._measure, self.portfolio.solvers[name], instance, record))

    async def _measure(self, solver: Solver, instance: Instance, record: InstanceRecord) -> InstanceRecord:
        """Run one more solver on an instance that is measured."""
        assert record.measure is not None
        if self._is_quarantined(solver.name):
            record.without(solver.name)
        else:
            await self._run_besides(solver, instance, record, record.measure.cutoff)
        return record

    async def _run_besides(
        self, solver: Solver, instance: Instance, record: InstanceRecord, budget: float
    ) -> None:
        """Run one more solver on an instance, whatever was chosen for it, and learn from it."""
        for observer in self._observers:
            observer.extra_started(record, solver.name, budget)
        outcome, note, *_ = await self._run(solver, instance, record, budget)
        if self._is_quarantined(solver.name):  # since it started: the selector no longer knows it
            record.without(solver.name)
            return
        decision = record.first_decision
        assert isinstance(self.decider, ProjectDecider)
        assert self.quarantine is not None
        self.decider.project.fit(
            one_run(record.instance, solver.name, record.features or {}, self.cutoff, outcome),
            key=f"measured {decision} {solver.name}",
            note={"measured": solver.name, "decision": decision, "budget": budget, "run": note},
        )
        run = record.measured(solver.name, budget, note)
        for observer in self._observers:
            observer.extra_ended(record, run)
        await self.quarantine.ended(record, run, self.place)

    async def _run(
        self,
        solver: Solver,
        instance: Instance,
        record: InstanceRecord,
        budget: float,
        started: Callable[[SolverRun], None] | None = None,
    ) -> RunResult:
        """Return the result of a run; the first one that answers is kept."""
        rule = self.portfolio.objective
        if rule is not None:
            rule.check(instance)
        run = SolverRun(self.place, self.portfolio, solver, instance, budget, seed=self._seed)
        self._running.add(run)
        if started is not None:
            started(run)
        if self.stopped:
            run.stop()
        try:
            result = await run.wait()
        finally:
            self._running.discard(run)
        if rule is not None:
            result = rated_run(rule, instance, result)
        if result.note["answer"] is not None and record.answer is None and self._keep is not None:
            self._keep(instance, result)
        return result

    async def proceed(self, record: InstanceRecord, spent: float) -> None:
        """Ask for the next decision on an instance that is unsolved after so many seconds."""
        assert record.last_decision is not None
        decision = await self.ask(self.decider.proceed, record.last_decision, spent)
        record.proceeded(None if decision is None else ChosenRun.of(decision))


class RaceBook:
    """The state of one race: `k` cores, each with `limit` seconds, which is the cutoff minus the features.

    The time is that of the portfolio's clock. On a machine with fewer cores than runners, CPU time passes
    more slowly than wall time, so no solver loses CPU time.

    >>> book = RaceBook(2, 60.0)
    >>> book.started("a"), book.started("b"), book.room()
    (None, None, None)
    >>> book.ended("b", 2.5, for_good=False)
    >>> book.room()
    {'k': 1, 'running': {'a': 2.5}, 'failed': {'b': 2.5}, 'spent': 2.5}
    """

    def __init__(self, k: int, limit: float, *, used: float = 0.0) -> None:
        """Begin a race, or continue one whose cores were used for so many seconds."""
        self._limit = limit
        self._free = [used] * k
        """Seconds used on each free core."""
        self._running: dict[str, float] = {}
        """Seconds used on each busy core before its current solver started."""
        self._failed: dict[str, float] = {}

    @property
    def full(self) -> bool:
        return not self._free

    def room(self) -> dict[str, Any] | None:
        """Return what `race` needs to let others join now; None if all cores are busy or used up.

        `k` is how many may join, `running` for how many seconds each other has been running, `failed` after
        how many each has ended without an answer, and `spent` what was used before on the free core.
        """
        used = min(self._free, default=self._limit)
        if used >= _AT_END * self._limit:
            return None
        at_it = {name: max(0.0, used - since) for name, since in self._running.items()}
        return {"k": self._free.count(used), "running": at_it, "failed": dict(self._failed), "spent": used}

    def started(self, solver: str, used: float | None = None) -> None:
        """Record that a solver started on the least used core, or on one used for so many seconds."""
        least = min(self._free)
        self._free.remove(least)
        self._running[solver] = least if used is None else used

    def ended(self, solver: str, seconds: float, *, for_good: bool) -> None:
        """Record that a solver ended without an answer; `for_good`: more time would not have helped."""
        now = self._running.pop(solver) + seconds
        self._free = [max(idle, now) for idle in self._free] + [now]  # time also passes on an idle core
        self.left_unsolved(solver, seconds, for_good=for_good)

    def left_unsolved(self, solver: str, seconds: float, *, for_good: bool) -> None:
        """Record an earlier run without an answer."""
        self._failed[solver] = self._limit if for_good else seconds


class _Race:
    """Several solvers at once on one instance, and the first answer wins.

    Every decision and outcome is in the journal. Runs in progress when the process was killed start again,
    all at once, except for those that had lost.
    """

    def __init__(self, serving: Serving, instance: Instance, record: InstanceRecord) -> None:
        self._serving, self._instance, self._record = serving, instance, record
        self._cutoff = serving.cutoff_of(record)
        limit = self._cutoff - record.feature_seconds
        self._book = RaceBook(serving.parallel, limit, used=max(0.0, record.used - record.feature_seconds))
        self._began = time.monotonic() - record.race_seconds
        for run in record.runs:
            self._book.left_unsolved(run["solver"], run["seconds"], for_good=_is_final(run))
        self._waiting = record.open_runs
        """Chosen runs that have not started, or not in this process."""
        self._runs: dict[int, SolverRun] = {}
        """The runs in progress, by decision."""
        self._tasks: set[asyncio.Task[None]] = set()

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
        while self._waiting and not self._book.full:
            chosen = self._waiting.pop(0)
            self._book.started(chosen.solver, max(0.0, chosen.spent - self._record.feature_seconds))
            self._tasks.add(asyncio.create_task(self._one(chosen)))
            begun = True
        return begun

    async def _stop(self) -> None:
        """Stop the losers; runs that never started have lost as well."""
        for run in self._runs.values():
            run.stop()
        waiting, self._waiting = self._waiting, []
        for chosen in waiting:
            await self._serving.learn_chosen(self._record, chosen, engine.unmade_run(str(Ending.CANCELLED)))

    async def _join(self) -> None:
        """Ask which solver joins the race, if there is room."""
        room, record = self._book.room(), self._record
        if room is None:
            return
        made = await self._serving.ask(
            self._serving.decider.race,
            record.features,
            instance=record.instance,
            cutoff=self._cutoff,
            feature_cost=record.feature_seconds,
            note={"race": record.first_decision},
            **room,
        )
        for decision in made:
            record.joined(ChosenRun.of(decision))
            self._waiting.append(ChosenRun.of(decision))

    async def _one(self, chosen: ChosenRun) -> None:
        def started(run: SolverRun) -> None:
            self._runs[chosen.decision] = run

        began = time.monotonic() - self._began
        run = await self._serving.run_chosen(
            self._instance, self._record, chosen, began=began, started=started
        )
        self._runs.pop(chosen.decision, None)
        self._book.ended(run["solver"], run["seconds"], for_good=_is_final(run))


def _is_final(run: RunRecord) -> bool:
    """Return whether a run failed, so that more time would not have helped."""
    return run["ending"] not in _MORE_TIME
