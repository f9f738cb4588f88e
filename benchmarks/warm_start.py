"""What a warm start is worth: recorded runs of one half of a scenario, then a stream of the other half.

The halves are random. Every selector serves the second half three times: from a cold start, after learning
a random tenth of the first half's runs, and after learning all of them. Prints Markdown: mean nPAR10 (0 the
best algorithm per instance, 1 the best single one, both in hindsight on the second half) over all scenarios,
of the whole stream and of its first fifty decisions; then the whole stream per scenario. Needs TAILCUT_ASLIB,
the folder of ASlib scenarios.

    TAILCUT_ASLIB=aslib_data python benchmarks/warm_start.py --seeds 5
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

# One BLAS thread: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from tailcut import Scenario, Selector
from tailcut.bench.replay import replay
from tailcut.bench.summary import ReferenceCosts, normalised, paid
from tailcut.numerics.randomness import stream
from tailcut.scenarios.aslib_reader import scenarios_in
from tailcut.types import Array

SELECTORS = (
    "bounded_thompson",
    "thompson_rev",
    "bj_thompson_rev",
    "degroote_epsilon_greedy_lr",
    "epsilon_greedy",
)
STARTS = {"cold": 0.0, "10% of runs": 0.1, "all runs": 1.0}
FIRST = 50
"""How many decisions count as the first ones."""


@dataclass(frozen=True)
class Part:
    """Some instances of a scenario."""

    algorithms: tuple[str, ...]
    cutoff: float
    features: Array
    runtimes: Array
    solved: NDArray[np.bool_]
    feature_cost: Array

    @staticmethod
    def of(scenario: Scenario, rows: NDArray[np.intp]) -> Part:
        """Return the instances in these rows."""
        return Part(
            scenario.algorithms,
            scenario.cutoff,
            scenario.features[rows],
            scenario.runtimes[rows],
            scenario.solved[rows],
            scenario.feature_cost[rows],
        )


def measured(scenario: Scenario, name: str, share: float, seed: int) -> tuple[float, float]:
    """Return nPAR10 on the second half, of all decisions and of the first ones."""
    rows = stream(seed, "halves").permutation(len(scenario.instances))
    past, ahead = Part.of(scenario, rows[::2]), Part.of(scenario, rows[1::2])
    selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=seed)
    if share > 0.0:
        selector.fit(past, known=stream(seed, "known").random(past.solved.shape) < share)
    losses, _ = paid(ahead, replay(ahead, selector, seed=seed))
    lines = ReferenceCosts.of(ahead)
    return normalised(float(losses.mean()), lines), normalised(float(losses[:FIRST].mean()), lines)


def print_table(title: str, columns: list[str], rows: dict[str, list[float]]) -> None:
    print(f"\n{title}\n\n| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for label, values in rows.items():
        print(f"| {label} | {' | '.join(f'{value:.2f}' for value in values)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", help="names; all runtime scenarios unless given")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    root = os.environ.get("TAILCUT_ASLIB")
    if not root:
        sys.exit("set TAILCUT_ASLIB to the folder of ASlib scenarios")
    found = scenarios_in(Path(root), options.scenarios or None)
    results = np.array(
        [
            [
                [
                    np.mean([measured(scenario, name, share, s) for s in range(options.seeds)], axis=0)
                    for share in STARTS.values()
                ]
                for _, scenario in found
            ]
            for name in SELECTORS
        ]
    )  # (selectors, scenarios, starts, 2)
    means = np.nanmean(results, axis=1)
    columns = [*STARTS, *(f"first {FIRST}: {start}" for start in STARTS)]
    rows = {name: means[i].T.ravel().tolist() for i, name in enumerate(SELECTORS)}
    print_table(f"Mean nPAR10 over {len(found)} scenarios, {options.seeds} seeds", columns, rows)
    for i, name in enumerate(SELECTORS):
        wins = int((results[i, :, 2, 0] < results[i, :, 0, 0]).sum())
        print(f"\n{name}: all runs beat the cold start on {wins} of {len(found)} scenarios")
    best = results[0, :, :, 0]
    per_scenario = {scenario.name: best[j].tolist() for j, (_, scenario) in enumerate(found)}
    print_table(f"nPAR10 of {SELECTORS[0]} per scenario", list(STARTS), per_scenario)


if __name__ == "__main__":
    main()
