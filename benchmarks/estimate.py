"""Whether the estimate of what single solvers would have cost keeps its promise, where the truth is known.

    python benchmarks/estimate.py --aslib aslib_data [--scenario QBF-2011] [--seeds 1] [--instances 400]

Scenarios, in which every run is known, are replayed through a journal; only what the selector had run is
left in it. From that journal the estimate is made and compared with the truth: how many of the 90% intervals
hold it, how wide they are, and how far the estimates are off, both as a share of ten cutoffs. Without
--aslib: the bundled scenario.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from tailcut import Decision, Scenario
from tailcut.bench.replay import shuffled
from tailcut.estimate import RunEstimate, estimate_run
from tailcut.journal import Journal, Project
from tailcut.journal.instances import Instances
from tailcut.scenarios.bundled import SCENARIO

SELECTORS = ("tailcut", "tailcut_schedule", "bounded_thompson", "epsilon_greedy")


def serve(project: Project, scenario: Scenario, row: int) -> None:
    """Serve one instance of a scenario: features are free, a run takes as long as recorded."""
    times = np.where(scenario.solved[row], scenario.runtimes[row], np.inf)
    decision: Decision | None = project.select(scenario.features[row], instance=scenario.instances[row])
    while decision is not None:
        runtime = float(times[scenario.algorithms.index(decision.algorithm)])
        if runtime <= decision.budget:
            project.observe(decision, runtime=runtime)
        else:
            project.observe(decision, censored_at=decision.budget)
        if not project.selector.schedules:
            break
        decision = project.proceed(decision)


def replayed(scenario: Scenario, selector: str, seed: int, rows: np.ndarray) -> RunEstimate:
    """Return the estimate from the journal of a replay."""
    description = {"selector": selector, "algorithms": list(scenario.algorithms), "cutoff": scenario.cutoff}
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "replay.db") as journal:
        project = Project.create(journal, "replay", {**description, "seed": seed})
        with journal.together():
            for row in rows.tolist():
                serve(project, scenario, row)
        served = Instances(scenario.cutoff, schedules=project.selector.schedules)
        served.take_all(project.history())
    found = estimate_run(served, scenario.algorithms)
    assert found is not None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--aslib", type=Path)
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--selector", action="append")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--instances", type=int, default=400)
    given = parser.parse_args()
    folders = [SCENARIO] if given.aslib is None else [given.aslib / name for name in given.scenario]
    totals: dict[str, list[tuple[float, float, float, float]]] = {}
    for folder in folders:
        scenario = Scenario.read(folder)
        losses = scenario.losses()
        for selector in given.selector or SELECTORS:
            for seed in range(given.first_seed, given.first_seed + given.seeds):
                rows = shuffled(len(scenario.instances), seed)[: given.instances]
                begun = time.process_time()
                found = replayed(scenario, selector, seed, rows)
                taken = time.process_time() - begun
                truth = dict(zip(scenario.algorithms, losses[rows].mean(axis=0).tolist(), strict=True))
                some = [one for one in found.solvers if one.par10 is not None]
                holds = [
                    one.low <= truth[one.name] * (1 + 1e-9) and truth[one.name] <= one.high * (1 + 1e-9)
                    for one in some
                ]
                size = 10.0 * scenario.cutoff
                width = float(np.mean([(one.high - one.low) / size for one in some]))
                off = float(np.mean([abs((one.par10 or 0.0) - truth[one.name]) / size for one in some]))
                totals.setdefault(selector, []).append((sum(holds), len(holds), width, off))
                best = min(truth, key=truth.__getitem__)
                print(
                    f"{scenario.name} {selector} {seed}: {sum(holds)} of {len(holds)} hold; "
                    f"width {width:.2f}, off by {off:.2f}; run {found.par10:.4g} s, "
                    f"single best {truth[best]:.4g} s; {taken:.1f} s of CPU",
                    flush=True,
                )
    for selector, rows_ in totals.items():
        holds_, count, width, off = np.array(rows_).sum(axis=0)
        runs = len(rows_)
        share = f"{holds_ / count:.1%} of {int(count)} hold"
        print(f"{selector}: {share}; width {width / runs:.2f}, off by {off / runs:.2f}")


if __name__ == "__main__":
    main()
