"""CPU time until a command has done nothing: `tailcut --version`, `--help`, and the help of each command.

    python benchmarks/startup.py [--repeat 15] [--most 0.15]

Each is run in processes of its own, and what counts is the median of the CPU time that the kernel charges
them, beside that of `python -c pass`: the ratio says the same on a slow machine. Ends with code 1 where
`--version` or `--help` take more than `--most` seconds.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage

from tailcut.cli.app import COMMANDS


def cpu_seconds(arguments: list[str]) -> float:
    """Return the CPU time of one process, user and system, its children included."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(arguments: list[str], repeat: int) -> float:
    """Return the median over runs; the first one, which may have to compile modules, does not count."""
    cpu_seconds(arguments)
    return statistics.median(cpu_seconds(arguments) for _ in range(repeat))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--most", type=float, default=0.15)
    options = parser.parse_args()
    bare = median(["-c", "pass"], options.repeat)
    print(f"{'python -c pass':<24} {1e3 * bare:6.0f} ms")
    slow = False
    for arguments in (["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)):
        seconds = median(["-m", "tailcut", *arguments], options.repeat)
        print(f"{'tailcut ' + ' '.join(arguments):<24} {1e3 * seconds:6.0f} ms, {seconds / bare:5.1f} times")
        slow |= len(arguments) == 1 and seconds > options.most
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
