"""The keeper: one thread that owns the journal and all selectors, and writes in groups.

Selectors are not for several threads, and a write to disk takes milliseconds. So requests become jobs in a
line, and one thread takes all that wait at the same time: it does them one after the other, writes what they
did as one transaction, and only then are the clients told. A job that cannot be written did not happen.

There are two lines, and they take turns: to decide is quick; to learn is mostly quick too, but now and then a
selector grows its trees anew. With a line of their own, decisions do not wait for the outcomes of others.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic_core import to_json

from tailcut.errors import JournalError, TailcutError
from tailcut.journal import Journal, Project
from tailcut.service.limits import Limits
from tailcut.service.metrics import Metrics
from tailcut.service.problems import BusyError, NoProjectError

SNAPSHOT_EVERY = 10_000
"""Events between two snapshots of a project: so many are repeated at most after a crash."""
GROUP = 256
"""Steps that share a transaction, more or less, so that the first of them does not wait long, and whoever
asks in batches prepares the next one while others are served."""
LATENCIES = 1_000
"""Decisions whose latency is remembered."""

log = logging.getLogger("tailcut.service")
T = TypeVar("T")


class Job(Generic[T]):
    """Something to do with a project, or with the journal, and who waits for it."""

    def __init__(
        self, name: str | None, work: Callable[..., T], future: asyncio.Future[T], timed: bool, steps: int = 1
    ) -> None:
        self.name, self.work, self.future, self.timed = name, work, future, timed
        self.steps = steps
        """How many decisions or outcomes it is about."""
        self.since = time.perf_counter()
        self.result: T | None = None
        self.error: BaseException | None = None


class Keeper:
    """Does jobs in one thread of its own; made and used from one event loop."""

    def __init__(self, path: Path, limits: Limits, metrics: Metrics, snapshot_every: int) -> None:
        self.limits, self.metrics, self.snapshot_every = limits, metrics, snapshot_every
        self.journal = Journal(path, encode=fast_json)
        self.projects: dict[str, Project] = {}
        self.broken: dict[str, str] = {}
        """Projects that cannot be opened, and why."""
        self.latencies: dict[str, deque[float]] = {}
        self.revisions: dict[str, int] = {}
        """The last event of each project that is on disk; read by anyone."""
        for name in self.journal.projects():
            self._open(name)
        self._lines: tuple[deque[Job[Any]], deque[Job[Any]]] = (deque(), deque())
        self._turn = 0
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._live, name="keeper", daemon=True)

    def _open(self, name: str) -> None:
        try:
            self.adopt(Project(self.journal, name))
        except TailcutError as error:
            self.broken[name] = str(error)
            log.exception("project %s cannot be opened", name)

    def adopt(self, project: Project) -> None:
        """Take in a project; called before the thread lives, and in it."""
        project.snapshot_every = self.snapshot_every
        self.projects[project.name] = project
        self.latencies[project.name] = deque(maxlen=LATENCIES)
        self.revisions[project.name] = project.last_event

    def drop(self, name: str) -> None:
        """Let go of a project that could not be written."""
        self.projects.pop(name, None)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether jobs get done."""
        return self._thread.is_alive() and not self._stopping

    def stop(self) -> None:
        """Finish what waits, write snapshots and close the journal."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.ident is not None:
            self._thread.join()
        for project in self.projects.values():
            try:
                project.keep()
            except JournalError:  # the events are all there, only the next start takes longer
                log.exception("no snapshot of %s", project.name)
        self.journal.close()

    async def with_project(
        self,
        name: str,
        work: Callable[[Project], T],
        *,
        slow: bool = False,
        timed: bool = False,
        steps: int = 1,
    ) -> T:
        """Do something with a project; what it wrote is on disk when this returns."""
        future = asyncio.get_running_loop().create_future()
        return await self._enqueue(Job(name, work, future, timed, steps), slow)

    async def with_journal(self, work: Callable[[], T]) -> T:
        """Do something with the journal or all projects."""
        return await self._enqueue(Job(None, work, asyncio.get_running_loop().create_future(), False), True)

    async def _enqueue(self, job: Job[T], slow: bool) -> T:
        line = self._lines[slow]
        if len(line) >= self.limits.waiting_requests or self._stopping:
            raise BusyError("too many requests are waiting; come again")
        with self._wake:
            line.append(job)
            self._wake.notify()
        return await job.future

    def _live(self) -> None:
        while True:
            with self._wake:
                while not (self._lines[0] or self._lines[1] or self._stopping):
                    self._wake.wait()
                group = self._next_group()
            if not group:
                return
            self._do(group)

    def _next_group(self) -> list[Job[Any]]:
        self._turn = 1 - self._turn
        line = self._lines[self._turn] or self._lines[1 - self._turn]
        group, steps = [], 0
        while line and steps < GROUP:
            group.append(line.popleft())
            steps += group[-1].steps
        return group

    def _do(self, group: list[Job[Any]]) -> None:
        """Do jobs, write what they did, tell who waits."""
        started = time.perf_counter()
        try:
            with self.journal.together():
                for job in group:
                    self._try(job)
            self._written(group)
        except JournalError as error:
            log.error("a group of %d requests could not be written: %s", len(group), error)  # noqa: TRY400
            _fail(group, error)
        except BaseException as error:  # the thread must live on; whatever it was, nothing was written
            log.exception("a group of %d requests failed", len(group))
            _fail(group, error)
        self.metrics.commits.observe(time.perf_counter() - started)
        self.metrics.groups.observe(len(group))
        group[0].future.get_loop().call_soon_threadsafe(_deliver, group)

    def _written(self, group: list[Job[Any]]) -> None:
        """Take note of what is on disk now."""
        now = time.perf_counter()
        for job in group:
            if job.name is not None and job.error is None:
                self.revisions[job.name] = self.projects[job.name].last_event
                if job.timed:
                    self.latencies[job.name].append(now - job.since)

    def _try(self, job: Job[Any]) -> None:
        project = None
        try:
            if job.name is None:
                job.result = job.work()
            else:
                project = self._project(job.name)
                job.result = job.work(project)
        except TailcutError as error:
            job.error = error
        except BaseException as error:
            job.error = error
            if project is not None:
                project.forget()  # who knows how far it came: read it anew

    def _project(self, name: str) -> Project:
        found = self.projects.get(name)
        if found is None:
            if name in self.broken:
                raise JournalError(f"project {name!r} cannot be opened: {self.broken[name]}")
            raise NoProjectError(f"there is no project {name!r}")
        return found


def _fail(group: list[Job[Any]], error: BaseException) -> None:
    """Let all fail that had not failed by themselves."""
    for job in group:
        if job.error is None:
            job.error = error


def _deliver(group: list[Job[Any]]) -> None:
    """Tell who waits; runs in the event loop."""
    for job in group:
        if job.future.done():  # the client is gone
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)


def fast_json(body: dict[str, Any]) -> str:
    """Return JSON as Python's own module would write it, but for blanks, many times faster.

    >>> import json
    >>> json.loads(fast_json({"x": [0.1, 1e-300, None], "ä": "'"}))
    {'x': [0.1, 1e-300, None], 'ä': "'"}
    """
    return to_json(body).decode()
