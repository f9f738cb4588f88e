"""Programs on a Dask cluster: the client's end.

An outcome exists only if a worker returned one. A run whose worker died, was closed, or lost the process that
watched the run is put back and run again, on another worker as a rule; only its last, whole run counts.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import distributed
from distributed import Client, KilledWorker, as_completed

from tailcut.cluster.parcel import Parcel, packed
from tailcut.cluster.worker_programs import ProgramRunner, problems_here, run_here
from tailcut.errors import InputError, LiveError, TailcutError, WorkerDiedError
from tailcut.live.engine import FutureRun, ProgramJob, Run
from tailcut.live.limits import Call, Command, Ended

_log = logging.getLogger("tailcut.cluster")
_TRIES = 4
"""How often Dask may give up a run, each time after several workers died with it, before we do."""


class DaskProgramExecutor:
    """Runs jobs on the workers of a cluster; leaving the context ends those that still run.

    With `ship` instance files are sent along; otherwise workers must see them under the same paths, and so
    in any case the folder `modules` with modules of Python entry points, if there are any.
    """

    def __init__(
        self,
        client: Client,
        preload: Sequence[str] = (),
        *,
        modules: Path | None = None,
        ship: bool = False,
    ) -> None:
        self._client, self._ship = client, ship
        self._name = f"tailcut-runs-{uuid4().hex[:12]}"
        self._count = 0
        self._under_way: dict[distributed.Future[Any], _UnderWay] = {}
        self._arriving = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._some, self._closing = threading.Event(), threading.Event()
        self._methods: set[str] = set()
        self._preload, self._modules = tuple(preload), None if modules is None else str(modules)
        self._collector = threading.Thread(target=self._collect, name="collector", daemon=True)

    @property
    def method(self) -> str:
        """How the workers enforce limits, in words."""
        return f"{' and '.join(sorted(self._methods)) or 'nothing was run'} on Dask workers"

    def start(self, job: ProgramJob) -> Run:
        """Send a job to a worker."""
        return FutureRun(job, self.submit(job))

    def submit(self, job: ProgramJob) -> Future[Ended]:
        """Send a job to a worker; the future returns how it ended."""
        answer: Future[Ended] = Future()
        self._send(_UnderWay(packed(job, ship=self._ship), answer))
        return answer

    def check_programs(self, programs: Mapping[str, Command | Call], where: str) -> None:
        """Raise unless all programs can be started on every worker that is there by now."""
        try:
            found: dict[str, list[str]] = self._client.run(problems_here, dict(programs))
        except Exception as error:  # whatever a worker without Tailcut makes of it
            raise _not_prepared(error) from error
        problems = [f"Dask worker {at}: {one}" for at, words in found.items() for one in words]
        if problems:
            raise InputError(f"{where}: {'; '.join(problems)}. Nothing was run")

    def _send(self, one: _UnderWay) -> None:
        self._count += 1
        key = f"run-{self._name}-{self._count}"
        future = self._client.submit(run_here, self._name, one.parcel, key=key, pure=False)
        self._under_way[future] = one
        self._arriving.add(future)
        self._some.set()

    def _collect(self) -> None:
        """Take what arrives, in a thread of its own, until the context is left."""
        while not self._closing.is_set():
            self._some.wait()
            self._some.clear()
            for future, answer in self._arriving:
                one = self._under_way.pop(future)
                try:
                    self._take(one, future.status, answer)
                except BaseException as error:
                    one.answer.set_exception(error)
                del future

    def _take(self, one: _UnderWay, status: str, answer: Any) -> None:
        """Pass on an outcome, resubmit a lost run, or raise the error."""
        if status == "finished":
            ended, method = answer
            self._methods.add(method)
            one.answer.set_result(ended)
            return
        if self._closing.is_set():
            raise CancelledError
        if status != "error":
            raise WorkerDiedError(
                f"Dask's scheduler has dropped the runs ({status}): did it end? Completed work is kept"
            )
        error = answer[1]
        if not isinstance(error, KilledWorker | LiveError):
            raise error if isinstance(error, TailcutError) else _not_prepared(error)
        one.lost += 1
        if one.lost >= _TRIES:
            raise WorkerDiedError(f"lost {one.lost} times: {one.parcel.job.program}; the last time: {error}")
        _log.warning("a run was lost and is run again: %s", error)
        self._send(one)

    def __enter__(self) -> DaskProgramExecutor:
        try:
            self._client.register_plugin(ProgramRunner(self._name, self._preload, self._modules))
        except TailcutError:
            raise
        except Exception as error:  # whatever a worker without Tailcut makes of it
            raise _not_prepared(error) from error
        self._collector.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._client.cancel(list(self._under_way))
        self._some.set()
        self._collector.join(10)
        with suppress(Exception):  # a worker that dies now has nothing left to be ended
            self._client.unregister_worker_plugin(self._name)


class _UnderWay:
    """A run that was sent, where its outcome is awaited, and how often it was lost."""

    def __init__(self, parcel: Parcel, answer: Future[Ended]) -> None:
        self.parcel, self.answer, self.lost = parcel, answer, 0


def _not_prepared(error: Exception) -> InputError:
    return InputError(
        f"a Dask worker could not run a program: {type(error).__name__}: {error}; "
        "expected workers with the same Tailcut as here"
    )
