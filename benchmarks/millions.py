"""A stream of millions: `python benchmarks/millions.py [--instances 1000000] [--selector tailcut ...]`.

Instances are made as they are served (K = 20 algorithms, d = 100 features, log-runtimes linear in the
features, three in ten runs beyond the cutoff), so that the benchmark itself needs no memory. Each selector
gets a process of its own. After each tenth: the time per instance to decide and to learn, the memory that the
process holds, and the size of the selector's state. Times are CPU times, the mean over the tenth and that of
the quickest of its hundred parts, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tailcut import Selector
from tailcut.scenarios.synthetic import generate
from tailcut.types import Array

PARTS = 1000
"""The stream is timed in so many parts."""


class Stream:
    """Feature vectors and runtimes without end, a chunk at a time."""

    def __init__(self, n_algorithms: int, n_features: int, seed: int) -> None:
        made = generate(n_instances=5000, n_algorithms=n_algorithms, n_features=n_features, seed=seed)
        self.algorithms, self.cutoff, self._theta = made.algorithms, made.cutoff, made.theta
        self._rng = np.random.default_rng(seed)

    def chunk(self, size: int) -> tuple[Array, Array]:
        """Return features (size, d) and runtimes (size, K) as `tailcut.scenarios.synthetic` makes them."""
        rng, (n_algorithms, n_features) = self._rng, self._theta.shape
        features = rng.standard_normal((size, n_features))
        features[:, 0] = 2.0
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        noise = rng.standard_normal((size, n_algorithms))
        return features, np.exp(features @ self._theta.T + noise)


def serve(selector: Selector, stream: Stream, size: int) -> float:
    """Serve `size` instances and return the CPU seconds per instance; making them does not count."""
    features, runtimes = stream.chunk(size)
    columns = {name: column for column, name in enumerate(stream.algorithms)}
    started = time.process_time()
    for row in range(size):
        decision = selector.select(features[row])
        runtime = float(runtimes[row, columns[decision.algorithm]])
        if runtime <= stream.cutoff:
            selector.observe(decision, runtime=runtime)
        else:
            selector.observe(decision, censored_at=stream.cutoff)
    return (time.process_time() - started) / size


def resident() -> float:
    """Return the MiB that this process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def rows(name: str, instances: int, n_algorithms: int, n_features: int) -> Iterator[str]:
    """Serve a stream and yield a row of the table after each tenth of it."""
    stream = Stream(n_algorithms, n_features, seed=0)
    selector = Selector(name, stream.algorithms, stream.cutoff)
    tenth = PARTS // 10
    for number in range(10):
        parts = [serve(selector, stream, instances // PARTS) for _ in range(tenth)]
        mean, best = 1e6 * float(np.mean(parts)), 1e6 * min(parts)
        served = (number + 1) * tenth * (instances // PARTS)
        state = len(selector.to_bytes()) / 2**20
        yield f"| {name} | {served} | {mean:.0f} | {best:.0f} | {resident():.1f} | {state:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=1_000_000, help="length of the stream")
    parser.add_argument("--selector", nargs="+", default=["tailcut", "thompson_rev"])
    parser.add_argument("--algorithms", type=int, default=20)
    parser.add_argument("--features", type=int, default=100)
    options = parser.parse_args()
    if len(options.selector) > 1:
        print("| selector | served | mean µs | best µs | memory, MiB | state file, MiB |")
        print("|---|---:|---:|---:|---:|---:|", flush=True)
        same = ["--instances", str(options.instances), "--algorithms", str(options.algorithms)]
        same += ["--features", str(options.features)]
        for name in options.selector:
            subprocess.run([sys.executable, __file__, "--selector", name, *same], check=True)
        return
    for row in rows(options.selector[0], options.instances, options.algorithms, options.features):
        print(row, flush=True)


if __name__ == "__main__":
    main()
