"""Work that needs programs run: generators that yield jobs, and the loop that drives many at once.

Whatever waits for a program (an instance on its way from features to an answer, a cell of a measurement)
is written as one straight generator: it yields a `Job` and is sent how that ended. `drive` keeps several
of them going. Where the jobs run is the business of whoever gives `submit`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from tailcut.live.limits import Call, Command, Ended, ResourceLimits

Result = TypeVar("Result")

KEPT_OUTPUT = 64 * 2**20
"""Bytes kept of a program's output; a model of a million variables takes 8 million."""


class Job(NamedTuple):
    """A program to run within limits."""

    program: Command | Call
    limits: ResourceLimits
    keep_output: int = KEPT_OUTPUT
    instance: Path | None = None
    """The file it works on, given to it by this path."""
    made: Path | None = None
    """A file made for this run alone, given to it by this path."""


Work = Generator[Job, Ended, Result]
"""Yields jobs, is sent how each ended, and returns what came of it."""
Submit = Callable[[Job], "Future[Ended]"]


class Runs(Protocol):
    """Where jobs run: this machine (`tailcut.live.local`) or a cluster (`tailcut.cluster.runs`)."""

    @property
    def method(self) -> str:
        """By which means limits are kept, for people."""

    def submit(self, job: Job) -> Future[Ended]:
        """Start a job; the future tells how it ended. One that was cancelled tells nothing."""


def drive(
    works: Iterator[Work[Result]], submit: Submit, *, at_once: int, on_result: Callable[[Result], None]
) -> None:
    """Run all works to their end, `at_once` at a time, each begun when there is room for it.

    `works` may take its time to give the next one: it is asked in a thread of its own, and what is under
    way goes on meanwhile. An error of a work, of a job or of `works` ends the loop.
    """
    running: dict[Future[Ended], Work[Result]] = {}
    upcoming: Future[Work[Result] | None] | None = _next_of(works)
    try:
        while running or upcoming is not None:
            room = upcoming is not None and len(running) < at_once
            waiting: set[Future[Any]] = set(running)
            if room and upcoming is not None:
                waiting.add(upcoming)
            finished = wait(waiting, return_when=FIRST_COMPLETED).done
            for future in [one for one in running if one in finished]:
                work = running.pop(future)
                _step(work, future.result(), running, submit, on_result)
            if upcoming is not None and upcoming in finished:
                begun = upcoming.result()
                upcoming = None if begun is None else _next_of(works)
                if begun is not None:
                    _step(begun, None, running, submit, on_result)
    finally:
        for work in running.values():
            work.close()


def _step(
    work: Work[Result],
    ended: Ended | None,
    running: dict[Future[Ended], Work[Result]],
    submit: Submit,
    on_result: Callable[[Result], None],
) -> None:
    """Tell a work how its last job ended and start its next one, or take its result."""
    try:
        job = next(work) if ended is None else work.send(ended)
    except StopIteration as stopped:
        on_result(stopped.value)
    else:
        running[submit(job)] = work


def _next_of(works: Iterator[Work[Result]]) -> Future[Work[Result] | None]:
    """Return a future of the next work, None when there are no more."""
    future: Future[Work[Result] | None] = Future()

    def ask() -> None:
        try:
            future.set_result(next(works, None))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()  # must not keep the process alive: it may wait for ever
    return future
