"""CPU time per step (select and learn) of other people's online selectors, relative to `tailcut`.

    python benchmarks/peer_times.py --aslib FOLDER --scenario MIP-2016 --scenario CPMP-2015

The selectors are replayed in turn on the stream of a scenario (seed 0), in one process and several rounds,
of which the fastest counts for each. It is CPU time: other processes on the machine matter less.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

# One BLAS thread for all: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tailcut import Scenario, Selector
from tailcut.bench.replay import replay
from tailcut.scenarios.synthetic import SyntheticScenario, generate

OURS = "tailcut"
OTHERS = [
    "bounded_thompson",
    "medley_thompson",
    "medley_exp3",
    "online_greedy",
    "medley_nearest",
    "vw",
    "vw_squarecb",
    "tailcut_schedule",
    "mabwiser_lingreedy",
    "mabwiser_linucb",
    "mabwiser_lints",
    "river_forests",
    "extra_trees",
]


def per_step(scenario: Scenario | SyntheticScenario, name: str) -> float:
    """Return CPU seconds per step of one stream."""
    selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=0)
    with patch("time.perf_counter", time.process_time):
        return float(replay(scenario, selector, seed=0).seconds.mean())


def relative(
    scenario: Scenario | SyntheticScenario, names: Sequence[str], rounds: int
) -> tuple[float, dict[str, float]]:
    """Return the seconds of `tailcut`, and by which factor the others take longer."""
    least = dict.fromkeys([OURS, *names], np.inf)
    for _ in range(rounds):
        for name in least:
            least[name] = min(least[name], per_step(scenario, name))
    return least[OURS], {name: least[name] / least[OURS] for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--aslib", type=Path, required=True)
    parser.add_argument("--scenario", action="append", required=True)
    parser.add_argument("--selector", action="append", default=None)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    names = given.selector or OTHERS
    relative(
        generate(n_instances=20, n_algorithms=3, n_features=4, timeouts=0.3, seed=0), names, 1
    )  # imports
    rows = []
    for scenario in given.scenario:
        seconds, factors = relative(Scenario.read(given.aslib / scenario), names, given.rounds)
        rows.append(list(factors.values()))
        print(f"{scenario}: {OURS} {seconds * 1e6:.0f} µs", flush=True)
        print("  " + ", ".join(f"{name} {factor:.2f}" for name, factor in factors.items()), flush=True)
    print("\n| | mean | least | most |\n|---|---:|---:|---:|")
    for name, of_one in zip(names, np.array(rows).T, strict=True):
        mean = np.exp(np.log(of_one).mean())
        print(f"| `{name}` | {mean:.2f} | {of_one.min():.2f} | {of_one.max():.2f} |")


if __name__ == "__main__":
    main()
