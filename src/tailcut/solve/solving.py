"""One instance of ``tailcut solve``: features, decision, run, verify, learn, until a solver answers.

Everything here runs in the daemon's event loop, which only waits for programs and for a remote server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tailcut.errors import ServiceError
from tailcut.live import outcomes
from tailcut.live.content import FileContent
from tailcut.live.instances import Instance
from tailcut.live.jobs import ProgramJob
from tailcut.live.limits import Ended, Launcher, RunningProgram
from tailcut.live.portfolio import Portfolio
from tailcut.live.racing import RaceBook
from tailcut.live.workflows import Workflow
from tailcut.solve.convention import Shown, shown_answer, shown_unknown
from tailcut.solve.deciders import Arrival, Decider, Note
from tailcut.types import Decision, Outcome, Status

T = TypeVar("T")


class Solved(NamedTuple):
    """The result of a call."""

    shown: Shown
    problems: list[str]
    """For standard error."""
    report: dict[str, Any]


class _RunEnd(NamedTuple):
    """How a run ended."""

    seconds: float
    failed: bool
    """Whether more time would not have helped."""


class Solving:
    """A call in progress."""

    def __init__(
        self,
        portfolio: Portfolio,
        launcher: Launcher,
        decider: Decider,
        instance: Instance,
        *,
        cutoff: float,
        key: str,
        parallel: int = 1,
    ) -> None:
        self._portfolio, self._launcher, self._decider = portfolio, launcher, decider
        self._instance, self._cutoff, self._key, self._parallel = instance, cutoff, key, parallel
        self._running: set[RunningProgram] = set()
        self._stopped = False
        self._problems: list[str] = []
        self._runs: list[dict[str, Any]] = []
        self._shown: Shown | None = None
        self._answering: dict[str, Any] | None = None
        """The first run that answered, and what is shown."""
        self._began = 0.0
        self._feature_seconds = 0.0
        self._used = 0.0
        """In a race: seconds of the cutoff used on the answer's core, or on the one used most."""

    def stop(self) -> None:
        """Stop all runs; they are learned as censored at that time."""
        self._stopped = True
        self._end_running()

    def _end_running(self) -> None:
        for one in self._running:
            one.cancel()

    async def run(self) -> Solved:
        """Solve the instance, or give up when its time is over or the client is gone."""
        self._began = asyncio.get_running_loop().time()
        arrival = await self._arrived()
        if arrival is not None:
            await (self._in_turn(arrival) if self._parallel == 1 else self._race(arrival))
        shown, answering = self._shown or shown_unknown(self._portfolio), self._answering
        if answering is None and not self._stopped:
            self._problems.append(self._why_unsolved())
        report = {
            "instance": self._instance.name,
            "answer": None if answering is None else answering["answer"],
            "solver": None if answering is None else answering["solver"],
            "seconds": self._spent if self._parallel == 1 else self._used,
            "cpu": self._feature_seconds + sum(run.get("cpu", 0.0) for run in self._runs),
            "wall": self._since_start(),
            "feature_seconds": self._feature_seconds,
            "runs": self._runs,
        }
        return Solved(shown, self._problems, report)

    def _why_unsolved(self) -> str:
        """Return in words why there is no answer: the solvers' messages, if they all gave up early."""
        said = [f"{run['solver']}: {run['said']}" for run in self._runs if "said" in run]
        used = self._spent if self._parallel == 1 else self._used
        if not said or used >= 0.9 * self._cutoff:
            return f"not solved within {self._cutoff:g} s"
        return f"no solver has an answer; {said[-1]}"

    @property
    def _spent(self) -> float:
        """Seconds of the cutoff used so far."""
        return float(self._feature_seconds + sum(run["seconds"] for run in self._runs))

    def _since_start(self) -> float:
        return asyncio.get_running_loop().time() - self._began

    async def _in_turn(self, arrival: Arrival) -> None:
        """Run one solver after the other."""
        decision: Decision | None = await self._asked(self._decider.select, arrival)
        while decision is not None and not self._stopped:
            await self._one(decision)
            if self._answering is not None or self._stopped:
                return
            decision = await self._asked(self._decider.proceed, decision, self._spent)

    async def _race(self, arrival: Arrival) -> None:
        """Run several solvers at once; when one ends without an answer, another takes its place."""
        book = RaceBook(self._parallel, self._cutoff - arrival.feature_seconds)
        tasks: dict[asyncio.Task[_RunEnd], Decision] = {}
        began = self._since_start()
        first: Decision | None = None
        last: Decision | None = None
        rounds = 0
        while not self._stopped and self._answering is None:
            runners = book.room()
            if runners is not None:
                note = arrival.note if first is None else {**arrival.note, "race": first.id}
                joining = arrival._replace(key=f"{arrival.key} {rounds}", note=note)
                for decision in await self._asked(self._decider.race, joining, runners):
                    first = first or decision
                    book.started(decision.algorithm)
                    since = {"began": self._since_start() - began}
                    tasks[asyncio.create_task(self._one(decision, since))] = decision
                rounds += 1
            if not tasks:
                break
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                last, run = tasks.pop(task), task.result()
                book.ended(last.algorithm, run.seconds, for_good=run.failed)
        for task in tasks:
            await task
        if self._answering is None and last is not None and not self._stopped:
            await self._asked(self._decider.proceed, last, self._cutoff)  # it is over, unsolved

    async def _arrived(self) -> Arrival | None:
        """Compute the features; None if they used up the cutoff."""
        note: dict[str, Any] = {}
        values = await self._features(note)
        if self._stopped or self._feature_seconds >= self._cutoff:
            return None
        note |= {
            "feature_seconds": self._feature_seconds,
            "content": FileContent.of(self._instance.path)._asdict(),
        }
        if self._parallel > 1:
            note["cutoff"] = self._cutoff  # the budget of a decision is the end of its slice
        return Arrival(self._instance.name, values, self._feature_seconds, self._cutoff, self._key, note)

    async def _features(self, note: dict[str, Any]) -> dict[str, float] | None:
        program = self._portfolio.features
        budget = await self._asked(self._decider.feature_budget, self._cutoff)
        if program is None or budget == 0.0:
            return None
        found = await self._drive(
            outcomes.computed_features(self._portfolio, program, self._instance, budget)
        )
        self._feature_seconds = found.seconds
        if found.problem is not None and not found.timed_out and not self._stopped:
            note["problem"] = found.problem
            self._problems.append(found.problem)
        return found.values or None

    async def _one(self, decision: Decision, remarks: Note | None = None) -> _RunEnd:
        """Run the solver that was chosen, and learn from it; the first answer ends all other runs."""
        solver = self._portfolio.solvers.get(decision.algorithm)
        if solver is None:  # another machine's, or taken out of the portfolio since
            note: dict[str, Any] = {"ending": "gone", "seconds": 0.0, "answer": None}
            await self._learned(decision, Outcome.failed(), note)
            return _RunEnd(0.0, failed=True)
        job = outcomes.solver_run(self._portfolio, solver, self._instance, decision.budget)
        run = await self._drive(job)
        run.note.update(remarks or {})
        answer = run.note["answer"]
        first = answer is not None and self._shown is None
        if first:
            self._shown = shown_answer(str(answer), run.output, run.note["exit_code"])
            self._end_running()
        learned = await self._learned(decision, run.outcome, run.note)
        if first:
            self._answering = learned
        if first or self._answering is None:
            self._used = max(decision.spent + run.note["seconds"], 0.0 if first else self._used)
        if run.note.get("problem"):
            self._problems.append(f"{decision.algorithm}: {run.note['problem']}")
        return _RunEnd(run.note["seconds"], run.outcome.status is Status.FAILED)

    async def _learned(self, decision: Decision, outcome: Outcome, note: Note) -> dict[str, Any]:
        run = {"solver": decision.algorithm, "budget": decision.budget, **note}
        self._runs.append(run)
        try:
            await self._asked(self._decider.observe, decision, outcome, note)
        except ServiceError as error:
            if self._shown is None:
                raise
            self._problems.append(f"the answer stands, but nothing was learned from it: {error}")
        return run

    async def _drive(self, workflow: Workflow[T]) -> T:
        """Run the programs of a workflow and return its result."""
        ended: Ended | None = None
        try:
            while True:
                job = next(workflow) if ended is None else workflow.send(ended)
                ended = await self._program(job)
        except StopIteration as finished:
            result: T = finished.value
            return result
        finally:
            workflow.close()

    async def _program(self, job: ProgramJob) -> Ended:
        running = self._launcher.start(job.program, job.limits, keep_output=job.keep_output)
        checks = job.made is not None  # a run whose answer is being verified is not stopped
        if not checks:
            self._running.add(running)
            if self._stopped or self._shown is not None:
                running.cancel()
        try:
            await _readable(running.fileno())
            ended = running.wait()
        finally:
            self._running.discard(running)
        assert ended is not None
        return ended

    async def _asked(self, verb: Callable[..., T], *arguments: Any) -> T:
        """Ask the decider."""
        return await asyncio.to_thread(verb, *arguments) if self._decider.waits else verb(*arguments)


async def _readable(descriptor: int) -> None:
    """Wait until something can be read."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, note)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
