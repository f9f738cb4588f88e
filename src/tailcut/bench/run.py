"""Running a plan: the missing cells, wherever they are computed, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailcut.bench.compute import compute
from tailcut.bench.executors import Executor, local
from tailcut.bench.plan import Cell
from tailcut.bench.store import Result, Store

__all__ = ["compute", "run"]


def run(
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
