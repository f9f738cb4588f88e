"""Work spread over processes: one BLAS thread each, results as they arrive, ended at once with the caller."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

from tailcut.errors import WorkerDiedError

Item = TypeVar("Item")
Answer = TypeVar("Answer")

BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that BLAS libraries read once, when they are loaded."""


def unordered(function: Callable[[Item], Answer], items: Iterable[Item], *, jobs: int) -> Iterator[Answer]:
    """Yield function(item) for all items, in the order in which `jobs` processes finish them.

    The processes are spawned, so each loads its own BLAS, with one thread: the items are the unit of
    parallel work, and the order of a sum must not depend on the number of threads. When the caller stops
    early (Ctrl-C, an error, closing the iterator) they are killed at once, and they end when the caller is
    killed. They are reached through pipes alone: semaphores need /dev/shm, and a kill leaves them there.
    """
    context = multiprocessing.get_context("spawn")
    source = iter(items)
    processes: list[SpawnProcess] = []
    busy: list[Connection] = []
    try:
        with _one_blas_thread(), _noticing_deaths():
            for item in islice(source, jobs):
                worker, other_end = context.Pipe()
                process = context.Process(target=_answer, args=(function, other_end), daemon=True)
                process.start()
                other_end.close()
                processes.append(process)
                worker.send(item)
                busy.append(worker)
        while busy:
            for worker in [one for one in wait(busy) if isinstance(one, Connection)]:
                with _noticing_deaths():
                    answer, error = worker.recv()
                    following = list(islice(source, 1))
                    if following:
                        worker.send(following[0])
                    else:
                        busy.remove(worker)
                        worker.close()
                if error is not None:
                    raise error  # noqa: TRY301 - of the work
                yield answer
    except BaseException:
        for process in processes:
            process.kill()
        raise
    finally:
        for process in processes:
            process.join()


@contextmanager
def _noticing_deaths() -> Iterator[None]:
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise WorkerDiedError(
            "a worker process died, perhaps out of memory; completed work is kept"
        ) from error


def _answer(function: Callable[[Any], Any], caller: Connection) -> None:
    """Answer what the caller asks, until there is nothing more; leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    with suppress(EOFError, ConnectionError):  # the caller has ended
        while True:
            item, answer, failure = caller.recv(), None, None
            try:
                answer = function(item)
            except Exception as error:
                error.add_note(traceback.format_exc())
                failure = error
            caller.send((answer, failure))


def _end_with_the_caller() -> None:
    caller = multiprocessing.parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Set the variables for processes started meanwhile, then put them back."""
    before = {name: os.environ[name] for name in BLAS_THREADS if name in os.environ}
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    try:
        yield
    finally:
        for name in BLAS_THREADS:
            del os.environ[name]
        os.environ.update(before)
