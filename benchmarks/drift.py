"""What a window costs and when it pays: streams whose algorithms trade places half-way.

Instances are drawn with replacement, 6,000 per stream. In the changing stream every algorithm takes over the
runtimes of another one (a random cycle) from the middle on; the stationary stream stays as it is. Prints one
Markdown table per selector: mean nPAR10 (0 the best algorithm per instance, 1 the best single one of the
phase, in hindsight) before the change (the quarter that ends with it), right after it (the first tenth of
the second half), long after it (the last quarter), and of the last quarter of the stationary stream.

One generated stream, and with TAILCUT_ASLIB, the folder of ASlib scenarios, some real ones.

    TAILCUT_ASLIB=aslib_data python benchmarks/drift.py --seeds 5
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path

# One BLAS thread: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from tailcut import Scenario, Selector
from tailcut.bench.replay import replay, shuffled
from tailcut.bench.summary import ReferenceCosts, normalised, paid
from tailcut.numerics.randomness import stream
from tailcut.scenarios.synthetic import SyntheticScenario, generate
from tailcut.types import Array

STEPS = 6000
WINDOWS = (0, 250, 500, 1000, 2000)
SELECTORS = ("tailcut", "bounded_thompson", "thompson_rev", "epsilon_greedy")
SCENARIOS = ("ASP-POTASSCO", "CPMP-2015", "MAXSAT12-PMS", "QBF-2011")
PHASES = {
    "before": slice(STEPS // 4, STEPS // 2),
    "right after": slice(STEPS // 2, STEPS // 2 + STEPS // 20),
    "long after": slice(3 * STEPS // 4, STEPS),
}


@dataclass(frozen=True)
class Stream:
    """Instances as `replay` takes them; it serves them in the order of its seed."""

    algorithms: tuple[str, ...]
    cutoff: float
    features: Array
    runtimes: Array
    solved: NDArray[np.bool_]
    feature_cost: Array

    @staticmethod
    def drawn(runs: Scenario | SyntheticScenario, seed: int) -> Stream:
        """Return a stationary stream of instances drawn with replacement."""
        rows = stream(seed, "drift").integers(len(runs.features), size=STEPS)
        return Stream(
            runs.algorithms,
            runs.cutoff,
            runs.features[rows],
            runs.runtimes[rows],
            runs.solved[rows],
            runs.feature_cost[rows],
        )

    def changed(self, seed: int) -> Stream:
        """Return the stream in which every algorithm becomes another one half-way."""
        cycle = stream(seed, "trading places").permutation(len(self.algorithms))
        source = np.empty_like(cycle)
        source[cycle] = np.roll(cycle, 1)
        later = shuffled(STEPS, seed)[STEPS // 2 :]
        runtimes, solved = self.runtimes.copy(), self.solved.copy()
        runtimes[later], solved[later] = runtimes[later][:, source], solved[later][:, source]
        return replace(self, runtimes=runtimes, solved=solved)


def losses(runs: Stream, name: str, window: int, seed: int) -> Array:
    """Return the PAR10 loss of every step, shape (n,)."""
    selector = Selector(name, runs.algorithms, runs.cutoff, seed=seed, window=window)
    return paid(runs, replay(runs, selector, seed=seed))[0]


def measured(runs: Scenario | SyntheticScenario, name: str, window: int, seed: int) -> list[float]:
    """Return nPAR10 in the three phases of the changing stream, and late in the stationary one."""
    still = Stream.drawn(runs, seed)
    lines = ReferenceCosts.of(still)  # who is the best changes half-way, what the best costs does not
    moving = losses(still.changed(seed), name, window, seed)
    late = losses(still, name, window, seed)[PHASES["long after"]]
    phases = [moving[phase] for phase in PHASES.values()]
    return [normalised(float(phase.mean()), lines) for phase in (*phases, late)]


def sources() -> dict[str, Scenario | SyntheticScenario]:
    """Return what the streams are drawn from, by name."""
    found: dict[str, Scenario | SyntheticScenario] = {"generated": generate(n_instances=STEPS)}
    root = os.environ.get("TAILCUT_ASLIB")
    for name in SCENARIOS if root else ():
        found[name] = Scenario.read(Path(root or "") / name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--selector", action="append", choices=SELECTORS, help="only this one; repeat for more"
    )
    options = parser.parse_args()
    columns = [*PHASES, "stationary"]
    streams = sources()
    for name in options.selector or SELECTORS:
        print(f"\n{name}\n\n| stream | window | {' | '.join(columns)} |\n|---|{'---:|' * (len(columns) + 1)}")
        for label, runs in streams.items():
            for window in WINDOWS:
                cells = np.mean([measured(runs, name, window, s) for s in range(options.seeds)], axis=0)
                shown = " | ".join(f"{cell:.2f}" for cell in cells)
                print(f"| {label} | {window or 'off'} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
