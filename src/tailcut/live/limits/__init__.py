"""Programs run under limits of CPU time, wall time and memory that hold for everything they start.

    Launcher (Tailcut's process) -> fork server (one) -> supervisor (one per run) -> solver

`Launcher` is the way in. The server (`fork_server`) has the solvers' modules loaded and forks a supervisor
for each run. The `supervisor` forks the solver (`solver_process`), watches it (`watch`) through a control
group (`cgroups`) or the process tree (`tree`), keeps what it prints (`output`), ends whatever is left of it
and reports once. If any process of the chain dies, its neighbours end the solvers. What Tailcut's process
needs can be imported on every system, the rest on Linux only.
"""

from tailcut.live.limits.launcher import Launcher
from tailcut.live.limits.running_program import RunningProgram
from tailcut.live.limits.values import Call, Command, Ended, Ending, ResourceLimits

__all__ = ["Call", "Command", "Ended", "Ending", "Launcher", "ResourceLimits", "RunningProgram"]
