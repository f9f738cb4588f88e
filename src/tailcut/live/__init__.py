"""Live: real solvers on real instances, under limits, chosen online.

running_stream.py  `tailcut.live.run`: the whole for programs of your own
stream.py      start reading here: a stream of instances, run or continued (`run_stream`)
measure.py     every solver on every instance, as a scenario (`measure_scenario`)
preparation.py what precedes a stream: a warm start, and measure_first.py: instances run with every solver
check.py       whether the solvers of a portfolio work (`check_portfolio`)

portfolio.py   which solvers there are: a TOML file, with what a domain adds
instances.py   which files there are to solve, and content.py: whether they are still the same
installed.py   whether what the solvers need of Python is there
engine.py      one instance from its features to its answer, every step in the journal
jobs.py        the programs to run, and outcomes.py: what their endings mean
workflows.py   many of them at once, on this machine (local_executor.py) or on a cluster
limits/        programs run under limits of CPU time, wall time and memory
observer.py    how a program hears what happens; totals.py counts it
costs.py       what a stream cost, and what single solvers would have cost
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.live.running_stream import Callbacks, run

_HOMES = {"Callbacks": "tailcut.live.running_stream", "run": "tailcut.live.running_stream"}
"""Imported when first used: a process that forks solvers should have loaded little."""

__all__ = ["Callbacks", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found
