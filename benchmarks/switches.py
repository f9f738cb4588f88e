"""What each departure of the published table from the paper's formulas does to PAR10.

Prints one Markdown table per scenario: mean PAR10 over ten seeds, all switches as published, then one at
a time turned back to the paper's formula, then all of them. A dash: the switch does not touch the approach.

    TAILCUT_ASLIB=aslib_data python benchmarks/switches.py CPMP-2015 QBF-2011 MAXSAT12-PMS
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tailcut.cli.options import existing
from tailcut.replication import PAPER, PUBLISHED, ExperimentData, Switches, approach, evaluate
from tailcut.replication.experiment import one_turned_back
from tailcut.replication.published import published_in

SHOWN = (
    "blinducb",
    "bclinucb",
    "rand_bclinucb",
    "blinducb_rev",
    "bclinucb_rev",
    "thompson",
    "thompson_rev",
    "bj_thompson",
)
SCENARIOS = ["CPMP-2015", "QBF-2011", "MAXSAT12-PMS"]


def applies(switch: str, name: str) -> bool:
    """Whether the approach's code path has the switch in it."""
    return {
        "zero_vector_is_nan": "ucb" in name,
        "width_adds_one": "bclinucb" in name,
        "rand_scale": name.startswith("rand_"),
        "penalty_is_log": name.endswith("_rev"),
        "tail_uses_variance": "thompson_rev" in name,
        "half_shift": "thompson_rev" in name,
        "bj_gives_up": name.startswith("bj_"),
    }.get(switch, True)


def mean(table: ExperimentData, name: str, switches: Switches) -> float:
    return evaluate(table, approach(name, switches)).mean


def main() -> None:
    root = os.environ.get("TAILCUT_ASLIB")
    folder = existing(Path(root) if root else None)
    variants = {"as published": PUBLISHED, **one_turned_back(), "all as in the paper": PAPER}
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for scenario in published_in(folder, sys.argv[1:] or SCENARIOS):
        table = ExperimentData.read(folder / scenario)
        print(f"\n{scenario}\n\n| switch turned back | {' | '.join(SHOWN)} |\n|---|{'---:|' * len(SHOWN)}")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            for label, switches in variants.items():
                cells = [
                    pool.submit(mean, table, name, switches) if applies(label, name) else None
                    for name in SHOWN
                ]
                shown = ["-" if cell is None else f"{cell.result():.2f}" for cell in cells]
                print(f"| {label} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
