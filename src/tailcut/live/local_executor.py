"""Running jobs on this machine: one thread waits for each."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from tailcut.errors import InputError
from tailcut.live.jobs import ProgramJob
from tailcut.live.limits import Call, Command, Ended, Ending, Launcher
from tailcut.live.portfolio import Portfolio
from tailcut.live.runnable import check_programs


class LocalProgramExecutor:
    """Runs jobs as processes of this machine; leaving the context ends those that still run."""

    def __init__(self, at_once: int, preload: Iterable[str] = (), modules: Path | None = None) -> None:
        """Prepare; modules of Python entry points are also searched in the folder `modules`."""
        if modules is not None and str(modules) not in sys.path:
            sys.path.append(str(modules))  # at the end: a file of the folder must not hide a module of ours
        self._launcher = Launcher(preload=tuple(preload))
        # Spare-time work may still be stopping while other jobs start.
        self._threads = ThreadPoolExecutor(2 * at_once + 1, thread_name_prefix="run")

    @classmethod
    def of(cls, portfolio: Portfolio, at_once: int) -> LocalProgramExecutor:
        """Return an executor for the programs of a portfolio; raise if something is not installed."""
        if portfolio.lacking:
            raise InputError(f"{portfolio.file}: {'; '.join(portfolio.lacking)}")
        return cls(at_once, portfolio.preload, portfolio.folder)

    @property
    def method(self) -> str:
        """How limits are enforced, in words."""
        return self._launcher.method

    def submit(self, job: ProgramJob) -> Future[Ended]:
        """Start a job; the future returns how it ended. A cancelled job has no outcome."""
        return self._threads.submit(self._run, job)

    def check_programs(self, programs: Mapping[str, Command | Call], where: str) -> None:
        """Raise unless all programs can be started on this machine."""
        check_programs(programs, where)

    def _run(self, job: ProgramJob) -> Ended:
        stopper = job.stopper
        running = self._launcher.start(job.program, job.limits, keep_output=job.keep_output)
        if stopper is not None:
            stopper.attach(running)
        ended = running.wait()
        if ended is None or (ended.ending is Ending.CANCELLED and not (stopper and stopper.stopped)):
            raise CancelledError
        return ended

    def __enter__(self) -> LocalProgramExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._launcher.close()
        self._threads.shutdown(cancel_futures=True)
