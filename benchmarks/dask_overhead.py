"""What Dask costs against local processes: `python benchmarks/dask_overhead.py [--cells 60] [--repeats 3]`.

Both sides have two processes and take turns in the same run; the best turn of each counts. First a grid of
ordinary cells (the goal: at most 1.2 times the time). The local side starts its processes each time, as
`tailcut bench` does; a Dask cluster as a rule is there, so its start is shown apart and then added. Then the
cost of one cell and of one run: how much longer ten times as many take that do nothing, two at a time.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bench.benchmark import Executor, processes, run_cells
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.store import opened
from tailcut.cluster import connected
from tailcut.cluster.cell_executor import dask_cell_executor
from tailcut.cluster.program_executor import DaskProgramExecutor
from tailcut.live.engine import LocalProgramExecutor, ProgramExecutor, ProgramJob, run_all
from tailcut.live.limits import Call, Ended, ResourceLimits
from tailcut.scenarios import Scenario
from tailcut.scenarios.synthetic import generate

WORKERS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=60, help="cells per grid")
    parser.add_argument("--runs", type=int, default=200, help="programs per turn")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each side")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the start\n")
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, connected(None, workers=WORKERS) as client:
        start = time.perf_counter() - started
        print(f"Starting a Dask cluster of {WORKERS} workers took {start:.1f} s.\n")
        print("| what | local processes | Dask | ratio |\n|---|---:|---:|---:|", flush=True)
        ordinary, empty = grids(Path(folder), options.cells)
        sides: dict[str, Executor] = {"local": processes(WORKERS), "dask": dask_cell_executor(client)}
        works = {side: partial(grid, Path(folder), ordinary, executor) for side, executor in sides.items()}
        local, dask = best(works, options.repeats)
        show(f"{len(ordinary)} ordinary cells", local, dask, "s")
        show("the same, the start of the cluster included", local, dask + start, "s")
        works = {side: partial(grid, Path(folder), empty, executor) for side, executor in sides.items()}
        fewer = {s: partial(grid, Path(folder), empty[::10], executor) for s, executor in sides.items()}
        show("one cell", *each(works, fewer, 0.9 * len(empty), options.repeats), "ms")
        with LocalProgramExecutor() as here, DaskProgramExecutor(client) as there:
            places: dict[str, ProgramExecutor] = {"local": here, "dask": there}
            works = {side: partial(programs, place, options.runs) for side, place in places.items()}
            fewer = {side: partial(programs, place, options.runs // 10) for side, place in places.items()}
            show("one run", *each(works, fewer, 0.9 * options.runs, options.repeats), "ms")


def best(works: dict[str, partial[None]], repeats: int) -> tuple[float, float]:
    """Let both sides work in turn; return the seconds of the best turn of each."""
    seconds = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for side, work in works.items():
            started = time.perf_counter()
            work()
            seconds[side] = min(seconds[side], time.perf_counter() - started)
    return seconds["local"], seconds["dask"]


def each(
    works: dict[str, partial[None]], fewer: dict[str, partial[None]], items: float, repeats: int
) -> tuple[float, float]:
    """Return the milliseconds that one of the items takes which `works` has more than `fewer`."""
    long, short = best(works, repeats), best(fewer, repeats)
    return 1000 * (long[0] - short[0]) / items, 1000 * (long[1] - short[1]) / items


def show(what: str, local: float, dask: float, unit: str) -> None:
    print(f"| {what} | {local:.2f} {unit} | {dask:.2f} {unit} | {dask / local:.2f} |", flush=True)


def grids(folder: Path, count: int) -> tuple[list[Cell], list[Cell]]:
    """Return two grids on a generated scenario of 1,000 instances, 10 algorithms and 50 features."""
    made = generate(n_instances=1000, n_algorithms=10, n_features=50)
    instances = [f"i{row:04d}" for row in range(len(made.features))]
    runs: dict[str, Any] = {
        "instance": np.repeat(instances, len(made.algorithms)).tolist(),
        "algorithm": list(made.algorithms) * len(instances),
        "runtime": made.runtimes.ravel().tolist(),
    }
    features: dict[str, Any] = {f"f{j}": column.tolist() for j, column in enumerate(made.features.T)}
    scenario = Scenario.from_frames(runs, {"instance": instances} | features, cutoff=made.cutoff, name="MADE")
    scenario.write(folder / "MADE")
    place = [(str(folder / "MADE"), scenario)]
    ordinary = [Contender.of("tailcut"), Contender.of("thompson_rev")]
    return plan(place, ordinary, count // 2), plan(place, [Contender.of("sbs")], 5 * count)


def grid(folder: Path, cells: list[Cell], executor: Executor) -> None:
    """Compute a grid into a new file."""
    with tempfile.TemporaryDirectory(dir=folder) as kept, opened(Path(kept) / "r.db") as store:
        run_cells(cells, store, executor=executor)
        assert len(store.done()) == len(cells)


def programs(place: ProgramExecutor, count: int) -> None:
    """Run a program that does nothing, so many times, two at a time."""
    ended: list[Ended] = []
    run_all((partial(_run, place) for _ in range(count)), at_once=WORKERS, on_result=ended.append)
    assert sum(one.exit_code == 0 for one in ended) == count


async def _run(place: ProgramExecutor) -> Ended:
    return await place.start(ProgramJob(Call("builtins:print"), ResourceLimits(wall=60))).wait()


if __name__ == "__main__":
    main()
