"""What `tailcut run` costs over the bare programs: start-up, and CPU and wall time per run.

    python benchmarks/run_overhead.py --runs 200

The solver is `true`. Time is that of the command and of all it started, without the features. The commits of
the journal are on disk before anything depends on them, so the file system matters: --folder says where.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PORTFOLIO = 'cutoff = 10\nselector = "{selector}"\n[solvers.true]\ncommand = ["true", "{{instance}}"]\n'


class Cost(NamedTuple):
    """Seconds of CPU and wall time."""

    cpu: float
    wall: float

    def less(self, other: Cost, runs: int) -> str:
        """Say what each of so many runs cost over another, in milliseconds."""
        cpu, wall = (1000 * (mine - theirs) / runs for mine, theirs in zip(self, other, strict=True))
        return f"{cpu:.1f} ms of CPU and {wall:.1f} ms of wall time"


def cost(command: list[str], folder: Path) -> Cost:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--selector", default="random")
    parser.add_argument("--folder", help="where the journal is; without, the system's folder for such")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "portfolio.toml").write_text(PORTFOLIO.format(selector=given.selector))
        for number in range(given.runs):
            (folder / f"{number:06}.toy").write_text(f"{number}\n")
        files = sorted(file.name for file in folder.glob("*.toy"))
        tailcut = [sys.executable, "-m", "tailcut", "run", "portfolio.toml"]
        one = cost([*tailcut, files[0], "--state", "one.db"], folder)
        many = cost([*tailcut, *files, "--state", "many.db"], folder)
        script = 'for file in *.toy; do /bin/true "$file"; done'
        bare = cost(["sh", "-c", script], folder)
    print(f"start-up and one run: {one.cpu:.2f} s of CPU and {one.wall:.2f} s of wall time")
    per_run = Cost(many.cpu - one.cpu, many.wall - one.wall)
    print(f"each further run: {per_run.less(bare, given.runs - 1)} over the bare program")


if __name__ == "__main__":
    main()
