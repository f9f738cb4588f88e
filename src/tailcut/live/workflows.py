"""Workflows: generators that yield jobs, and the loop that runs many of them at once.

Whatever waits for a program (an instance on its way from features to an answer, one cell of a measurement) is
written as one generator: it yields a `ProgramJob` and is sent how that ended. `run_workflows` runs several of
them at once. The `ProgramExecutor` decides where the jobs run. A workflow that has several jobs in progress
at once, as a race, yields `JobsAtOnce`; `tailcut.live.workflow_group` makes them of workflows.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tailcut.live.jobs import JobStopper, ProgramJob
from tailcut.live.limits import Call, Command, Ended

Result = TypeVar("Result")

Workflow = Generator[ProgramJob, Ended, Result]
"""Yields jobs, is sent how each ended, and returns its result."""


@dataclass(frozen=True)
class JobsAtOnce:
    """Concurrent jobs of one workflow, which is resumed each time one of them ends."""

    starting: Mapping[int, ProgramJob]
    """The jobs to start, by numbers that the workflow assigns; others may be in progress."""
    ended: deque[tuple[int, Ended]]
    """Receives which job has ended, and how."""


WideWorkflow = Generator[ProgramJob | JobsAtOnce, Ended, Result]
"""A workflow that may have several jobs in progress; it still counts as one."""


_MOMENT = 0.1
"""Seconds without work after which a worker counts as idle."""


@dataclass(frozen=True)
class StoppableWork(Generic[Result]):
    """A workflow whose jobs can all be stopped: it is sent that they were cancelled, and ends."""

    workflow: Workflow[Result]
    stopper: JobStopper


class SpareWork(Protocol[Result]):
    """Work for idle workers."""

    def room(self, idle_workers: int) -> int:
        """Return how many may be in progress; if there are more, the latest are stopped."""

    def begin(self) -> StoppableWork[Result] | None:
        """Return the next, None if there is none at the moment."""


class ProgramExecutor(Protocol):
    """Where jobs run: this machine (`LocalProgramExecutor`) or a cluster (`DaskProgramExecutor`)."""

    @property
    def method(self) -> str:
        """How limits are enforced, in words."""

    def submit(self, job: ProgramJob) -> Future[Ended]:
        """Start a job; the future returns how it ended. A cancelled job has no outcome."""

    def check_programs(self, programs: Mapping[str, Command | Call], where: str) -> None:
        """Raise unless all programs can be started there; `where` is the file that names them."""


def run_workflows(
    workflows: Iterator[WideWorkflow[Result]],
    executor: ProgramExecutor,
    *,
    at_once: int,
    on_result: Callable[[Result], None],
    urgent: deque[WideWorkflow[Result]] | None = None,
    spare: SpareWork[Result] | None = None,
) -> None:
    """Run all workflows to their end, `at_once` at a time.

    Workflows added to `urgent` in the meantime start before the next of `workflows`. Those of `spare` run as
    long as it allows them, and are stopped at the end.

    `workflows` may block: it is iterated in a separate thread while other work continues. An error in a
    workflow, in a job or in `workflows` ends the loop.
    """
    running: _Running[Result] = {}
    upcoming: Future[WideWorkflow[Result] | None] | None = _next_of(workflows)
    before = deque[WideWorkflow[Result]]() if urgent is None else urgent
    besides = _SpareRuns(spare, executor, on_result)
    try:
        while running or before or upcoming is not None:
            free = at_once - len({one.workflow for one in running.values()})
            besides.make_room(free)
            if before and free > 0:
                _step(before.popleft(), None, running, executor, on_result)
                continue
            waiting: set[Future[Any]] = {*running, *besides.running}
            if upcoming is not None and free > 0:
                waiting.add(upcoming)
            wanted = besides.wanted(free)
            finished = wait(waiting, _MOMENT if wanted else None, return_when=FIRST_COMPLETED).done
            if not finished:
                besides.begin()
            for future in [one for one in running if one in finished]:
                one = running.pop(future)
                one.note(future.result())
                _step(one.workflow, future.result(), running, executor, on_result)
            if upcoming is not None and upcoming in finished:
                begun = upcoming.result()
                upcoming = None if begun is None else _next_of(workflows)
                if begun is not None:
                    _step(begun, None, running, executor, on_result)
            besides.step(finished)  # at last: nobody waits for it
        besides.end()
    finally:
        for under_way in running.values():
            under_way.workflow.close()
        for beside in besides.running.values():
            beside.workflow.close()


class _UnderWayJob(NamedTuple, Generic[Result]):
    """A running job, its workflow, and its number there if the workflow has several jobs."""

    workflow: WideWorkflow[Result]
    number: int = 0
    told: deque[tuple[int, Ended]] | None = None

    def note(self, ended: Ended) -> None:
        if self.told is not None:
            self.told.append((self.number, ended))


_Running = dict[Future[Ended], _UnderWayJob[Result]]


class _SpareRuns(Generic[Result]):
    """The spare-time work in progress."""

    def __init__(
        self,
        work: SpareWork[Result] | None,
        executor: ProgramExecutor,
        on_result: Callable[[Result], None],
    ) -> None:
        self._work, self._executor, self._on_result = work, executor, on_result
        self._exhausted = False
        """Whether there was nothing to start, and nothing has happened since."""
        self.running: dict[Future[Ended], StoppableWork[Result]] = {}

    def wanted(self, idle_workers: int) -> bool:
        """Return whether one more may be begun, if nothing else happens."""
        return (
            self._work is not None
            and not self._exhausted
            and len(self.running) < self._work.room(idle_workers)
        )

    def begin(self) -> None:
        """Begin one more, if there is one."""
        one = None if self._work is None else self._work.begin()
        self._exhausted = one is None
        if one is not None:
            self._step(one, None)

    def make_room(self, idle_workers: int) -> None:
        """Stop those beyond the limit."""
        active = [one for one in self.running.values() if not one.stopper.stopped]
        for one in active[self._work.room(idle_workers) :] if self._work is not None else ():
            one.stopper.stop()

    def step(self, finished: set[Future[Any]]) -> None:
        """Continue those whose jobs are among the finished ones."""
        self._exhausted = self._exhausted and not finished
        for future in [one for one in self.running if one in finished]:
            self._step(self.running.pop(future), future.result())

    def end(self) -> None:
        """Stop all of them and wait for that."""
        for one in self.running.values():
            one.stopper.stop()
        while self.running:
            self.step(wait(self.running, return_when=FIRST_COMPLETED).done)

    def _step(self, one: StoppableWork[Result], ended: Ended | None) -> None:
        begun: _Running[Result] = {}
        _step(one.workflow, ended, begun, self._executor, self._on_result)
        self.running.update(dict.fromkeys(begun, one))


def _step(
    workflow: WideWorkflow[Result],
    ended: Ended | None,
    running: _Running[Result],
    executor: ProgramExecutor,
    on_result: Callable[[Result], None],
) -> None:
    """Send a workflow how its last job ended, and start its next job or take its result."""
    try:
        asked = next(workflow) if ended is None else workflow.send(ended)
    except StopIteration as stopped:
        on_result(stopped.value)
        return
    if isinstance(asked, ProgramJob):
        running[executor.submit(asked)] = _UnderWayJob(workflow)
        return
    for number, job in asked.starting.items():
        running[executor.submit(job)] = _UnderWayJob(workflow, number, asked.ended)


def _next_of(workflows: Iterator[WideWorkflow[Result]]) -> Future[WideWorkflow[Result] | None]:
    """Return a future of the next workflow, None when there are no more."""
    future: Future[WideWorkflow[Result] | None] = Future()

    def ask() -> None:
        try:
            future.set_result(next(workflows, None))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()  # must not keep the process alive: it may wait forever
    return future
