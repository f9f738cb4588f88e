"""The options that say where work is done: here, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tailcut.errors import InputError

if TYPE_CHECKING:
    from tailcut.bench.execution import Executor
    from tailcut.live.portfolio import Portfolio
    from tailcut.live.workflows import ProgramExecutor

CELLS = ("inline", "processes", "dask")
"""Where cells of a benchmark can be computed."""
RUNS = ("processes", "dask")
"""Where solvers can run."""

CellExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Where cells are computed: inline (this process), processes (of this machine) or dask.",
    ),
]
RunExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor", metavar="NAME", help="Where programs run: processes (of this machine) or dask."
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Dask's scheduler, as tcp://127.0.0.1:8786. Without: temporary workers on this machine.",
    ),
]
ShipOption = Annotated[
    bool,
    typer.Option(
        "--ship-instances",
        help="Send instance files to the Dask workers, for clusters without a shared file system.",
    ),
]


def check_executor(name: str, known: tuple[str, ...], scheduler: str | None, *, ship: bool = False) -> None:
    """Raise unless the options fit together."""
    if name not in known:
        raise InputError(f"unknown executor {name!r}; known: {', '.join(known)}")
    if name != "dask" and scheduler is not None:
        raise InputError(f"--scheduler is for --executor dask, not for {name}")
    if name != "dask" and ship:
        raise InputError(f"--ship-instances is for --executor dask, not for {name}")


@contextmanager
def cell_executor(
    name: str, scheduler: str | None, jobs: int, modules: Sequence[str] = ()
) -> Iterator[Executor]:
    """Give the executor that the options name; what was started for it ends with the context."""
    if name != "dask":
        from tailcut.bench.execution import inline, local

        yield inline if name == "inline" else local(jobs, modules)
        return
    from tailcut.cluster.connect import connected

    with _cluster_messages(), connected(scheduler, workers=jobs) as client:
        from tailcut.cluster.cell_executor import dask_cell_executor

        yield dask_cell_executor(client, modules)


@contextmanager
def program_executor(
    name: str,
    scheduler: str | None,
    jobs: int | None,
    portfolio: Portfolio,
    *,
    ship: bool = False,
    parallel: int = 1,
) -> Iterator[tuple[ProgramExecutor, int]]:
    """Yield where programs run, and how many run at once: `jobs`, or what suits it.

    There is room for `parallel` times as many, which race: on this machine.
    """
    if name != "dask":
        from tailcut.live.local_executor import LocalProgramExecutor

        with LocalProgramExecutor.of(portfolio, (jobs or 1) * parallel) as here:
            yield here, jobs or 1
        return
    from tailcut.cluster.connect import connected, threads_of

    workers = jobs or os.cpu_count() or 1
    with _cluster_messages(), connected(scheduler, workers=workers) as client:
        from tailcut.cluster.program_executor import DaskProgramExecutor

        preload, folder = portfolio.preload, portfolio.folder
        with DaskProgramExecutor(client, preload, modules=folder, ship=ship) as there:
            yield there, jobs or max(1, threads_of(client))


@contextmanager
def _cluster_messages() -> Iterator[None]:
    """Print what is logged about the cluster on standard error, where it is not in the way of results."""
    log, handler = logging.getLogger("tailcut.cluster"), logging.StreamHandler()
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.level, log.propagate = before
