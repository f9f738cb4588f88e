"""Programs run under limits on CPU time, wall time and memory that cover everything they start.

    Launcher (Tailcut's process) -> fork server (one) -> supervisor (one per run) -> solver

`Launcher` is the entry point. The server (`fork_server`) has the solvers' modules loaded and assigns each
run to a supervisor, which it forks if none is free. The `supervisor` forks the solver (`solver_process`),
watches it through a control group (`cgroups`) or the process tree (`tree`), keeps its output, ends whatever
is left of it and reports once. If any process of the chain dies, its neighbours end the solvers; if a
solver stops one, the `watchdog` in Tailcut's process resumes it. What Tailcut's process needs can be
imported on every system, the rest on Linux only.
"""

from typing import TYPE_CHECKING, Any

from tailcut.live.limits.values import Call, Command, Ended, Ending, ResourceLimits

if TYPE_CHECKING:
    from tailcut.live.limits.launcher import Launcher, RunningProgram

__all__ = ["Call", "Command", "Ended", "Ending", "Launcher", "ResourceLimits", "RunningProgram"]


def __getattr__(name: str) -> Any:
    """Import the launcher when it is first used.

    The server forks twice per run, and every module that it has not loaded, threads above all, is memory that
    no fork has to copy.
    """
    if name not in ("Launcher", "RunningProgram"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tailcut.live.limits import launcher

    return getattr(launcher, name)
