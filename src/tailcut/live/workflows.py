"""Work that needs programs run: generators that yield jobs, and the loop that runs many at once.

Whatever waits for a program (an instance on its way from features to an answer, one cell of a measurement)
is written as one straight generator: it yields a `ProgramJob` and is sent how that ended. `run_workflows`
keeps several of them going. Where the jobs run is up to the `ProgramExecutor`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol, TypeVar

from tailcut.live.jobs import ProgramJob
from tailcut.live.limits import Ended

Result = TypeVar("Result")

Workflow = Generator[ProgramJob, Ended, Result]
"""Yields jobs, is sent how each ended, and returns what came of it."""


class ProgramExecutor(Protocol):
    """Where jobs run: this machine (`LocalProgramExecutor`) or a cluster (`DaskProgramExecutor`)."""

    @property
    def method(self) -> str:
        """By which means limits are enforced, for people."""

    def submit(self, job: ProgramJob) -> Future[Ended]:
        """Start a job; the future has how it ended. One that was cancelled has no outcome."""


def run_workflows(
    workflows: Iterator[Workflow[Result]],
    executor: ProgramExecutor,
    *,
    at_once: int,
    on_result: Callable[[Result], None],
    urgent: deque[Workflow[Result]] | None = None,
) -> None:
    """Run all workflows to their end, `at_once` at a time, each begun when there is room for it.

    What is added to `urgent` meanwhile, by a workflow for example, is begun before the next of `workflows`.

    `workflows` may take its time to give the next one: it is asked in a thread of its own, and what is under
    way continues meanwhile. An error of a workflow, of a job or of `workflows` ends the loop.
    """
    running: dict[Future[Ended], Workflow[Result]] = {}
    upcoming: Future[Workflow[Result] | None] | None = _next_of(workflows)
    before = deque[Workflow[Result]]() if urgent is None else urgent
    try:
        while running or before or upcoming is not None:
            if before and len(running) < at_once:
                _step(before.popleft(), None, running, executor, on_result)
                continue
            room = upcoming is not None and len(running) < at_once
            waiting: set[Future[Any]] = set(running)
            if room and upcoming is not None:
                waiting.add(upcoming)
            finished = wait(waiting, return_when=FIRST_COMPLETED).done
            for future in [one for one in running if one in finished]:
                workflow = running.pop(future)
                _step(workflow, future.result(), running, executor, on_result)
            if upcoming is not None and upcoming in finished:
                begun = upcoming.result()
                upcoming = None if begun is None else _next_of(workflows)
                if begun is not None:
                    _step(begun, None, running, executor, on_result)
    finally:
        for workflow in running.values():
            workflow.close()


def _step(
    workflow: Workflow[Result],
    ended: Ended | None,
    running: dict[Future[Ended], Workflow[Result]],
    executor: ProgramExecutor,
    on_result: Callable[[Result], None],
) -> None:
    """Send a workflow how its last job ended and start its next one, or take its result."""
    try:
        job = next(workflow) if ended is None else workflow.send(ended)
    except StopIteration as stopped:
        on_result(stopped.value)
    else:
        running[executor.submit(job)] = workflow


def _next_of(workflows: Iterator[Workflow[Result]]) -> Future[Workflow[Result] | None]:
    """Return a future of the next workflow, None when there are no more."""
    future: Future[Workflow[Result] | None] = Future()

    def ask() -> None:
        try:
            future.set_result(next(workflows, None))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()  # must not keep the process alive: it may wait for ever
    return future
