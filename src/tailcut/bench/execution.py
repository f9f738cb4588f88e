"""Runs a plan: computes the missing cells and stores each as soon as it is done.

An `Executor` takes cells and yields their results as they come, in any order, each once. Two are here, for
this machine; a third, for a Dask cluster, is `tailcut.cluster.cell_executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tailcut.bench.compute import compute
from tailcut.bench.plan import Cell
from tailcut.bench.store import Result, Store
from tailcut.errors import MissingExtraError
from tailcut.numerics.processes import unordered

Executor = Callable[[Sequence[Cell]], Iterator[Result]]
"""Cells -> their results, as they come."""


def inline(cells: Sequence[Cell]) -> Iterator[Result]:
    """Yield results computed in this process, with one BLAS thread: more would only interfere."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise MissingExtraError(
            "the benchmark needs the extra 'bench': pip install 'tailcut[bench]'"
        ) from error
    import scipy.linalg  # noqa: F401 - brings its own BLAS, which must be loaded to be limited

    with threadpool_limits(limits=1):
        yield from map(compute, cells)


def processes(jobs: int, modules: Sequence[str] = ()) -> Executor:
    """Return an executor that spreads cells over `jobs` processes of this machine.

    Each of them imports `modules`, because a new process does not know the selectors registered in this one.
    """
    return lambda cells: unordered(partial(compute, modules=tuple(modules)), cells, jobs=jobs)


def local(jobs: int, modules: Sequence[str] = ()) -> Executor:
    """Return the default executor: processes, or this process if one is enough."""
    return processes(jobs, modules) if jobs > 1 else inline


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    on_cell: Callable[[Cell, Result], None] = lambda _cell, _result: None,
) -> None:
    """Compute those cells that the store lacks and write each to it when it is done.

    They are computed by `executor`; without one, by `jobs` processes of this machine.
    """
    done = store.done()
    missing = {cell.hash: cell for cell in cells if cell.hash not in done}
    compute_all = local(jobs) if executor is None else executor
    for result in compute_all(list(missing.values())):
        cell = missing[result.hash]
        store.add(cell, result)
        on_cell(cell, result)
