"""Cells of a benchmark on a Dask cluster: the third `Executor`.

A scenario is a task of its own, and the cells depend on it. So its content crosses the network once per
worker, from worker to worker as far as possible; a worker that comes later gets it too, and when the last
worker that held it dies, the scheduler makes it again. No file system need be shared.

When a worker dies, Dask runs its cells elsewhere, and gives up a cell that was on several workers that died.
It may have been their death, or only have waited beside the cell that was. Cells given up are therefore tried
once more at the end, each alone on the cluster; one that is given up again has failed.
"""

from __future__ import annotations

import pickle
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from distributed import Client, Future, KilledWorker, as_completed

from tailcut.bench.execution import Executor, compute, read
from tailcut.bench.plan import Cell, scenario_digest
from tailcut.bench.store import Result
from tailcut.cluster.connect import Capacity
from tailcut.cluster.worker_cells import compute_here, handed_on, identity
from tailcut.errors import InputError, TailcutError, WorkerDiedError

_PER_THREAD = 2
"""Cells in progress per thread: one is computed, one is there when it is done."""


def dask_cell_executor(client: Client, modules: Sequence[str] = ()) -> Executor:
    """Return an executor that computes cells on the workers of a cluster.

    They import `modules` for the selectors that these register: the modules must be installed there.
    """
    return lambda cells: _CellsOnCluster(client, cells, tuple(modules)).results()


class _CellsOnCluster:
    """Cells on their way through a cluster."""

    def __init__(self, client: Client, cells: Sequence[Cell], modules: tuple[str, ...]) -> None:
        self._client, self._capacity, self._modules = client, Capacity(client), modules
        self._waiting = deque(cells)
        self._suspects: deque[Cell] = deque()
        """Given up once: each to be tried alone."""
        self._under_way: dict[Future[Any], tuple[Cell, bool]] = {}
        """Future -> its cell, and whether it is tried alone."""
        self._arriving = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._scenarios = _Scenarios(client, cells)
        self._name, self._count = uuid4().hex[:12], 0

    def results(self) -> Iterator[Result]:
        """Yield the results as they arrive; stopping early drops the rest."""
        try:
            while self._waiting or self._under_way or self._suspects:
                yield from self._submit()
                if not self._under_way:
                    continue
                future, answer = next(self._arriving)
                cell, alone = self._under_way.pop(future)
                result = _result(cell, future.status, answer)
                if result is None and not alone:
                    self._suspects.append(cell)
                    continue
                self._scenarios.over(cell)
                yield _given_up(cell, answer) if result is None else result
        finally:
            self._client.cancel([*self._under_way, *self._scenarios.futures()])

    def _submit(self) -> Iterator[Result]:
        """Send as many cells as there is room for; yield failures of those whose scenario cannot be read."""
        room = max(1, _PER_THREAD * self._capacity.threads())
        while self._waiting and len(self._under_way) < room:
            yield from self._send(self._waiting.popleft(), alone=False)
        if self._suspects and not self._under_way:
            yield from self._send(self._suspects.popleft(), alone=True)

    def _send(self, cell: Cell, *, alone: bool) -> Iterator[Result]:
        try:
            digest, content = self._scenarios.of(cell)
        except (TailcutError, OSError):
            yield compute(cell)  # fails here as it would anywhere, and the error is the cell's
            self._scenarios.over(cell)
            return
        self._count += 1
        key = f"cell-{self._name}-{self._count}"
        future = self._client.submit(
            compute_here,
            cell,
            digest,
            content,
            identity(cell.contender),
            self._modules,
            key=key,
            pure=False,
        )
        self._under_way[future] = cell, alone
        self._arriving.add(future)


class _Scenarios:
    """The scenarios that cells need, on the cluster for as long as cells need them."""

    def __init__(self, client: Client, cells: Sequence[Cell]) -> None:
        self._client = client
        self._needed = Counter(cell.folder for cell in cells)
        self._sent: dict[str, tuple[str, Future[Any]]] = {}

    def of(self, cell: Cell) -> tuple[str, Future[Any]]:
        """Return the digest of a cell's scenario and its content on the cluster, sent there if it is not."""
        if cell.folder not in self._sent:
            scenario = read(cell.folder)
            digest = scenario_digest(scenario)
            key = f"scenario-{digest[:16]}-{uuid4().hex[:12]}"
            content = pickle.dumps(scenario)
            self._sent[cell.folder] = digest, self._client.submit(handed_on, content, key=key, pure=False)
        return self._sent[cell.folder]

    def over(self, cell: Cell) -> None:
        """Let go of a scenario when its last cell is done."""
        self._needed[cell.folder] -= 1
        if not self._needed[cell.folder]:
            self._sent.pop(cell.folder, None)

    def futures(self) -> list[Future[Any]]:
        """Return what is on the cluster."""
        return [future for _, future in self._sent.values()]


def _result(cell: Cell, status: str, answer: Any) -> Result | None:
    """Return what came of a cell, None if Dask gave it up because workers died; raise if all is lost."""
    if status == "finished" and isinstance(answer, Result):
        return answer
    if status != "error":
        raise WorkerDiedError(
            f"Dask's scheduler has dropped the cells ({status}): did it end? Completed work is kept"
        )
    error = answer[1]
    if isinstance(error, KilledWorker):
        return None
    if isinstance(error, TailcutError):
        raise error
    where = f"{cell.scenario}, {cell.contender.label}, seed {cell.seed}"
    raise InputError(
        f"a Dask worker could not compute {where}: {type(error).__name__}: {error}; "
        "expected workers with the same Tailcut, numpy and scipy as here"
    )


def _given_up(cell: Cell, answer: Any) -> Result:
    """Return the failure of a cell that ended its workers even with a cluster to itself."""
    error: KilledWorker = answer[1]
    died = error.allowed_failures + 1
    return Result(
        cell.hash,
        0.0,
        error=f"WorkerDiedError: computed alone, it was on {died} Dask workers when they died, "
        f"the last at {error.last_worker.address}",
    )
