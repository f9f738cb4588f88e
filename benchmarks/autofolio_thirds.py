"""AutoFolio's recorded decisions beside our selectors, on the same split into training and test instances.

    git clone https://github.com/lteu/AutoFolio
    python benchmarks/autofolio_thirds.py AutoFolio --aslib FOLDER --split Mira10 --split Caren1

That fork of AutoFolio holds what AutoFolio decided, after tuning, on random thirds of scenarios of the
competition of 2017, in which instances and algorithms have no names: NAME.json, and the runtimes of the test
instances. Algorithms and instances are found in ASlib's scenario by their runtimes. Our selectors learn all
other instances by `fit`. AutoFolio runs its presolvers first; its features cost nothing here, ours do.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np

from tailcut import Scenario, Selector
from tailcut.bench.replay import FrozenSelector, replay
from tailcut.bench.summary import paid
from tailcut.types import Array

SCENARIOS = {"Caren": "CSP-Minizinc-Time-2016", "Mira": "MIP-2016"}
PENALTY = 10.0


def columns(theirs: Array, ours: Array, limit: float) -> list[int]:
    """Return which algorithm of ours each of theirs is: the one with most of its runtimes."""
    found: list[int] = []
    for runtimes in theirs.T:
        solved = runtimes[runtimes < limit]
        shared = [
            -1 if k in found else int(sum(np.isclose(column, one, atol=2e-3).any() for one in solved))
            for k, column in enumerate(ours.T)
        ]
        found.append(int(np.argmax(shared)))
    return found


def rows(theirs: Array, ours: Array, limit: float) -> list[int]:
    """Return which instance of ours each of theirs is; -1 for those that nobody solves: all look the same."""
    found: list[int] = []
    for runtimes in theirs:
        if runtimes.min() >= limit:
            found.append(-1)
            continue
        same = np.flatnonzero(np.isclose(ours, runtimes, atol=2e-3).all(axis=1))
        found.append(next(int(row) for row in same if row not in found))
    return found


def seconds(decision: list[object], runtimes: Array, cutoff: float) -> float:
    """Return PAR10 of one decision: presolvers with their limits, then one algorithm."""
    spent = 0.0
    for step in decision:
        name, allowed = (step[0], float(step[1])) if isinstance(step, list) else (step, cutoff)
        taken = float(runtimes[int(str(name).removeprefix("algorithm_")) - 1])
        if taken <= min(allowed, cutoff - spent):
            return spent + taken
        spent += allowed
    return PENALTY * cutoff


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--aslib", type=Path, required=True)
    parser.add_argument("--split", action="append", required=True)
    parser.add_argument("--selector", action="append", default=None)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for split in given.split:
        scenario = Scenario.read(given.aslib / SCENARIOS[split.rstrip("0123456789")])
        limit = PENALTY * scenario.cutoff
        with (given.checkout / "csv" / "test" / split / "runtime.csv").open(encoding="utf-8") as file:
            _, *table = csv.reader(file)
        theirs = np.array([[float(one) for one in row[1:]] for row in table])
        ours = np.where(scenario.solved, scenario.runtimes, limit)
        ours = ours[:, columns(theirs, ours, limit)]
        test = np.array(rows(theirs, ours, limit))
        best, single = theirs.min(axis=1).mean(), theirs.mean(axis=0).min()

        def normalised(losses: Array, best: float = best, single: float = single) -> float:
            return float((losses.mean() - best) / (single - best))

        (path,) = given.checkout.rglob(f"autofolio10h/{split}.json")
        decisions = json.loads(path.read_text(encoding="utf-8"))
        losses = [
            seconds(decisions[row[0]], runtimes, scenario.cutoff)
            for row, runtimes in zip(table, theirs, strict=True)
        ]
        print(
            f"{split} ({scenario.name}, {len(test)} instances): AutoFolio {normalised(np.array(losses)):.2f}"
        )
        known = np.ones(len(scenario.instances), dtype=np.bool_)
        known[test[test >= 0]] = False
        if (test < 0).any():
            known &= scenario.solved.any(axis=1)
        for name in given.selector or ["tailcut", "tailcut_schedule"]:
            found = []
            for seed in range(given.seeds):
                selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=seed)
                selector.fit(scenario, known=np.broadcast_to(known[:, None], scenario.solved.shape))
                trace = replay(scenario, FrozenSelector(selector), seed=seed, order=test[test >= 0])
                all_paid = np.full(len(test), limit)
                all_paid[test >= 0] = paid(scenario, trace)[0]
                found.append(normalised(all_paid))
            print(f"  {name} {np.mean(found):.2f}, by seed {', '.join(f'{one:.2f}' for one in found)}")


if __name__ == "__main__":
    main()
