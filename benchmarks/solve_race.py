"""A race of four solvers on this machine: the wall time of its answers against the best of the four alone.

    python benchmarks/solve_race.py --instances 20
    python benchmarks/solve_race.py --files outside/files/kissat outside/files/cadical --least 0.5

With --files, the formulas are those of folders (`benchmarks/outside.py fetch` makes some) that the best of
the four takes --least seconds for. Each formula is solved by each alone, one after the other, then by
`tailcut solve --parallel 4` with the same four. On two cores a race of four cannot be faster than the best of
them. At worst it takes twice as long, and what starting and checking cost; answers of solvers alone are not
checked.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tailcut.domains.sat.generators import write_stream
from tailcut.live.domain_portfolio import domain_portfolio
from tailcut.live.instances import Instance
from tailcut.live.jobs import solver_job
from tailcut.live.limits import Launcher

SOLVERS = ("kissat", "cadical", "minisat", "lingeling")
PORTFOLIO = """
domain = "sat"
cutoff = {cutoff}
"""
SOLVER = """
[solvers.{name}]
entry = "tailcut.domains.sat.solve:main"
arguments = {arguments}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--cutoff", type=float, default=10.0)
    parser.add_argument("--files", type=Path, nargs="*", default=[])
    parser.add_argument("--least", type=float, default=0.0)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.files:
            found = {path for one in given.files for path in one.resolve().rglob("*.cnf")}
            formulas = sorted(found, key=lambda path: -path.stat().st_size)
        else:
            write_stream(folder / "f", count=given.instances, seed=3)
            formulas = sorted((folder / "f").iterdir())
        portfolio = domain_portfolio("sat")
        text = PORTFOLIO.format(cutoff=given.cutoff)
        for one in SOLVERS:
            text += SOLVER.format(name=one, arguments=list(portfolio.solvers[one].program.template))
        (folder / "p.toml").write_text(text)
        best: list[float] = []
        raced: list[float] = []
        cpu: list[float] = []
        solve = [sys.executable, "-m", "tailcut", "solve", "--portfolio", "p.toml", "--parallel", "4"]
        solve += ["--state", "s.db", "--report", "r.json"]
        with Launcher(preload=portfolio.preload) as launcher:
            for number, path in enumerate(formulas):
                if len(best) == given.instances:
                    break
                alone = []
                for one in SOLVERS:
                    job = solver_job(
                        portfolio, portfolio.solvers[one], Instance(str(path), path), given.cutoff
                    )
                    ended = launcher.start(job.program, job.limits).wait()
                    if ended is not None and ended.exit_code in (10, 20):
                        alone.append(ended.wall)
                if number and (not alone or min(alone) < given.least):
                    continue
                began = time.perf_counter()
                code = subprocess.run([*solve, str(path)], cwd=folder, capture_output=True).returncode
                took = time.perf_counter() - began
                if alone and code in (10, 20) and number:  # the first call starts the daemon
                    best.append(min(alone))
                    raced.append(took)
                    cpu.append(json.loads((folder / "r.json").read_text())["cpu"])
        stop = [sys.executable, "-m", "tailcut", "solve", "--state", "s.db", "--stop"]
        subprocess.run(stop, cwd=folder, check=True)
    ratios = [one / other for one, other in zip(raced, best, strict=True)]
    long = [ratio for ratio, alone in zip(ratios, best, strict=True) if alone > 0.5]
    print(f"{len(best)} formulas solved by both, {os.cpu_count()} cores")
    print(f"best of the four alone: {sum(best):.2f} s in all; the race: {sum(raced):.2f} s of wall time")
    print(f"and {sum(cpu):.2f} s of CPU time; sum against sum: {sum(raced) / sum(best):.2f} times")
    beyond = statistics.median(one - other for one, other in zip(raced, best, strict=True))
    print(f"beyond the best: median {1e3 * beyond:.0f} ms")
    if long:
        print(
            f"where the best takes more than 0.5 s ({len(long)}): median {statistics.median(long):.2f} times"
        )


if __name__ == "__main__":
    main()
