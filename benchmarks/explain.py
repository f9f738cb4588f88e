"""What explanations cost, and how far the forecasts of `tailcut_schedule` can be trusted on real runs.

First table: one explanation, in CPU time. Second table, with TAILCUT_ASLIB set to a folder of ASlib
scenarios: the selector learns all runs on a random half of the instances, at most 500; of one random run on
each of 100 others, the share inside the 90% interval (a run stopped at the cutoff is, if the interval reaches
that far), and timeouts as predicted and as they happened.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

# One BLAS thread: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from core import CUTOFF, Stream
from tailcut import Scenario, Selector
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.scenarios.aslib_reader import scenarios_in

SELECTOR, STEPS, LEARNED, JUDGED = "tailcut_schedule", 300, 500, 100


def cost(n_algorithms: int, n_features: int) -> float:
    """Return milliseconds of an explanation, the fastest of ten."""
    stream = Stream(n_algorithms, n_features)
    selector = Selector(SELECTOR, stream.algorithms, CUTOFF)
    stream.serve(selector, STEPS)
    decision = selector.select(stream.features[0])
    explaining = []
    for _ in range(10):
        started = time.thread_time()
        decision.explain()
        explaining.append(time.thread_time() - started)
    return min(explaining) * 1e3


def calibration(scenario: Scenario) -> tuple[float, float, float]:
    """Return the share of runs inside the interval, and timeouts as predicted and as they happened."""
    rng = np.random.default_rng(0)
    learned, others = np.array_split(rng.permutation(len(scenario.instances)), 2)
    known = np.zeros(scenario.solved.shape, dtype=np.bool_)
    known[learned[:LEARNED]] = True
    selector = Selector(SELECTOR, scenario.algorithms, scenario.cutoff)
    selector.fit(RecordedRuns.of(scenario, known))
    seen = []
    for row in others[:JUDGED].tolist():
        k = int(rng.integers(len(scenario.algorithms)))
        found = selector.consider(scenario.features[row]).algorithms[k]
        assert found.low is not None
        assert found.high is not None
        assert found.timeout_probability is not None
        solved, runtime = bool(scenario.solved[row, k]), float(scenario.runtimes[row, k])
        inside = found.low <= runtime <= found.high if solved else found.high >= scenario.cutoff
        seen.append((float(inside), found.timeout_probability, float(not solved)))
    inside_share, predicted, happened = np.mean(seen, axis=0).tolist()
    return inside_share, predicted, happened


def main() -> None:
    print("|  K |   d | explain, ms |\n|---:|---:|---:|")
    for k, d in ((4, 22), (11, 138)):
        print(f"| {k:2} | {d:3} | {cost(k, d):11.1f} |")
    folder = os.environ.get("TAILCUT_ASLIB")
    if folder is None:
        print("\nno second table: TAILCUT_ASLIB is not set")
        return
    print("\n| scenario | inside | timeouts predicted | happened |\n|---|---:|---:|---:|")
    rows = []
    for _, scenario in scenarios_in(Path(folder)):
        rows.append(calibration(scenario))
        print(f"| {scenario.name} | {rows[-1][0]:.0%} | {rows[-1][1]:.0%} | {rows[-1][2]:.0%} |", flush=True)
    mean = np.mean(rows, axis=0)
    print(f"| mean of {len(rows)} | {mean[0]:.0%} | {mean[1]:.0%} | {mean[2]:.0%} |")


if __name__ == "__main__":
    main()
