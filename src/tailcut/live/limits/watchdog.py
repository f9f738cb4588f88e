"""The watchdog: what a thread of Tailcut's process does about a solver that stops the processes watching it.

A solver runs as the same user as its supervisor and the server, so it may stop them with SIGSTOP, trace them,
or as root freeze them. `Watchdog` resumes them. If a supervisor is stopped again and again, or its run is far
beyond its limit of wall time, the run is ended from here. A paused *solver* is none of its business.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from tailcut.live.limits import tree

if TYPE_CHECKING:
    from tailcut.live.limits.launcher import RunningProgram

TICK = 0.2
"""Seconds between two looks."""
PATIENCE = 15.0
"""Seconds that a supervisor has to end a run, from its cancellation or twice its limit of wall time on."""
_STRIKES = 3
"""Looks in a row that find a supervisor stopped, until its run is ended."""
_GAP = 1.0
"""After so many seconds without a look this process was stopped itself, as by a batch system: no strike."""


class Watchdog:
    def __init__(self) -> None:
        self._before = time.monotonic()
        self._strikes: dict[int, int] = {}

    def look(self, servers: Collection[int], runs: Collection[RunningProgram]) -> None:
        """Resume what is stopped, and end runs whose supervisors cannot be kept working."""
        now = time.monotonic()
        passed, self._before = now - self._before, now
        strikes = {}
        for server in filter(tree.is_stopped, servers):
            _resume(server)
        for supervisor in filter(tree.is_stopped, _supervisors(servers)):
            strikes[supervisor] = self._strikes.get(supervisor, 0) + (passed < _GAP)
            if strikes[supervisor] >= _STRIKES:
                _end_below(supervisor, runs)
            _resume(supervisor)
        self._strikes = strikes
        for run in runs:
            run.left = min(run.left - min(passed, _GAP), PATIENCE if run.cancelled else run.left)
            if run.left <= 0:
                _end_overdue(run, servers)


def _supervisors(servers: Collection[int]) -> list[int]:
    return [child for server in servers for child in tree.children(server)]


def _holds(process: int, inode: int) -> bool:
    with suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208
            with suppress(OSError):
                if os.readlink(f"/proc/{process}/fd/{name}") == f"socket:[{inode}]":  # noqa: PTH115
                    return True
    return False


def _end_below(supervisor: int, runs: Collection[RunningProgram]) -> None:
    """End all processes of a stopped supervisor's run; resumed, it reports what they used."""
    for run in runs:
        run.tampered |= _holds(supervisor, run.inode)
    until = time.monotonic() + PATIENCE
    while any(map(tree.is_alive, tree.below(supervisor))) and time.monotonic() < until:
        tree.kill_below(supervisor)
        time.sleep(0.005)


def _end_overdue(run: RunningProgram, servers: Collection[int]) -> None:
    """End a run that its supervisor should have ended; if nobody reports that either, with the server."""
    own = [process for process in _supervisors(servers) if _holds(process, run.inode)]
    if own and not run.tampered:
        for supervisor in own:
            _end_below(supervisor, [run])
            tree.kill(supervisor)  # the server sees that, and ends what is left
        run.left = PATIENCE
        return
    for server in [server for server in servers if _holds(server, run.inode)] or servers:
        tree.kill(server)
    run.tampered = True
    run.give_up()


def _resume(process: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGCONT)
