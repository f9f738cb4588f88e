"""What a Dask worker does with a run: one `Launcher` per worker holds all of its runs to their limits."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from tailcut.cluster.parcel import Parcel, unpacked
from tailcut.errors import InputError, LiveError, TailcutError
from tailcut.live.limits import Call, Command, Ended, Ending, Launcher, RunningProgram
from tailcut.live.runnable import why_not

_IDLE = 60.0
"""Seconds without a run after which a worker ends its server: its client may have vanished."""


class ProgramRunner(WorkerPlugin):
    """Runs programs on a worker; runs whose client drops them, or is gone, are ended at once."""

    def __init__(self, name: str, preload: Sequence[str], modules: str | None = None) -> None:
        self.name, self.preload, self.modules = name, tuple(preload), modules

    def setup(self, worker: Worker) -> None:
        """Begin on a worker; nothing is started before the first run is."""
        self._worker = worker
        if self.modules is not None and self.modules not in sys.path:
            sys.path.append(self.modules)  # at the end: a file of the folder must not hide a module of ours
        self._lock = threading.Lock()
        self._launcher: Launcher | None = None
        self._runs: dict[Any, RunningProgram | None] = {}
        """Task -> its run; None as long as it is about to start."""
        self._unwanted: set[Any] = set()
        self._idle: threading.Timer | None = None

    def perform(self, task: Any, parcel: Parcel) -> tuple[Ended, str]:
        """Run a program to its end; return how it ended and by which means limits are kept here.

        LiveError: the run was lost, and may be repeated elsewhere. InputError: it cannot be run here.
        """
        launcher = self._begin(task)
        try:
            method = launcher.method
        except TailcutError as error:
            self._end(task)
            raise InputError(f"Dask worker {self._worker.address}: {error}") from None
        try:
            with unpacked(parcel, Path(self._worker.local_directory)) as program:
                run = launcher.start(program, parcel.job.limits, keep_output=parcel.job.keep_output)
                self._note(task, run)
                ended = run.wait()
        except InputError as error:
            raise InputError(f"Dask worker {self._worker.address}: {error}") from None
        finally:
            self._end(task)
        if ended is None or ended.ending is Ending.CANCELLED:
            raise LiveError("the run was cancelled on its worker")
        return ended, method

    def _begin(self, task: Any) -> Launcher:
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
                self._idle = None
            self._runs[task] = None
            if self._launcher is None:
                self._launcher = Launcher(preload=self.preload)
            return self._launcher

    def _note(self, task: Any, run: RunningProgram) -> None:
        with self._lock:
            self._runs[task] = run
            if task in self._unwanted:
                run.cancel()

    def _end(self, task: Any) -> None:
        with self._lock:
            self._runs.pop(task, None)
            self._unwanted.discard(task)
            if not self._runs and self._launcher is not None:
                self._idle = threading.Timer(_IDLE, self._rest)
                self._idle.daemon = True
                self._idle.start()

    def _rest(self) -> None:
        """End the server if there is still nothing to do."""
        with self._lock:
            if self._runs or self._launcher is None:
                return
            launcher, self._launcher = self._launcher, None
        launcher.close()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End the run of a task that is no longer needed."""
        if (start, finish) == ("executing", "released"):
            with self._lock:
                if key in self._runs:
                    self._unwanted.add(key)
                    run = self._runs[key]
                    if run is not None:
                        run.cancel()

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's signature
        """End what runs, when the client has finished or the worker is closed."""
        with self._lock:
            launcher, self._launcher = self._launcher, None
            if self._idle is not None:
                self._idle.cancel()
        if launcher is not None:
            await asyncio.to_thread(launcher.close)


def run_here(name: str, parcel: Parcel) -> tuple[Ended, str]:
    """Run a program under the runner of that name on this worker: the task that is sent."""
    worker = get_worker()
    runner = worker.plugins.get(name)
    if not isinstance(runner, ProgramRunner):
        raise LiveError("the worker has already closed its runner")
    return runner.perform(worker.get_current_task(), parcel)


def problems_here(programs: Mapping[str, Command | Call]) -> list[str]:
    """Return why programs cannot be started on this worker, a sentence each."""
    return [f"{name}: {problem}" for name, one in programs.items() if (problem := why_not(one)) is not None]
