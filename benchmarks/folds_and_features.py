"""Two more readings of a result file of `tailcut bench`: fold by fold, and as if features were free.

    python benchmarks/folds_and_features.py results.db --aslib FOLDER

For each row that picks once, the mean over its seeds: nPAR10 as the benchmark has it; with the same choices,
but features that cost nothing; and, in cross-validation, the mean over the folds of an nPAR10 that is taken
within each fold, against the single best solver of the other folds. Published tables often have the last.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from tailcut import Scenario
from tailcut.bench.labels import kind_of
from tailcut.bench.replay import best_in_training, shuffled
from tailcut.bench.store import opened
from tailcut.types import Array


def by_fold(scenario: Scenario, paid: Array) -> float:
    """Return the mean of nPAR10 over the folds; a fold whose best are equally good has none."""
    assert scenario.folds is not None
    runs = scenario.losses()
    single = runs[np.arange(len(runs)), best_in_training(runs, scenario.folds)]
    best, found = runs.min(axis=1), []
    for fold in np.unique(scenario.folds):
        here = scenario.folds == fold
        gap = (single - best)[here].mean()
        if gap > 0.0:
            found.append((paid - best)[here].mean() / gap)
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("results", type=Path)
    parser.add_argument("--aslib", type=Path, required=True)
    given = parser.parse_args()
    scenarios: dict[str, Scenario] = {}
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    with opened(given.results, read_only=True) as store:
        for cell in store.rows():
            if cell["error"] is not None or kind_of(cell["selector"]) != "one pick":
                continue
            name = cell["scenario"]
            if name not in scenarios:
                scenarios[name] = Scenario.read(given.aslib / name)
            scenario = scenarios[name]
            choices, losses, _ = store.trace(cell["hash"])
            order, gap = shuffled(len(losses), cell["seed"]), cell["sbs"] - cell["vbs"]
            free = scenario.losses()[order, choices].mean()
            paid = np.empty(len(losses))
            paid[order] = losses
            folded = by_fold(scenario, paid) if "@cv" in cell["selector"] else np.nan
            values = (cell["par"] - cell["vbs"]) / gap, (free - cell["vbs"]) / gap, folded
            found[cell["selector"], name].append(values)
    print(f"{'':60} {'nPAR10':>8} {'free':>8} {'by fold':>8}")
    for selector in sorted({selector for selector, _ in found}):
        rows = {name: np.mean(values, axis=0) for (one, name), values in found.items() if one == selector}
        for name, row in [*sorted(rows.items()), ("mean", np.mean(list(rows.values()), axis=0))]:
            print(f"{selector + ' ' + name:60} " + " ".join(f"{value:8.3f}" for value in row))


if __name__ == "__main__":
    main()
