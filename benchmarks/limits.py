"""How closely limits are kept, and what a run costs: `python benchmarks/limits.py [--runs 20]`.

Overshoot is the CPU time of a stopped run beyond its limit, in milliseconds; below 0 would mean stopped
early. The solvers spin: one process, or one with a second, detached process beside it. 'Loaded' is with two
other spinning processes per core. Then how far a solver that allocates gets beyond its limit of memory, and
what a run of a solver takes that does nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tailcut.live.limits import Call, Command, Ending, Launcher, ResourceLimits

SOLVERS = """
import os

def spin(arguments):
    while True:
        pass

def spin_twice(arguments):
    if os.fork() == 0:
        os.setsid()
    spin(arguments)

def allocate(arguments):
    held = []
    while True:
        held.append(b"x" * 2**20)

def nothing(arguments):
    return 0
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="runs per line of the tables")
    parser.add_argument("--limits", type=float, nargs="+", default=[0.1, 0.5, 1.0], help="CPU seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "spinning_solvers.py").write_text(SOLVERS)
        sys.path.insert(0, folder)
        print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the start\n")
        for cgroups in (True, False):
            with Launcher(preload=("spinning_solvers",), cgroups=cgroups) as launcher:
                print(f"{launcher.method}\n")
                overshoots(launcher, options.limits, options.runs)
                memory_overshoots(launcher, options.runs)
        for cgroups in (True, False):
            overheads(cgroups, 5 * options.runs)


def overshoots(launcher: Launcher, limits: list[float], runs: int) -> None:
    print("| machine | solver | CPU limit (s) | runs | p50 (ms) | p95 | max | min |")
    print("|---|---|---|---|---|---|---|---|")
    for loaded in (False, True):
        with spinning(2 * (os.cpu_count() or 1) if loaded else 0):
            for solver in ("spin", "spin_twice"):
                for limit in limits:
                    late = [1000 * overshoot(launcher, solver, limit) for _ in range(runs)]
                    middle, high = np.quantile(late, [0.5, 0.95])
                    machine = "loaded" if loaded else "quiet"
                    print(
                        f"| {machine} | {solver} | {limit:g} | {runs} | {middle:.1f} | {high:.1f} "
                        f"| {max(late):.1f} | {min(late):.2f} |",
                        flush=True,
                    )
    print()


def memory_overshoots(launcher: Launcher, runs: int) -> None:
    """Print how far beyond its limit a solver comes that allocates 1 MiB at a time as fast as it can."""
    limit = 300 * 2**20
    beyond = []
    for _ in range(runs):
        ended = launcher.start(Call("spinning_solvers:allocate"), ResourceLimits(memory=limit)).wait()
        assert ended is not None
        assert ended.ending == Ending.MEMORY_LIMIT
        beyond.append((ended.peak_memory - limit) / 2**20)
    middle, high = np.quantile(beyond, [0.5, 0.95])
    print(
        f"beyond a memory limit of 300 MiB: p50 {middle:.1f}, p95 {high:.1f}, max {max(beyond):.1f} MiB\n",
        flush=True,
    )


def overshoot(launcher: Launcher, solver: str, limit: float) -> float:
    ended = launcher.start(Call(f"spinning_solvers:{solver}"), ResourceLimits(cpu=limit)).wait()
    assert ended is not None
    assert ended.ending == Ending.CPU_LIMIT
    return ended.cpu - limit


@contextmanager
def spinning(number: int) -> Iterator[None]:
    """Have so many processes spin meanwhile."""
    spinners = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def overheads(cgroups: bool, runs: int) -> None:
    programs: dict[str, Command | Call] = {
        "the program `true`": Command(("true",)),
        "an empty function": Call("spinning_solvers:nothing"),
    }
    limits = ResourceLimits(cpu=10, wall=10, memory=2**30)
    for name, program in programs.items():
        before = cpu_of_all()
        with Launcher(preload=("spinning_solvers",), cgroups=cgroups) as launcher:
            method = launcher.method.partition(" (")[0]
        idle = cpu_of_all() - before
        before = cpu_of_all()
        launcher = Launcher(preload=("spinning_solvers",), cgroups=cgroups)

        def one(launcher: Launcher = launcher, program: Command | Call = program) -> tuple[float, float]:
            began = time.perf_counter()
            ended = launcher.start(program, limits).wait()
            assert ended is not None
            return time.perf_counter() - began, ended.cpu

        one()
        measured = [one() for _ in range(runs)]
        wall, own = np.median(measured, axis=0) * 1000
        started = time.perf_counter()
        eight_at_once(launcher, program, limits, runs)
        rate = runs / (time.perf_counter() - started)
        launcher.close()
        total = 1000 * (cpu_of_all() - before - idle) / (2 * runs + 1)
        print(
            f"{method}, {name}: {wall:.1f} ms from start to outcome (median of {runs}), {own:.2f} ms CPU of "
            f"its own, {total:.1f} ms CPU in all; {rate:.0f} runs/s with eight at once",
            flush=True,
        )


def eight_at_once(launcher: Launcher, program: Command | Call, limits: ResourceLimits, runs: int) -> None:
    waiting: list[Callable[[], object]] = []
    for _ in range(runs):
        if len(waiting) == 8:
            waiting.pop(0)()
        waiting.append(launcher.start(program, limits).wait)
    for wait in waiting:
        wait()


def cpu_of_all() -> float:
    """Return the CPU seconds of this process and those it has waited for: a server's, once it is closed."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


if __name__ == "__main__":
    main()
