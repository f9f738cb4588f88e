"""What a call of `tailcut solve` costs on top of the solver: milliseconds, and as a ratio.

    python benchmarks/solve_overhead.py --calls 100

The solver is a small program that computes for --seconds, run bare and through `tailcut solve` in turn. CPU
time is that of everything: the call, the daemon and all that it has started. The first call, which starts the
daemon, is reported apart. A second measurement is `tailcut run` with one instance, which loads everything.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import NamedTuple

SOLVER = """
import sys, time
while time.process_time() < float(sys.argv[1]):
    pass
print("s SATISFIABLE")
sys.exit(10)
"""
PORTFOLIO = """
cutoff = 60
[answers.SATISFIABLE]
exit_code = 10
[solvers.burner]
command = {command}
"""
_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Seconds of CPU and wall time."""

    cpu: float
    wall: float


def cost(command: list[str], folder: Path, code: int) -> Cost:
    before, begun = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    after, wall = getrusage(RUSAGE_CHILDREN), time.perf_counter() - begun
    assert ended.returncode == code, f"exit code {ended.returncode} of {command}"
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def daemon_of(folder: Path) -> int:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"tailcut.solve.daemon" in words and any(str(folder).encode() in word for word in words):
            return int(process.name)
    raise SystemExit("there is no daemon")


def cpu_below(process: int) -> float:
    """Return the CPU seconds of a process and all it has started, those that have ended included."""
    fields = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()
    own = sum(map(int, fields[11:15])) / _TICKS
    children = (Path("/proc") / str(process) / "task").glob("*/children")
    return own + sum(cpu_below(int(child)) for path in children for child in path.read_text().split())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.1, help="what the solver computes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "solver.py").write_text(SOLVER)
        (folder / "instance").write_text("")
        bare = [sys.executable, "-I", "-S", "solver.py", str(given.seconds), "{instance}"]
        (folder / "portfolio.toml").write_text(PORTFOLIO.format(command=bare))
        tailcut = [sys.executable, "-m", "tailcut"]
        solve = [*tailcut, "solve", "--portfolio", "portfolio.toml", "--state", "s.db", "instance"]
        first = cost(solve, folder, 10)
        daemon = daemon_of(folder)
        print(
            f"first call: {first.wall:.2f} s of wall time, and {cpu_below(daemon) + first.cpu:.2f} s of CPU"
        )
        started, through, alone = cpu_below(daemon), [], []
        for _ in range(given.calls):
            alone.append(cost(bare, folder, 10))
            through.append(cost(solve, folder, 10))
        served = (cpu_below(daemon) - started) / given.calls
        call_cpu = statistics.mean(one.cpu for one in through)
        bare_cpu = statistics.mean(one.cpu for one in alone)
        extra = call_cpu + served - bare_cpu
        print(f"bare program: {1e3 * bare_cpu:.0f} ms of CPU")
        print(
            f"tailcut solve: {1e3 * extra:.0f} ms of CPU on top, {(bare_cpu + extra) / bare_cpu:.2f} times "
            f"(the call itself {1e3 * call_cpu:.0f} ms)"
        )
        walls = [statistics.median(one.wall for one in many) for many in (alone, through)]
        print(f"wall time, medians: {1e3 * walls[0]:.0f} ms and {1e3 * walls[1]:.0f} ms")
        subprocess.run([*tailcut, "solve", "--state", "s.db", "--stop"], cwd=folder, check=True)
        run = [*tailcut, "run", "portfolio.toml", "instance", "--state", "r.db", "--cutoff", "60"]
        whole = cost([*run, "--selector", "random"], folder, 0)
        print(f"tailcut run with one instance: {1e3 * (whole.cpu - bare_cpu):.0f} ms of CPU on top")


if __name__ == "__main__":
    main()
