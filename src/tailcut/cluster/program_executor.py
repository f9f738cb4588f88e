"""Programs on a Dask cluster.

An outcome exists only if a worker returned one. A run whose worker died, was closed, or lost the process that
watched the run is put back and run again, on another worker as a rule; only its last, whole run counts.

A program is given files by their absolute paths. Those that were made for it alone (an answer to be checked)
exist nowhere else and always go along. An instance goes along if that is wanted; otherwise the worker must
see the same file, and says so if it does not: a run without its instance would teach that the solver fails.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker, Worker, WorkerPlugin, get_worker

from tailcut.errors import InputError, LiveError, TailcutError, WorkerDiedError
from tailcut.live.engine import ProgramJob, Run, done, problems_of, why_not
from tailcut.live.limits import Call, Command, Ended, Ending, Launcher

_log = logging.getLogger("tailcut.cluster")
_TRIES = 4
"""How often Dask may give up a run, each time after several workers died with it, before we do."""
_LOOK = 0.1
"""Seconds between two looks of a worker at whether a run is still wanted."""
_IDLE = "tailcut.idle-seconds"
"""Dask's name for the seconds without a run, else 60, after which a worker ends its server: its client may
have vanished."""


class Parcel(NamedTuple):
    """A job with the files that go along, and the size of its instance, if that must be there already."""

    job: ProgramJob
    contents: Mapping[str, bytes]
    """Path -> what is to be in the file."""
    instance_size: int | None = None


def packed(job: ProgramJob, *, ship: bool) -> Parcel:
    """Return a job with its files; the instance goes along only if `ship` is set."""
    along = [path for path in (job.made, job.instance if ship else None) if path is not None]
    try:
        contents = {str(path): path.read_bytes() for path in along}
        size = None if ship or job.instance is None else job.instance.stat().st_size
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from None
    return Parcel(job, contents, size)


class DaskProgramExecutor:
    """Runs jobs on the workers of a cluster; leaving the context ends those that still run.

    With `ship` instance files are sent along; otherwise workers must see them under the same paths, and so
    in any case the folder `modules` with modules of Python entry points, if there are any.
    """

    def __init__(
        self, client: Client, preload: Sequence[str] = (), *, modules: Path | None = None, ship: bool = False
    ) -> None:
        self._client, self.ship = client, ship
        self._plugin = ProgramRunner(preload, None if modules is None else str(modules))
        self._under_way: set[Future[Any]] = set()
        self.methods: set[str] = set()
        """How the workers enforce limits, as the runs that ended report."""

    @property
    def method(self) -> str:
        return f"{' and '.join(sorted(self.methods)) or 'nothing was run'} on Dask workers"

    def start(self, job: ProgramJob) -> Run:
        return _DaskRun(job, self)

    def problems(self, programs: Mapping[str, Command | Call]) -> list[str]:
        with _prepared():
            problems: dict[str, list[str]] = self._client.run(problems_of, dict(programs))
        return [f"Dask worker {at}: {problem}" for at, found in problems.items() for problem in found]

    def send(self, parcel: Parcel) -> Future[Any]:
        """Send a job with its files; the result is what `run_here` returns."""
        key = f"run-{uuid4().hex}"
        future = self._client.submit(run_here, self._plugin.name, parcel, key=key, pure=False)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def __enter__(self) -> DaskProgramExecutor:
        with _prepared():
            self._client.register_plugin(self._plugin)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.cancel(list(self._under_way))
        with suppress(Exception):  # a worker that dies now has nothing left to be ended
            self._client.unregister_worker_plugin(self._plugin.name)


class _DaskRun(Run):
    """A run on some worker, and again on another if that one is lost."""

    def __init__(self, job: ProgramJob, executor: DaskProgramExecutor) -> None:
        super().__init__(job)
        self._executor = executor
        self._parcel = packed(job, ship=executor.ship)
        self._future = executor.send(self._parcel)

    async def wait(self) -> Ended:
        error = await self._failure()
        for _ in range(_TRIES - 1):
            if error is None:
                break
            _log.warning("a run was lost and is run again: %s", error)
            self._future = self._executor.send(self._parcel)
            error = await self._failure()
        if error is not None:
            raise WorkerDiedError(f"lost {_TRIES} times: {self.job.program}; the last time: {error}")
        ended, method = await asyncio.to_thread(self._future.result)
        self._executor.methods.add(method)
        return cast(Ended, ended)

    async def _failure(self) -> BaseException | None:
        """Wait for a worker; return why the run was lost, None if it ended, and raise if none can run it."""
        await done(self._future)
        if self._future.status == "finished":
            return None
        if self._future.status != "error":
            raise WorkerDiedError(
                f"Dask's scheduler has dropped the runs ({self._future.status}): did it end? "
                "Completed work is kept"
            )
        error: BaseException = await asyncio.to_thread(self._future.exception)
        if isinstance(error, KilledWorker | LiveError):
            return error
        with _prepared():
            raise error


@contextmanager
def _prepared() -> Iterator[None]:
    """Say of an error that is not ours, whatever a worker makes of it, that Tailcut may be missing there."""
    try:
        yield
    except TailcutError:
        raise
    except Exception as error:
        raise InputError(
            f"a Dask worker could not run a program: {type(error).__name__}: {error}; "
            "expected workers with the same Tailcut as here"
        ) from error


# What a worker does with a run.


class ProgramRunner(WorkerPlugin):
    """Runs programs on a worker, with one `Launcher`; runs whose client drops them, or is gone, are ended."""

    def __init__(self, preload: Sequence[str], modules: str | None = None) -> None:
        self.name, self.preload, self.modules = f"tailcut-runs-{uuid4().hex[:12]}", tuple(preload), modules

    def setup(self, worker: Worker) -> None:
        self._worker = worker
        if self.modules is not None and self.modules not in sys.path:
            sys.path.append(self.modules)  # at the end: a file of the folder must not hide a module of ours
        self._lock = threading.Lock()
        self._launcher: Launcher | None = None
        self._active = 0
        self._idle: threading.Timer | None = None

    def perform(self, task: Any, parcel: Parcel) -> tuple[Ended, str]:
        """Run a program to its end; return how it ended and by which means limits are kept here.

        LiveError: the run was lost, and may be repeated elsewhere. InputError: it cannot be run here.
        """
        try:
            with (
                self._kept_launcher() as launcher,
                unpacked(parcel, Path(self._worker.local_directory)) as program,
            ):
                try:
                    method = launcher.method
                except TailcutError as error:
                    raise InputError(str(error)) from None
                run = launcher.start(program, parcel.job.limits, keep_output=parcel.job.keep_output)
                while (ended := run.wait(_LOOK)) is None:
                    state = self._worker.state.tasks.get(task)
                    if state is None or state.state != "executing":  # no longer needed, or its client is gone
                        run.cancel()
        except InputError as error:
            raise InputError(f"Dask worker {self._worker.address}: {error}") from None
        if ended.ending is Ending.CANCELLED:
            raise LiveError("the run was cancelled on its worker")
        return ended, method

    @contextmanager
    def _kept_launcher(self) -> Iterator[Launcher]:
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            self._active += 1
            self._launcher = launcher = self._launcher or Launcher(preload=self.preload)
        try:
            yield launcher
        finally:
            with self._lock:
                self._active -= 1
                if not self._active and self._launcher is not None:
                    self._idle = threading.Timer(dask.config.get(_IDLE, 60.0), self._rest)
                    self._idle.daemon = True
                    self._idle.start()

    def _rest(self, *, idle: bool = True) -> None:
        """End the server, and what still runs unless it is to rest because nothing does."""
        with self._lock:
            if self._active and idle:
                return
            launcher, self._launcher = self._launcher, None
            if self._idle is not None:
                self._idle.cancel()
        if launcher is not None:
            launcher.close()

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's signature
        await asyncio.to_thread(self._rest, idle=False)


def run_here(name: str, parcel: Parcel) -> tuple[Ended, str]:
    """Run a program under the runner of that name on this worker: the task that is sent."""
    worker = get_worker()
    runner = worker.plugins.get(name)
    if not isinstance(runner, ProgramRunner):
        raise LiveError("the worker has already closed its runner")
    return runner.perform(worker.get_current_task(), parcel)


@contextmanager
def unpacked(parcel: Parcel, beside: Path) -> Iterator[Command | Call]:
    """Yield the program to run here, with files removed afterwards; raise if something is missing."""
    program, instance = parcel.job.program, parcel.job.instance
    if instance is not None and parcel.instance_size is not None:
        if not instance.is_file():
            raise InputError(
                f"there is no {instance}; share its folder with the workers, or give --ship-instances"
            )
        size = instance.stat().st_size
        if size != parcel.instance_size:
            raise InputError(
                f"{instance} is another file there: it has {size} bytes, not {parcel.instance_size}"
            )
    problem = why_not(program)
    if problem is not None:  # that it is not installed here says nothing about a solver
        raise InputError(problem)
    with TemporaryDirectory(prefix="tailcut-", dir=beside) as folder:
        for number, (name, content) in enumerate(parcel.contents.items()):
            target = Path(folder) / str(number) / Path(name).name
            target.parent.mkdir()
            target.write_bytes(content)
            program = _moved(program, name, str(target))
        yield program


def _moved(program: Command | Call, before: str, after: str) -> Command | Call:
    """Return a program whose words have one path in place of another.

    >>> program = Command(("minisat", "/queue/i1.cnf", "--model=/queue/i1.cnf.out"))
    >>> _moved(program, "/queue/i1.cnf", "/tmp/i1.cnf")
    Command(argv=('minisat', '/tmp/i1.cnf', '--model=/tmp/i1.cnf.out'), environment=None, folder=None)
    """
    if isinstance(program, Command):
        return replace(program, argv=tuple(word.replace(before, after) for word in program.argv))
    return replace(program, arguments=tuple(word.replace(before, after) for word in program.arguments))
