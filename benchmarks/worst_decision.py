"""The slowest decision of every online selector on every scenario, in CPU time of its own thread.

CPU time, because what other processes take from the clock is not the selector's doing; and without Python's
garbage collector, as timeit does, because its pauses depend on what else the program holds. The first
decision counts: it allocates the model. Needs TAILCUT_ASLIB, the folder of ASlib scenarios.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

# One BLAS thread: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tailcut import CATALOGUE, Outcome, Recipe, Scenario, Selector
from tailcut.bench.replay import shuffled
from tailcut.models import RidgeBank
from tailcut.scenarios.aslib_reader import scenarios_in
from tailcut.types import Array


def milliseconds(scenario: Scenario, name: str) -> Array:
    """Return the CPU time of every select plus observe, shape (n,)."""
    selector = Selector(name, scenario.algorithms, scenario.cutoff)
    timeout, taken = Outcome.censored(scenario.cutoff), []
    for row in shuffled(len(scenario.instances), seed=0):
        started = time.thread_time()
        decision = selector.select(scenario.features[row])
        choice = scenario.algorithms.index(decision.algorithm)
        solved = (
            Outcome.solved(float(scenario.runtimes[row, choice])) if scenario.solved[row, choice] else None
        )
        selector.observe(decision, solved or timeout)
        taken.append(time.thread_time() - started)
    return np.array(taken) * 1e3


def main() -> None:
    """Print one line per scenario: the slowest decision over all ridge selectors, and whose it was."""
    root = os.environ.get("TAILCUT_ASLIB")
    if not root:
        sys.exit("set TAILCUT_ASLIB to the folder of ASlib scenarios")
    gc.disable()
    names = [name for name, row in CATALOGUE.items() if isinstance(row, Recipe) and row.model is RidgeBank]
    for _, scenario in scenarios_in(Path(root)):
        slowest = {name: float(milliseconds(scenario, name).max()) for name in names}
        worst = max(slowest, key=lambda name: slowest[name])
        print(f"{scenario.name:24} {slowest[worst]:6.2f} ms  {worst}")


if __name__ == "__main__":
    main()
