"""The options that say where work is done: here, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from tailcut.bench.execution import Executor, inline, local
from tailcut.errors import InputError
from tailcut.live.local import LocalRuns
from tailcut.live.portfolio import Portfolio
from tailcut.live.work import Runs

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
        help="Dask's scheduler, as tcp://127.0.0.1:8786. Without: workers of this machine, for the while.",
    ),
]
ShipOption = Annotated[
    bool,
    typer.Option(
        "--ship-instances",
        help="Send instance files to the Dask workers, which share no file system with us.",
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
def cell_executor(name: str, scheduler: str | None, jobs: int) -> Iterator[Executor]:
    """Give the executor that the options name; what was started for it ends with the context."""
    if name != "dask":
        yield inline if name == "inline" else local(jobs)
        return
    from tailcut.cluster.connect import connected

    with connected(scheduler, workers=jobs, tell=tell) as client:
        from tailcut.cluster.cells import on_cluster

        yield on_cluster(client)


@contextmanager
def program_runs(
    name: str, scheduler: str | None, jobs: int | None, portfolio: Portfolio, *, ship: bool = False
) -> Iterator[tuple[Runs, int]]:
    """Give the place where programs run, and how many are to be under way: `jobs`, or what suits it."""
    if name != "dask":
        with LocalRuns(jobs or 1, portfolio.preload, portfolio.folder) as here:
            yield here, jobs or 1
        return
    from tailcut.cluster.connect import Room, connected

    with connected(scheduler, workers=jobs or os.cpu_count() or 1, tell=tell) as client:
        from tailcut.cluster.runs import ClusterRuns

        preload, folder = portfolio.preload, portfolio.folder
        with ClusterRuns(client, preload, modules=folder, ship=ship, tell=tell) as there:
            yield there, jobs or max(1, Room(client).threads())


def tell(sentence: str) -> None:
    """Say something about the cluster, where it does not get in the way of results."""
    sys.stderr.write(f"{sentence}\n")
