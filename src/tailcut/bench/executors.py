"""Where cells are computed: one seam, `Executor`, and its two implementations on this machine.

An executor takes cells and yields their results as they come, in any order, each once. The third
implementation, on a Dask cluster, is `tailcut.cluster.cell_executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tailcut.bench.compute import compute
from tailcut.bench.plan import Cell
from tailcut.bench.store import Result
from tailcut.errors import MissingExtraError
from tailcut.numerics.processes import unordered

Executor = Callable[[Sequence[Cell]], Iterator[Result]]
"""Cells -> their results, as they come."""


def inline(cells: Sequence[Cell]) -> Iterator[Result]:
    """Yield results computed in this process; one BLAS thread, more only get in each other's way here."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise MissingExtraError(
            "the benchmark needs the extra 'bench': pip install 'tailcut[bench]'"
        ) from error
    import scipy.linalg  # noqa: F401 - brings its own BLAS, which must be loaded to be limited

    with threadpool_limits(limits=1):
        yield from map(compute, cells)


def processes(jobs: int) -> Executor:
    """Return an executor that spreads cells over `jobs` processes of this machine."""
    return lambda cells: unordered(compute, cells, jobs=jobs)


def local(jobs: int) -> Executor:
    """Return the usual executor: processes, or none where one would do."""
    return processes(jobs) if jobs > 1 else inline
