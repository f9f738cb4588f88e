"""What a favourite saves, and what it costs: the single best as favourite against free choice, in replay.

python benchmarks/favourite.py                          # a made-up stream with one nearly perfect algorithm
python benchmarks/favourite.py aslib_data/MIP-2016      # a scenario of ASlib
"""

from __future__ import annotations

import sys

import numpy as np

from tailcut import Scenario, Selector
from tailcut.bench.replay import replay
from tailcut.types import PENALTY


def one_nearly_perfect(n: int = 600, fails: float = 0.01) -> Scenario:
    """Return a stream in which one of five algorithms is fast and fails on a hundredth of the instances."""
    draw = np.random.default_rng(0)
    times = draw.lognormal(1.0, 1.2, (n, 5))
    times[:, 1:] *= 20.0
    solved = times <= 100.0
    solved[:, 0] &= draw.random(n) > fails
    names = [f"i{k}" for k in range(n)]
    runs = {
        "instance": np.repeat(names, 5).tolist(),
        "algorithm": [f"a{k}" for k in range(5)] * n,
        "runtime": times.ravel().tolist(),
        "status": np.where(solved.ravel(), "ok", "timeout").tolist(),
    }
    hint = np.log(times[:, 0]) + draw.normal(size=n)
    features = {"instance": names, "x": hint.tolist(), "y": draw.normal(size=n).tolist()}
    return Scenario.from_frames(runs, features, cutoff=100.0, name="one nearly perfect")


def cost(scenario: Scenario, selector: Selector) -> float:
    """Return the mean PAR10 of a replay, features not counted."""
    trace = replay(scenario, selector, seed=0)
    if trace.slices is None:
        return float(scenario.losses(PENALTY)[trace.order, trace.choices].mean())
    paid = np.where(trace.slices.solved, trace.slices.total, PENALTY * scenario.cutoff)
    return float(paid.mean())


def main() -> None:
    """Print nPAR10 (0: the best for each instance, 1: the single best) without and with a favourite."""
    for scenario in [Scenario.read(one) for one in sys.argv[1:]] or [one_nearly_perfect()]:
        losses = scenario.losses(PENALTY)
        best = int(losses.mean(axis=0).argmin())
        single, ideal = losses[:, best].mean(), losses.min(axis=1).mean()
        for name in ("tailcut", "tailcut_schedule"):
            free = Selector(name, scenario.algorithms, scenario.cutoff)
            guarded = Selector(
                name, scenario.algorithms, scenario.cutoff, favourite=scenario.algorithms[best]
            )
            shown = [(cost(scenario, one) - ideal) / (single - ideal) for one in (free, guarded)]
            print(
                f"{scenario.name}: {name}: free {shown[0]:.2f}, with a favourite {shown[1]:.2f}", flush=True
            )


if __name__ == "__main__":
    main()
