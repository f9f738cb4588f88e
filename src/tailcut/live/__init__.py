"""Live: real solvers on real instances, under limits, chosen online.

Start with stream.py (`run`, `run_stream`), then serving.py: one instance from its features to its answer, and
engine.py: the runs themselves. measure.py runs every solver on every instance, check.py tries a portfolio.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.live.stream import Callbacks, run

__all__ = ["Callbacks", "run"]


def __getattr__(name: str) -> Any:
    """Import when first used: a process that forks solvers should have loaded little."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tailcut.live.stream"), name)
