"""Time per decision of the core: ``make bench-core``.

Two tables. The first: one decision plus its update, through `Selector.select` and `Selector.observe`,
next to a bare product of all inverses with a vector (the least any ridge bandit must do) on the bank's
own array in the same run. Blocks of both alternate, in CPU time, and the fastest block of each counts: what
other processes on the machine add is not ours. The second: a long stream, its first tenth against its last,
and the peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import tracemalloc
from typing import Any

# One BLAS thread for both sides: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tailcut import Selector
from tailcut.models import RidgeBank
from tailcut.policies.one_pick import OnePick
from tailcut.types import Array

SIZES = [(4, 22), (11, 138), (31, 115), (10, 483)]
SELECTORS = ["thompson", "thompson_rev", "bj_thompson_rev", "blinducb", "rand_bclinucb_rev"]
CUTOFF = 100.0


class Stream:
    """Feature vectors and runtimes for K algorithms and d features, some runtimes beyond the cutoff."""

    def __init__(self, n_algorithms: int, n_features: int) -> None:
        rng = np.random.default_rng(0)
        self.algorithms = [f"a{i}" for i in range(n_algorithms)]
        self.features = rng.standard_normal((16, n_features))
        self.runtimes = rng.exponential(80.0, 16).tolist()

    def serve(self, selector: Selector, steps: int) -> float:
        """Serve `steps` instances; return seconds per decision and update."""
        started = time.process_time()
        for step in range(steps):
            decision = selector.select(self.features[step & 15])
            runtime = self.runtimes[step & 15]
            if runtime < CUTOFF:
                selector.observe(decision, runtime=runtime)
            else:
                selector.observe(decision, censored_at=CUTOFF)
        return (time.process_time() - started) / steps

    def bare(self, inverses: Array, steps: int) -> float:
        """Multiply all inverses (K d, d) with a vector; return seconds per product."""
        started = time.process_time()
        for step in range(steps):
            inverses @ self.features[step & 15]
        return (time.process_time() - started) / steps


def bank_of(selector: Selector) -> RidgeBank:
    """Return the ridge bank inside a selector that has decided at least once."""
    assert isinstance(selector._policy, OnePick)
    bank = selector._policy.parts.model
    assert isinstance(bank, RidgeBank)
    return bank


def per_decision(name: str, n_algorithms: int, n_features: int, blocks: int) -> dict[str, Any]:
    """Time one selector at one size."""
    stream = Stream(n_algorithms, n_features)
    selector = Selector(name, stream.algorithms, CUTOFF)
    stream.serve(selector, 100 + 10 * n_algorithms)
    inverses = bank_of(selector).inverse.reshape(n_algorithms * n_features, n_features)
    steps = max(20, min(1000, int(2e7 / (n_algorithms * n_features**2))))
    pairs = [(stream.bare(inverses, steps), stream.serve(selector, steps)) for _ in range(blocks)]
    bare, ours = np.min(np.array(pairs), axis=0).tolist()
    return {
        "selector": name,
        "K": n_algorithms,
        "d": n_features,
        "microseconds": ours * 1e6,
        "bare_microseconds": bare * 1e6,
        "ratio": ours / bare,
    }


def long_stream(name: str, steps: int) -> dict[str, Any]:
    """Serve a long stream; compare its first and its last tenth, in time and in memory."""
    stream = Stream(4, 22)
    selector = Selector(name, stream.algorithms, CUTOFF)
    hundredths = [stream.serve(selector, steps // 100) for _ in range(100)]
    first, last = min(hundredths[:10]), min(hundredths[-10:])
    early, late = peaks(name, stream, steps // 10)
    return {
        "selector": name,
        "steps": steps,
        "first_tenth_us": first * 1e6,
        "last_tenth_us": last * 1e6,
        "ratio": last / first,
        "early_peak_kib": early / 1024,
        "late_peak_kib": late / 1024,
    }


def peaks(name: str, stream: Stream, steps: int) -> tuple[int, int]:
    """Return the peak of allocated bytes in the second and in the last of five spans of `steps` steps.

    The first span fills the bounded memory of recent outcomes.
    """
    tracemalloc.start()
    selector = Selector(name, stream.algorithms, CUTOFF)
    measured = []
    for _ in range(5):
        tracemalloc.reset_peak()
        stream.serve(selector, steps)
        measured.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return measured[1], measured[-1]


def _print(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a table that is readable as text and as Markdown."""
    print(f"\n{title}\n")
    print("| " + " | ".join(f"{key:>18}" for key in rows[0]) + " |")
    print("|---" + "|---:" * (len(rows[0]) - 1) + "|")
    for row in rows:
        cells = (f"{v:18.2f}" if isinstance(v, float) else f"{v!s:>18}" for v in row.values())
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Run both benchmarks and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=40, help="alternating blocks per row")
    parser.add_argument("--steps", type=int, default=200_000, help="length of the long stream; 0: none")
    parser.add_argument("--selector", action="append", choices=SELECTORS, help="repeat for more")
    parser.add_argument("--features", type=int, help="only the size with so many")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args()
    sizes = [(k, d) for k, d in SIZES if options.features in (None, d)]
    names = options.selector or SELECTORS
    decisions = [per_decision(name, k, d, options.blocks) for k, d in sizes for name in names]
    in_stream = ("thompson_rev", "bj_thompson_rev", "blinducb") if options.steps else ()
    streams = [long_stream(name, options.steps) for name in in_stream]
    if options.json:
        print(json.dumps({"decisions": decisions, "streams": streams}, indent=2))
        return
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, {sys.platform}")
    _print("One decision plus its update", decisions)
    if streams:
        _print("A long stream, K = 4, d = 22", streams)


if __name__ == "__main__":
    main()
