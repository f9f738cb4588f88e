"""The writer: one thread that owns the journal and all selectors, and writes in groups.

Selectors are not thread-safe, and a write to disk takes milliseconds. So requests are queued, and one thread
takes all that wait at the same time: it executes them one after the other, writes the results as one
transaction, and only then do the clients get their responses. What cannot be written did not happen.

There are two queues, and they take turns: to decide is quick; to learn is mostly quick too, but now and then
a selector grows its trees again. With a queue of their own, decisions do not wait for the outcomes of others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from tailcut.errors import JournalError
from tailcut.journal import Journal, Project
from tailcut.journal.events import DamagedError
from tailcut.service.responses import BusyError, NoProjectError, SetAsideError, to_json
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.statistics import ServerMetrics

GROUP = 256
"""Approximate number of steps in a transaction, so that the first of them does not wait long."""
FAILED = 5.0
"""Seconds for which the service counts as failing after a group could not be written."""
LATENCIES = 1_000
"""Decisions whose latency is remembered."""

log = logging.getLogger("tailcut.service")
T = TypeVar("T")


@dataclass(slots=True)
class QueuedWork(Generic[T]):
    """Work on a project, or on the journal if it has no name, and the future that waits for it."""

    name: str | None
    work: Callable[..., T]
    future: asyncio.Future[T]
    timed: bool = False
    steps: int = 1
    """The number of decisions or outcomes in it."""
    since: float = field(default_factory=time.perf_counter)
    result: T | None = None
    error: BaseException | None = None


class WorkQueues:
    """Two queues that take turns: quick work, and work that may be slow."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._queues: tuple[deque[QueuedWork[Any]], deque[QueuedWork[Any]]] = (deque(), deque())
        self._turn = 0
        self.serving: float | None = None
        """When work on the latest group started; None if it is done."""
        self._wake = threading.Condition()
        self.closed = False

    def waiting(self, *, slow: bool) -> int:
        return len(self._queues[slow])

    def put(self, work: QueuedWork[Any], *, slow: bool) -> None:
        queue = self._queues[slow]
        if len(queue) >= self.limit or self.closed:
            raise BusyError("too many requests are waiting; try again")
        with self._wake:
            queue.append(work)
            self._wake.notify()

    def age(self) -> float:
        """Return the age of the oldest unfinished request in seconds; 0 if there is none."""
        oldest = [queue[0].since for queue in self._queues if queue]
        if self.serving is not None:
            oldest.append(self.serving)
        return time.perf_counter() - min(oldest) if oldest else 0.0

    def close(self) -> None:
        """Accept no more work; queued work is still handed out."""
        with self._wake:
            self.closed = True
            self._wake.notify()

    def next_group(self) -> list[QueuedWork[Any]]:
        """Wait for work and return a group for one transaction; empty if closed and done."""
        with self._wake:
            while not (self._queues[0] or self._queues[1] or self.closed):
                self._wake.wait()
            self._turn = 1 - self._turn
            queue = self._queues[self._turn] or self._queues[1 - self._turn]
            group, steps = [], 0
            while queue and steps < GROUP:
                group.append(queue.popleft())
                steps += group[-1].steps
            self.serving = time.perf_counter() if group else None
            return group


class JournalWriter:
    """Executes requests in its own thread; created and used from one event loop."""

    def __init__(self, path: Path, limits: ServiceLimits, metrics: ServerMetrics) -> None:
        self.limits, self.metrics = limits, metrics
        self.journal = Journal(path, encode=lambda body: to_json(body).decode())
        self.projects: dict[str, Project] = {}
        self.broken: dict[str, str] = {}
        """Projects that cannot be opened, and why."""
        self.latencies: dict[str, deque[float]] = {}
        self.revisions: dict[str, int] = {}
        """The last event of each project on disk; any thread may read it."""
        self._failed = -math.inf
        """When a group could not be written, if none could since."""
        self._uncertain = False
        """Whether a transaction may or may not have been written: then the file says which projects exist."""
        self._read_projects()
        self.queues = WorkQueues(limits.waiting_requests)
        self._thread = threading.Thread(target=self._work, name="journal writer", daemon=True)
        self._thread.start()

    def _read_projects(self) -> None:
        """Open the projects of the file that are not open; drop those that are not in it."""
        numbers = self.journal.projects()
        gone = [name for name in self.broken if name not in numbers]
        gone += [name for name, project in self.projects.items() if numbers.get(name) != project.number]
        for name in gone:
            self.drop(name)
        for name in [name for name in numbers if name not in self.projects and name not in self.broken]:
            try:
                self.adopt(Project(self.journal, name))
            except Exception as error:  # a damaged project must not affect the others
                self._set_aside(name, error)

    def _set_aside(self, name: str, error: Exception) -> None:
        self.broken[name] = error.reason if isinstance(error, DamagedError) else type(error).__name__
        self.projects.pop(name, None)
        log.error("project %s is set aside: %s", name, error)

    def adopt(self, project: Project) -> None:
        """Add a project; called before the thread starts, and in it."""
        project.snapshot_every = self.limits.snapshot_every
        self.projects[project.name] = project
        self.latencies[project.name] = deque(maxlen=LATENCIES)
        self.revisions[project.name] = project.last_event

    def drop(self, name: str) -> None:
        """Drop a project that could not be written or was removed."""
        registers: tuple[dict[str, Any], ...] = (self.projects, self.broken, self.latencies, self.revisions)
        for register in registers:
            register.pop(name, None)

    def trouble(self) -> str | None:
        """Return why the service does not work, or None."""
        if self.queues.closed or not self._thread.is_alive():
            return "the service is stopping"
        try:
            self.journal.check_in_place()
        except JournalError:
            return "the state file was removed or replaced while in use: nothing is written"
        if self.journal.taken_over:
            return "another process has taken the state file over: nothing is written"
        if time.monotonic() - self._failed < FAILED:
            return "the state file could not be written just now"
        age = self.queues.age()
        return f"requests have waited for {age:.0f} s" if age > self.limits.stuck_seconds else None

    def stop(self) -> None:
        """Finish queued work, write snapshots and close the journal, within a time limit.

        Abandoned work was not acknowledged, and the journal does not contain it.
        """
        self.queues.close()
        self._thread.join(self.limits.stop_seconds)
        if self._thread.is_alive():
            log.error("requests in progress take too long and are abandoned")
            return
        for project in self.projects.values():
            try:
                project.keep()
            except JournalError:  # the events are all there, only the next start takes longer
                log.exception("no snapshot of %s", project.name)
        self.journal.close()

    async def with_project(
        self,
        name: str | None,
        work: Callable[..., T],
        *,
        slow: bool = False,
        timed: bool = False,
        steps: int = 1,
    ) -> T:
        """Execute work on a project; its events are on disk when this returns."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.queues.put(QueuedWork(name, work, future, timed, steps), slow=slow)
        return await future

    async def with_journal(self, work: Callable[[], T]) -> T:
        return await self.with_project(None, work, slow=True)

    def _work(self) -> None:
        while group := self.queues.next_group():
            self._do(group)
            self.queues.serving = None

    def _do(self, group: list[QueuedWork[Any]]) -> None:
        """Execute a group and write it; clients are answered before anything else that is due."""
        started = time.perf_counter()
        try:
            with self.journal.together():
                self.journal.afterwards(partial(self._written, group, started))
                if self._uncertain:
                    self._read_projects()
                    self._uncertain = False
                for work in group:
                    self._try(work)
        except JournalError as error:
            log.error("a group of %d requests could not be written: %s", len(group), error)  # noqa: TRY400
            self._failed, self._uncertain = time.monotonic(), self._uncertain or error.uncertain
            self._answer(group, started, error)
        except BaseException as error:  # the thread must continue; nothing was written
            log.exception("a group of %d requests failed", len(group))
            self._answer(group, started, error)

    def _written(self, group: list[QueuedWork[Any]], started: float) -> None:
        """Record what is on disk now, and answer."""
        self._failed, now = -math.inf, time.perf_counter()
        for work in group:
            if work.name in self.projects and work.error is None:
                self.revisions[work.name] = self.projects[work.name].last_event
                if work.timed:
                    self.latencies[work.name].append(now - work.since)
        self._answer(group, started)

    def _answer(
        self, group: list[QueuedWork[Any]], started: float, failure: BaseException | None = None
    ) -> None:
        for work in group:
            work.error = work.error or failure
        self.metrics.commits.observe(time.perf_counter() - started)
        self.metrics.groups.observe(len(group))
        with contextlib.suppress(RuntimeError):  # the server has ended without waiting any longer
            group[0].future.get_loop().call_soon_threadsafe(_deliver, group)

    def _try(self, work: QueuedWork[Any]) -> None:
        try:
            work.result = work.work() if work.name is None else work.work(self._project(work.name))
        except BaseException as error:
            work.error = error
            if isinstance(error, DamagedError) and work.name is not None:
                self._set_aside(work.name, error)

    def _project(self, name: str) -> Project:
        if name in self.broken:
            raise SetAsideError(f"project {name!r} is damaged and set aside: {self.broken[name]}")
        if name not in self.projects:
            raise NoProjectError(f"there is no project {name!r}")
        return self.projects[name]


def _deliver(group: list[QueuedWork[Any]]) -> None:
    """Resolve the futures; runs in the event loop."""
    for work in group:
        if work.future.done():  # the client is gone
            continue
        if work.error is None:
            work.future.set_result(work.result)
        else:
            work.future.set_exception(work.error)
