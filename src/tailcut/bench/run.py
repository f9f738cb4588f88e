"""Running a plan: the missing cells, on all cores, each kept as soon as it is done."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from tailcut.aslib import Scenario
from tailcut.bench.metrics import Lines, paid
from tailcut.bench.plan import Cell
from tailcut.bench.replay import look_back, replay
from tailcut.bench.store import Result, Store
from tailcut.errors import MissingExtraError
from tailcut.hindsight import LINES
from tailcut.processes import unordered
from tailcut.selector import Selector


@lru_cache(maxsize=2)
def _scenario(folder: str) -> Scenario:
    """Return a scenario, read once per process and run of equal cells."""
    return Scenario.read(folder)


def compute(cell: Cell) -> Result:
    """Return the result of one cell; whatever goes wrong in it becomes its error."""
    started = time.perf_counter()
    try:
        return _compute(cell, started)
    except Exception:  # one broken cell must not stop the others; its error is kept for the reader
        return Result(cell.hash, time.perf_counter() - started, error=traceback.format_exc(limit=-8))


def _compute(cell: Cell, started: float) -> Result:
    scenario = _scenario(cell.folder)
    name = cell.contender.selector
    if name in LINES:
        trace = look_back(scenario, name, seed=cell.seed, penalty=cell.penalty)
    else:
        settings = cell.contender.settings()
        selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=cell.seed, **settings)
        trace = replay(scenario, selector, seed=cell.seed)
    losses, solved = paid(scenario, trace, cell.penalty)
    lines = Lines.of(scenario, cell.penalty)
    return Result(
        cell.hash,
        time.perf_counter() - started,
        par=float(losses.mean()),
        unsolved=float(1.0 - solved.mean()),
        decision_us=float(trace.seconds.mean() * 1e6),
        vbs=lines.vbs,
        sbs=lines.sbs,
        choices=trace.choices.astype(np.int16),
        losses=losses,
        step_seconds=trace.seconds.astype(np.float32),
    )


def run(
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    on_cell: Callable[[Cell, Result], None] = lambda _cell, _result: None,
) -> None:
    """Compute those cells that the store lacks and write each to it when it is done."""
    done = store.done()
    missing = {cell.hash: cell for cell in cells if cell.hash not in done}
    waiting = list(missing.values())
    for result in unordered(compute, waiting, jobs=jobs) if jobs > 1 else _one_by_one(waiting):
        cell = missing[result.hash]
        store.add(cell, result)
        on_cell(cell, result)


def _one_by_one(cells: Sequence[Cell]) -> Iterator[Result]:
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
