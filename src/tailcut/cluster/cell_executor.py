"""Cells of a benchmark on a Dask cluster: the third `Executor`.

A scenario is a task of its own, and the cells depend on it. So its content crosses the network once per
worker, and when the last worker that held it dies, the scheduler makes it again.

When a worker dies, Dask runs its cells elsewhere, and gives up a cell that was on several workers that died.
It may have been their death, or only have waited beside the cell that was. Cells given up are therefore tried
once more at the end, each alone on the cluster; one that is given up again has failed.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any
from uuid import uuid4

from distributed import Client, Future, KilledWorker, as_completed, get_worker

from tailcut.bench.benchmark import Executor, compute, guarded, import_selectors, read
from tailcut.bench.plan import Cell, Contender, fingerprint
from tailcut.bench.store import Result
from tailcut.errors import InputError, TailcutError, WorkerDiedError
from tailcut.scenarios import Scenario

_PER_THREAD = 2
"""Cells in progress per thread: one is computed, one is there when it is done."""


def dask_cell_executor(client: Client, modules: Sequence[str] = ()) -> Executor:
    """Return an executor on the workers of a cluster, where `modules` with selectors must be installed."""
    return lambda cells: _results(client, cells, tuple(modules))


def _results(client: Client, cells: Sequence[Cell], modules: tuple[str, ...]) -> Iterator[Result]:
    """Yield the results as they arrive; stopping early drops the rest."""
    waiting, suspects = deque(cells), deque[Cell]()  # suspects were given up once: each is tried alone
    under_way: dict[Future[Any], tuple[Cell, bool]] = {}
    arriving = as_completed(loop=client.loop, with_results=True, raise_errors=False)

    @lru_cache(maxsize=1)  # cells come scenario by scenario, and those under way keep theirs on the cluster
    def sent(folder: str) -> Future[Any]:
        content = pickle.dumps(read(folder))
        return client.submit(pickle.loads, content, key=f"scenario-{uuid4().hex}", pure=False)

    try:
        while waiting or under_way or suspects:
            room = max(1, _PER_THREAD * sum(client.nthreads().values())) if waiting else 1
            while len(under_way) < room and (waiting or suspects):
                alone = not waiting
                if alone and under_way:
                    break
                cell = (waiting or suspects).popleft()
                try:
                    scenario = sent(cell.folder)
                except (TailcutError, OSError):
                    yield compute(cell)  # fails here as it would anywhere, and the error is the cell's
                    continue
                arguments = cell, scenario, identity(cell.contender), modules
                future = client.submit(compute_here, *arguments, key=f"cell-{uuid4().hex}", pure=False)
                under_way[future] = cell, alone
                arriving.add(future)
            if under_way:
                future, answer = next(arriving)
                cell, alone = under_way.pop(future)
                result = _result(cell, future.status, answer, alone=alone)
                if result is None:
                    suspects.append(cell)
                else:
                    yield result
    finally:
        client.cancel(list(under_way))


def _result(cell: Cell, status: str, answer: Any, *, alone: bool) -> Result | None:
    """Return what came of a cell; None if workers died, and not because of it alone; raise if all is lost."""
    if status == "finished" and isinstance(answer, Result):
        return answer
    if status != "error":
        raise WorkerDiedError(
            f"Dask's scheduler has dropped the cells ({status}): did it end? Completed work is kept"
        )
    error = answer[1]
    if isinstance(error, KilledWorker):
        died = error.allowed_failures + 1
        words = f"on {died} Dask workers when they died, the last at {error.last_worker.address}"
        failed = Result(cell.hash, 0.0, error=f"WorkerDiedError: computed alone, it was {words}")
        return failed if alone else None
    if isinstance(error, TailcutError):
        raise error
    where = f"{cell.scenario}, {cell.contender.label}, seed {cell.seed}"
    raise InputError(
        f"a Dask worker could not compute {where}: {type(error).__name__}: {error}; "
        "expected workers with the same Tailcut, numpy and scipy as here"
    )


# What a worker does with a cell.

_one_at_a_time = threading.Lock()
"""Cells in threads of one process would wait for the interpreter lock, which would distort their times."""


@cache
def identity(contender: Contender) -> dict[str, Any]:
    """Return what must be the same on client and worker: the deciding code and its libraries."""
    code, libraries = fingerprint(contender.row)
    return {"code": code[:12], **libraries}


def compute_here(
    cell: Cell, scenario: Scenario, expected: dict[str, Any], modules: Sequence[str] = ()
) -> Result:
    """Return the result of one cell, computed by this worker; `modules` may register its selector."""
    import_selectors(modules)
    own = identity(cell.contender)
    if own != expected:
        ours, theirs = (", ".join(map(" ".join, words.items())) for words in (own, expected))
        raise InputError(
            f"Dask worker {get_worker().address} has {ours}; here it is {theirs}: "
            "results would not be those of this code; install the same versions on the workers"
        )

    with _one_at_a_time:
        _one_blas_thread()
        return guarded(cell, lambda: scenario)


@cache
def _one_blas_thread() -> None:
    """Limit BLAS for good; workers started with a nanny have it so already."""
    import scipy.linalg  # noqa: F401 - brings its own BLAS, which must be loaded to be limited
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)
