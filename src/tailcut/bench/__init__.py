"""The benchmark: replay recorded runtimes through selectors, keep the results, compare them.

plan (which cells) -> benchmark (missing ones, on all cores) -> store (one SQLite file) -> summary, ranks.
From Python, `from tailcut import bench` is enough:

    outcome = bench.run(["tailcut", "thompson", "sbs"], seeds=3)
    outcome.to_frame()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.bench.benchmark import BenchOutcome, BenchProgress, compare, run
    from tailcut.bench.plan import Contender
    from tailcut.bench.store import opened

__all__ = ["BenchOutcome", "BenchProgress", "Contender", "compare", "opened", "run"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tailcut.bench' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module("tailcut.bench.benchmark"), name)  # slow to import
    return value
