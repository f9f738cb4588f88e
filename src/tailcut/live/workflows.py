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

from tailcut.live.jobs import ProgramJob
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
) -> None:
    """Run all workflows to their end, `at_once` at a time.

    Workflows added to `urgent` in the meantime start before the next of `workflows`.

    `workflows` may block: it is iterated in a separate thread while other work continues. An error in a
    workflow, in a job or in `workflows` ends the loop.
    """
    running: _Running[Result] = {}
    upcoming: Future[WideWorkflow[Result] | None] | None = _next_of(workflows)
    before = deque[WideWorkflow[Result]]() if urgent is None else urgent
    try:
        while running or before or upcoming is not None:
            free = at_once - len({one.workflow for one in running.values()})
            if before and free > 0:
                _step(before.popleft(), None, running, executor, on_result)
                continue
            waiting: set[Future[Any]] = {*running}
            if upcoming is not None and free > 0:
                waiting.add(upcoming)
            finished = wait(waiting, return_when=FIRST_COMPLETED).done
            for future in [one for one in running if one in finished]:
                one = running.pop(future)
                one.note(future.result())
                _step(one.workflow, future.result(), running, executor, on_result)
            if upcoming is not None and upcoming in finished:
                begun = upcoming.result()
                upcoming = None if begun is None else _next_of(workflows)
                if begun is not None:
                    _step(begun, None, running, executor, on_result)
    finally:
        for under_way in running.values():
            under_way.workflow.close()


class _UnderWayJob(NamedTuple, Generic[Result]):
    """A running job, its workflow, and its number there if the workflow has several jobs."""

    workflow: WideWorkflow[Result]
    number: int = 0
    told: deque[tuple[int, Ended]] | None = None

    def note(self, ended: Ended) -> None:
        if self.told is not None:
            self.told.append((self.number, ended))


_Running = dict[Future[Ended], _UnderWayJob[Result]]


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
