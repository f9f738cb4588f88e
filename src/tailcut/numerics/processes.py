"""Work spread over processes: one BLAS thread each, results as they arrive, killed at once on exit."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from tailcut.errors import WorkerDiedError

Item = TypeVar("Item")
Answer = TypeVar("Answer")

BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that BLAS libraries read once, when they are loaded."""


def unordered(function: Callable[[Item], Answer], items: Iterable[Item], *, jobs: int) -> Iterator[Answer]:
    """Yield function(item) for all items, in the order in which `jobs` processes finish them.

    The processes are spawned, so each loads its own BLAS, with one thread: the items are the unit of
    parallel work, and the order of a sum must not depend on the number of threads. When the caller stops
    early (Ctrl-C, an error, closing the iterator) they are killed at once.
    """
    source = iter(items)
    with _one_blas_thread():
        pool = ProcessPoolExecutor(
            jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_ctrl_c_to_the_parent
        )
        try:
            waiting = {pool.submit(function, item) for item in islice(source, 2 * jobs)}
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                waiting |= {pool.submit(function, item) for item in islice(source, len(done))}
                for future in done:
                    yield future.result()
        except BrokenProcessPool as error:
            _kill(pool)
            raise WorkerDiedError(
                "a worker process died, perhaps out of memory; completed work is kept"
            ) from error
        except BaseException:
            _kill(pool)
            raise
        pool.shutdown()


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _kill(pool: ProcessPoolExecutor) -> None:
    processes = list((pool._processes or {}).values())  # shutdown() alone would wait for their work
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Set the variables for processes started meanwhile, then put them back."""
    before = {name: os.environ.get(name) for name in BLAS_THREADS}
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
