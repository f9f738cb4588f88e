"""Programs run under limits of CPU time, wall time and memory that hold for everything they start.

    Processes (Tailcut's process) -> server (one, modules loaded once) -> keeper (one per run) -> solver

`Processes` is the door. `server` forks a keeper for each run; `keeper` forks the solver (`solver`), watches
it (`watch`) through a control group (`cgroups`) or the process tree (`tree`), keeps what it prints
(`output`), ends whatever is left of it and reports once. If any process of the chain dies, its neighbours
end the solvers. What Tailcut's process needs can be imported on every system, the rest on Linux only.
"""

from tailcut.live.limits.processes import Processes
from tailcut.live.limits.run import Run
from tailcut.live.limits.values import Call, Command, Ended, Ending, Limits

__all__ = ["Call", "Command", "Ended", "Ending", "Limits", "Processes", "Run"]
