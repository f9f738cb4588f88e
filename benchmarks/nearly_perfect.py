"""What a selector pays for trying others where one solver is nearly perfect.

    python benchmarks/nearly_perfect.py --aslib FOLDER --first-seed 200 --seeds 4

From each of eight ASlib scenarios it takes up to 250 solvable instances and eight algorithms, and lets one of
them solve all but a few instances, in half to one and a half times what the fastest of all takes. It prints
how many more timeouts' worth of PAR10 a selector pays than that algorithm alone. The row `informed` is a
yardstick: it knows beforehand how often each algorithm fails, and only not which one is which.
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
    "SAT11-HAND",
    "QBF-2016",
    "MIP-2016",
    "CSP-Minizinc-Time-2016",
    "SAT15-INDU",
    "CPMP-2015",
    "MAXSAT-PMS-2016",
    "SAT18-EXP",
)
ALGORITHMS, INSTANCES = 8, 250


def nearly_perfect(scenario: Scenario, unsolved: float, rng: np.random.Generator) -> Scenario:
    """Return a part of the scenario in which a random algorithm fails only on this share of the instances."""
    rows = np.flatnonzero(scenario.solved.any(axis=1))
    rows = np.sort(rng.permutation(rows)[:INSTANCES])
    columns = np.sort(rng.permutation(len(scenario.algorithms))[:ALGORITHMS])
    fastest = np.where(scenario.solved, scenario.runtimes, np.inf)[rows].min(axis=1)
    seconds = fastest * rng.uniform(0.5, 1.5, len(rows))
    seconds = np.where(seconds >= scenario.cutoff, 0.99 * fastest, seconds)
    fails = rng.random(len(rows)) < unsolved
    best = int(rng.integers(len(columns)))
    part = np.ix_(rows, columns)
    runtimes, solved, statuses = scenario.runtimes[part], scenario.solved[part], scenario.statuses[part]
    runtimes[:, best], solved[:, best] = np.where(fails, scenario.cutoff, seconds), ~fails
    codes = scenario.statuses[~scenario.solved][0], scenario.statuses[scenario.solved][0]
    statuses[:, best] = np.where(fails, *codes)
    return dataclasses.replace(
        scenario,
        algorithms=tuple(scenario.algorithms[column] for column in columns),
        instances=tuple(scenario.instances[row] for row in rows),
        features=scenario.features[rows],
        runtimes=runtimes,
        solved=solved,
        statuses=statuses,
        feature_cost=np.zeros(len(rows)),
        feature_steps=(),
        has_feature_costs=False,
        folds=None,
    )


def timeouts_above_the_best(scenario: Scenario, name: str, seed: int) -> float:
    """Return what a selector pays more than the best algorithm alone, in PAR10 of a timeout."""
    selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=seed)
    losses, _ = paid(scenario, replay(scenario, selector, seed=seed))
    return float(losses.sum() - scenario.losses().sum(axis=0).min()) / (10.0 * scenario.cutoff)


def informed(scenario: Scenario, seed: int) -> float:
    """Return the same for one who knows the shares of unsolved instances, but not whose they are.

    It runs the algorithm whose outcomes so far speak most for its being the best one: the likelihood of its
    failures if it is, against that if it is any of the others.
    """
    rng = np.random.default_rng([seed, 1])
    losses = scenario.losses() / (10.0 * scenario.cutoff)
    fails = np.clip((~scenario.solved).mean(axis=0), 0.005, 0.99)
    best = int(losses.sum(axis=0).argmin())
    others, ties = np.delete(fails, best), 1e-9 * rng.random(len(fails))
    failed, solved, paid_so_far = np.zeros(len(fails)), np.zeros(len(fails)), 0.0
    for row in rng.permutation(len(losses)).tolist():
        as_best = fails[best] ** failed * (1.0 - fails[best]) ** solved
        as_other = (others ** failed[:, None] * (1.0 - others) ** solved[:, None]).mean(axis=1)
        chosen = int((np.log(as_best) - np.log(as_other) + ties).argmax())
        failed[chosen] += not scenario.solved[row, chosen]
        solved[chosen] += scenario.solved[row, chosen]
        paid_so_far += float(losses[row, chosen])
    return paid_so_far - float(losses[:, best].sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--aslib", type=Path, required=True)
    parser.add_argument("--first-seed", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    scenarios = [Scenario.read(given.aslib / name) for name in SCENARIOS]
    for name in ("informed", "tailcut", "tailcut_schedule", "thompson"):
        for unsolved in (0.02, 0.05, 0.15):
            above = [
                informed(stream, seed) if name == "informed" else timeouts_above_the_best(stream, name, seed)
                for number, scenario in enumerate(scenarios)
                for seed in seeds
                for stream in [nearly_perfect(scenario, unsolved, np.random.default_rng([seed, number]))]
            ]
            error = np.std(above, ddof=1) / np.sqrt(len(above))
            print(f"{name}, {unsolved:.0%} unsolved: {np.mean(above):.1f} ± {error:.1f}", flush=True)


if __name__ == "__main__":
    main()
