"""How long `Selector.fit` takes: recorded runs of 20 algorithms on 1,000 instances with 100 features.

    python benchmarks/fit.py

Runtimes are lognormal, half of them beyond the cutoff. The last of the selectors learns run by run, the
others in bulk.
"""

from __future__ import annotations

import argparse
import time
from types import SimpleNamespace

import numpy as np

from tailcut import Selector


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--algorithms", type=int, default=20)
    parser.add_argument("--features", type=int, default=100)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    names = [f"a{k}" for k in range(given.algorithms)]
    runtimes = 60.0 * rng.lognormal(sigma=2.0, size=(given.instances, given.algorithms))
    recorded = SimpleNamespace(
        algorithms=names,
        cutoff=60.0,
        features=rng.normal(size=(given.instances, given.features)),
        runtimes=runtimes,
        solved=runtimes <= 60.0,
    )
    for name in ("tailcut", "tailcut_schedule", "bounded_thompson"):
        selector = Selector(name, names, 60.0)
        begun = time.process_time()
        learned = selector.fit(recorded)
        print(f"{name}: {learned} runs in {time.process_time() - begun:.2f} s of CPU")


if __name__ == "__main__":
    main()
