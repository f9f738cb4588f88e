"""Running cells of the table in parallel processes, each with one BLAS thread."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager

from tailcut.replication.approaches import approach
from tailcut.replication.compare import Comparison, compare
from tailcut.replication.protocol import SEEDS, evaluate
from tailcut.replication.published import cell
from tailcut.replication.table import Table

BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that BLAS libraries read once, when they are loaded."""


def replicate_cell(scenario: str, table: Table, name: str, seeds: Sequence[int] = SEEDS) -> Comparison:
    """Return the comparison of one approach on one scenario."""
    return compare(evaluate(table, approach(name), seeds), cell(scenario, name))


def replicate(
    tables: Mapping[str, Table],
    approaches: Sequence[str],
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    on_done: Callable[[Comparison], None] = lambda _: None,
) -> list[Comparison]:
    """Return the comparison of every approach on every scenario, in that order; `on_done` hears of each.

    The processes are spawned, also a single one, so that each loads its BLAS anew with one thread: cells
    are the unit of parallel work, and the order of a sum must not depend on the number of threads.
    """
    units = [(scenario, name) for scenario in tables for name in approaches]
    for scenario, name in units:
        cell(scenario, name)  # an unknown name should fail before hours of work, not after
    done: dict[tuple[str, str], Comparison] = {}
    with _one_blas_thread(), _pool(jobs) as pool:
        waiting = [pool.submit(replicate_cell, s, tables[s], name, tuple(seeds)) for s, name in units]
        try:
            for future in as_completed(waiting):
                comparison = future.result()
                done[comparison.scenario, comparison.approach] = comparison
                on_done(comparison)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[unit] for unit in units]


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


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
