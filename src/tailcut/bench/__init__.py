"""The benchmark: replay recorded runtimes through selectors, keep the results, compare them.

plan (which cells) -> execution (missing ones, on all cores) -> store (one SQLite file) -> summary, ranks;
`benchmark` does all of it. From Python, `from tailcut import bench` is enough:

    outcome = bench.run(["tailcut", "thompson", "sbs"], seeds=3)
    outcome.to_frame()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.bench.benchmark import BenchOutcome, compare, run
    from tailcut.bench.execution import BenchProgress
    from tailcut.bench.plan import Contender
    from tailcut.bench.store import opened

_PLACES = {
    "BenchOutcome": "tailcut.bench.benchmark",
    "BenchProgress": "tailcut.bench.execution",
    "Contender": "tailcut.bench.plan",
    "compare": "tailcut.bench.benchmark",
    "opened": "tailcut.bench.store",
    "run": "tailcut.bench.benchmark",
}
"""Where each public name is defined; imported when first used."""

__all__ = ["BenchOutcome", "BenchProgress", "Contender", "compare", "opened", "run"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tailcut.bench' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_PLACES[name]), name)
    return value
