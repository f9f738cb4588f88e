"""Runs a plan: computes the missing cells and stores each as soon as it is done.

An `Executor` takes cells and yields their results as they come, in any order, each once. Two are here, for
this machine; a third, for a Dask cluster, is `tailcut.cluster.cell_executor`.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np

from tailcut.bench.baselines import replay_baseline
from tailcut.bench.plan import Cell
from tailcut.bench.replay import Folds, Trace, best_in_training, cross_validate, folds_of, losses_of, replay
from tailcut.bench.store import Result, Store
from tailcut.bench.summary import ReferenceCosts, paid
from tailcut.catalogue import BASELINES
from tailcut.errors import InputError, MissingExtraError
from tailcut.numerics.processes import unordered
from tailcut.scenarios import QualityScenario, Scenario
from tailcut.selector import Selector

Executor = Callable[[Sequence[Cell]], Iterator[Result]]
"""Cells -> their results, as they come."""


class BenchProgress:
    """Is called as a benchmark proceeds; override the methods you need."""

    def scenario_left_out(self, name: str, reason: str) -> None:
        """Handle a scenario of the folder that is not run, and the reason."""

    def cells_planned(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        """Handle the planned cells, and those that the result file already has."""

    def cell_done(self, cell: Cell, result: Result) -> None:
        """Handle a cell that was computed or failed."""


SILENT = BenchProgress()
"""Ignores everything."""


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
    progress: BenchProgress = SILENT,
) -> list[tuple[Cell, Result]]:
    """Compute those cells that the store lacks, write each to it when done, and return those that failed.

    They are computed by `executor`; without one, by `jobs` processes of this machine.
    """
    done = store.done()
    progress.cells_planned(cells, [cell for cell in cells if cell.hash in done])
    missing = {cell.hash: cell for cell in cells if cell.hash not in done}
    compute_all = local(jobs) if executor is None else executor
    failed = []
    for result in compute_all(list(missing.values())):
        cell = missing[result.hash]
        store.add(cell, result)
        if result.error is not None:
            failed.append((cell, result))
        progress.cell_done(cell, result)
    return failed


def import_selectors(modules: Iterable[str]) -> None:
    """Import modules that call `tailcut.register`, each once; raise if one cannot be imported."""
    for name in modules:
        if name in sys.modules:
            continue
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise InputError(f"module {name} needs {error.name}, which is not installed") from error
            hint = "; leave out .py" if name.endswith(".py") else ""
            where = f"{Path.cwd()}, nor among the installed ones"
            raise InputError(f"there is no module {name} in {where}{hint}") from error
        except Exception as error:  # third-party code may raise anything
            raise InputError(f"module {name} cannot be imported: {type(error).__name__}: {error}") from error


@lru_cache(maxsize=2)
def read(folder: str) -> Scenario:
    """Return a scenario, read once per process and run of equal cells."""
    return Scenario.read(folder)


def compute(cell: Cell, modules: Sequence[str] = ()) -> Result:
    """Return the result of one cell; any exception becomes its error.

    `modules` are imported first, in case one of them registers the selector.
    """
    import_selectors(modules)
    return guarded(cell, lambda: read(cell.folder))


def guarded(cell: Cell, scenario: Callable[[], Scenario]) -> Result:
    """Return the result of one cell on the given scenario; any exception becomes its error."""
    started = time.perf_counter()
    try:
        return compute_on(scenario(), cell)
    except Exception:  # one broken cell must not stop the others; its error is kept for the reader
        return Result(cell.hash, time.perf_counter() - started, error=traceback.format_exc(limit=-8))


def compute_on(scenario: Scenario | QualityScenario, cell: Cell) -> Result:
    """Return the result of one cell on its scenario: replayed through the selector, and what that cost."""
    started = time.perf_counter()
    conditions = cell.contender.conditions
    folds = folds_of(scenario, conditions.folds, cell.seed) if conditions.cv else None
    trace = _replayed(cell, scenario, folds)
    losses, solved = paid(scenario, trace, cell.penalty)
    reference = ReferenceCosts.of(scenario, cell.penalty)
    best_of_training = None
    if folds is not None:
        recorded = losses_of(scenario, cell.penalty)
        best_of_training = float(recorded[np.arange(len(recorded)), best_in_training(recorded, folds)].mean())
    return Result(
        cell.hash,
        time.perf_counter() - started,
        par=float(losses.mean()),
        unsolved=float(1.0 - solved.mean()),
        decision_us=float(trace.seconds.mean() * 1e6),
        vbs=reference.vbs,
        sbs=reference.sbs,
        answer_cpu=float(trace.cpu.sum()),
        extra_cpu=trace.extra_cpu,
        sbs_train=best_of_training,
        choices=trace.choices.astype(np.int16),
        losses=losses,
        step_seconds=trace.seconds.astype(np.float32),
    )


def _replayed(cell: Cell, scenario: Scenario | QualityScenario, folds: Folds | None) -> Trace:
    name, conditions, seed = cell.contender.selector, cell.contender.conditions, cell.seed
    if name in BASELINES:
        return replay_baseline(
            scenario, name, seed=seed, penalty=cell.penalty, folds=folds, cores=conditions.cores
        )
    settings = cell.contender.settings()

    def new_selector() -> Selector:
        return Selector(name, scenario.algorithms, scenario.cutoff, seed=seed, **settings)

    if folds is not None:
        return cross_validate(scenario, new_selector, folds, seed=seed, learn_on=conditions.learn_on)
    return replay(scenario, new_selector(), seed=seed, conditions=conditions)
