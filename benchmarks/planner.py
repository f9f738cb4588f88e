"""Time per plan: the compiled planner next to the same in plain numpy, which the tests compare it with.

One plan is what a schedule does between two runs: curves from log-odds, then the best next run; on a new
instance, and on one where half of the algorithms have failed. Blocks of both sides alternate, and the fastest
block of each counts: what other processes on the machine add is not ours.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

# One BLAS thread for both sides: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tailcut.schedules.curves import CUTS, Curves
from tailcut.schedules.planner import Planner

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.schedules.plain_planner import PlainCurves, PlainPlanner

SIZES = [(5, 7), (20, 7), (20, 32), (40, 40)]
CUTOFF = 100.0
STEPS = 5


def seconds(plan: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(STEPS):
        plan()
    return (time.perf_counter() - started) / STEPS


def compare(n_algorithms: int, n_classes: int, by_class: bool, begun: bool, blocks: int) -> None:
    rng = np.random.default_rng(0)
    log_odds, hardness = rng.normal(-2.0, 1.0, (n_algorithms, len(CUTS))), np.linspace(-5.0, 5.0, n_classes)
    odds, shift = (log_odds[:, :, None] + hardness, None) if by_class else (log_odds, hardness)
    failed = np.where(begun & (np.arange(n_algorithms) % 2 == 0), 0.003 * CUTOFF, 0.0)
    weights, barred, left = np.full(n_classes, 1.0 / n_classes), np.zeros(n_algorithms, bool), CUTOFF
    cuts, unsolved = CUTS * CUTOFF, 9.0 * CUTOFF

    def ours() -> object:
        return Planner(Curves(odds, shift, cuts=cuts), unsolved, barred).plan(weights, failed, left)

    def plain() -> object:
        return PlainPlanner(PlainCurves(odds, shift, cuts=cuts), unsolved, barred).plan(weights, failed, left)

    mine, other = np.min([(seconds(ours), seconds(plain)) for _ in range(blocks)], axis=0).tolist()
    print(
        f"| {n_algorithms:2} | {n_classes:2} | {'K, J, M' if by_class else 'K, J':>8} "
        f"| {'begun' if begun else 'new':>8} | {mine * 1e6:8.1f} | {other * 1e6:8.1f} | {other / mine:5.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=40, help="alternating blocks per row")
    blocks = parser.parse_args().blocks
    print("|  K |  M | log-odds | instance | ours, us | numpy, us | ratio |")
    print("|---:|---:|---|---|---:|---:|---:|")
    for k, m in SIZES:
        for by_class in (False, True):
            for begun in (False, True):
                compare(k, m, by_class, begun, blocks)


if __name__ == "__main__":
    main()
