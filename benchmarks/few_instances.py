"""What a selector reaches where a portfolio is large and instances are few.

    python benchmarks/few_instances.py --aslib FOLDER --selector tailcut --first-seed 500 --seeds 10

From each of eleven ASlib scenarios with 14 to 37 algorithms it takes 280 random instances, other ones for
each seed, with features for free. It prints the nPAR10 against the best of these instances in hindsight.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np

from tailcut import Scenario, Selector
from tailcut.bench.replay import replay
from tailcut.bench.summary import paid

SCENARIOS = (
    "MAXSAT15-PMS-INDU",
    "MAXSAT-PMS-2016",
    "MAXSAT-WPMS-2016",
    "QBF-2014",
    "QBF-2016",
    "SAT11-HAND",
    "SAT11-INDU",
    "SAT12-HAND",
    "SAT12-INDU",
    "SAT15-INDU",
    "SAT18-EXP",
)
INSTANCES = 280


def few_instances(scenario: Scenario, seed: int) -> Scenario:
    """Return a random part of the scenario, features free of charge."""
    rows = np.sort(np.random.default_rng([seed, 7]).permutation(len(scenario.instances))[:INSTANCES])
    return dataclasses.replace(
        scenario,
        instances=tuple(scenario.instances[row] for row in rows),
        features=scenario.features[rows],
        runtimes=scenario.runtimes[rows],
        solved=scenario.solved[rows],
        statuses=scenario.statuses[rows],
        feature_cost=np.zeros(len(rows)),
        feature_steps=(),
        has_feature_costs=False,
        folds=None,
    )


def npar10(scenario: Scenario, name: str, seed: int) -> float:
    """Return the nPAR10 of a selector on a stream of these instances."""
    selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=seed)
    costs, _ = paid(scenario, replay(scenario, selector, seed=seed))
    losses = scenario.losses()
    best, single = losses.min(axis=1).mean(), losses.mean(axis=0).min()
    return float((costs.mean() - best) / (single - best))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--aslib", type=Path, required=True)
    parser.add_argument("--selector", default="tailcut")
    parser.add_argument("--first-seed", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    table = []
    for name in SCENARIOS:
        scenario = Scenario.read(given.aslib / name)
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        table.append([npar10(few_instances(scenario, seed), given.selector, seed) for seed in seeds])
        print(f"{name}: {np.mean(table[-1]):.2f}", flush=True)
    by_seed = np.mean(table, axis=0)
    error = np.std(by_seed, ddof=1) / np.sqrt(len(by_seed))
    print(f"mean: {by_seed.mean():.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
