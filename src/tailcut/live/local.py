"""Running jobs on this machine: one thread waits for each."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from tailcut.live.limits import Ended, Processes, Run

from tailcut.live.work import Job


class LocalRuns:
    """Runs jobs as processes of this machine; leaving the context ends those that still run."""

    def __init__(self, at_once: int, preload: Iterable[str] = ()) -> None:
        self.processes = Processes(preload=tuple(preload))
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="run")
        self._running: set[Run] = set()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, job: Job) -> Future[Ended]:
        """Start a job; the future tells how it ended."""
        return self._threads.submit(self._run, job)

    def _run(self, job: Job) -> Ended:
        with self._lock:
            if self._closed:
                raise RuntimeError("jobs cannot be started any more")
            run = self.processes.start(job.program, job.limits, keep_output=job.keep_output)
            self._running.add(run)
        try:
            ended = run.wait()
            assert ended is not None  # waits without a time limit
            return ended
        finally:
            with self._lock:
                self._running.discard(run)

    def __enter__(self) -> LocalRuns:
        self.processes.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            for run in self._running:
                run.cancel()
        self._threads.shutdown(cancel_futures=True)
        self.processes.__exit__(kind, error, trace)
