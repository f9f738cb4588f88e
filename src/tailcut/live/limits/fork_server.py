"""The server: a process with one thread that has loaded the solvers' modules and forks a supervisor per run.

A new Python process costs tens of milliseconds before the first line of a solver, a forked one hardly any.
The server also backs the supervisors up: if one is killed, the server adopts and ends its orphans.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from tailcut.live.limits import cgroups, solver_process, tree, wire
from tailcut.live.limits.supervisor import Supervisor

_GRACE = 15.0
"""Seconds that supervisors have to end their runs after Tailcut's process has ended."""


def main(control: int) -> None:
    """Serve the process at the other end of the socket `control` until it closes it or ends."""
    tree.resume_when_parent_ends()
    for number in solver_process.IGNORED:
        signal.signal(number, signal.SIG_IGN)  # it ends with Tailcut's process, which decides
    # It may be inherited as ignored, and then waiting would not work.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.set_inheritable(control, False)
    front = socket.socket(fileno=control)
    try:
        wishes, _, _ = wire.receive(front)
        lifeline = os.pidfd_open(wishes["front"])
    except (EOFError, ProcessLookupError):
        return
    try:
        preload(wishes["preload"], wishes["entry"])
    except PreloadError as error:
        reason, clash = error.args
        wire.send(front, {"error": reason, "clash": clash})
        return
    solver_process.prepare_all()
    sys.stdout.flush()  # otherwise every solver would repeat what the modules printed
    tree.flush_c_output()
    base = cgroups.make_base() if wishes["cgroups"] else None
    ForkServer(front, lifeline, base).serve(_method(base, wanted=wishes["cgroups"]))


class PreloadError(Exception):
    """A module cannot be loaded; says why, and whether other loaded modules may be the cause."""


def preload(modules: Sequence[str], entry: str = "") -> None:
    """Load the modules of entry points, for all that is forked from here.

    Some modules clash: one fails when another is already loaded, or changes `sys.path`. Then each `entry` has
    its own server, which loads its module first, and of the others those that a fork shows compatible.

    >>> preload(["json", "json.decoder"])
    >>> preload(["json", "no_such_module"], entry="json")
    """
    if not entry:
        for module in modules:
            _load(module, alone=len(modules) == 1)
        return
    _load(entry, alone=True)
    for module in modules:
        if module != entry and _gets_along(module):
            _load(module, alone=False)


def _load(module: str, *, alone: bool) -> None:
    before = list(sys.path)
    try:
        importlib.import_module(module)
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
        raise PreloadError(f"cannot preload {module}: {error}", not (alone or absent)) from error
    if sys.path != before and not alone:
        raise PreloadError(f"cannot preload {module} with others: it changes sys.path", True)


def _gets_along(module: str) -> bool:
    """Return whether a module can be loaded here without affecting the others, tested in a fork."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            with suppress(PreloadError):
                _load(module, alone=False)
                code = 0
        finally:
            os._exit(code)
    return os.waitpid(process, 0)[1] == 0


class SupervisedRun(NamedTuple):
    """The server's view of a run."""

    supervisor: int
    name: str
    run: socket.socket
    """The supervisor's end of the run's socket, open until the run's last process is gone."""


class ForkServer:
    """The loop: forks a supervisor for each incoming socket, and cleans up after each that ends."""

    def __init__(self, front: socket.socket, lifeline: int, base: Path | None) -> None:
        tree.adopt_orphans()
        tree.set_name("tailcut-server")
        self._front, self._lifeline, self._base = front, lifeline, base
        self._runs: dict[int, SupervisedRun] = {}
        """By the pidfd of the supervisor."""
        self._started = 0
        self._poll = select.poll()
        for descriptor in (front.fileno(), lifeline):
            self._poll.register(descriptor, select.POLLIN)
        self._preloaded = tree.open_descriptors() - {front.fileno(), lifeline}
        gc.collect()
        gc.freeze()  # collections in the forked processes then leave the shared pages alone

    def serve(self, method: str) -> None:
        """Fork supervisors until the front closes its end or ends; then see all of them end."""
        base = None if self._base is None else str(self._base)
        with suppress(BrokenPipeError):  # the front is gone already: the loop will notice
            wire.send(self._front, {"method": method, "base": base})
        serving = True
        while serving:
            ready = [descriptor for descriptor, _ in self._poll.poll()]
            for pidfd in self._runs.keys() & ready:
                self._clear_away(pidfd)
            serving = self._lifeline not in ready and (self._front.fileno() not in ready or self._accept())
        self._poll.unregister(self._front.fileno())
        self._poll.unregister(self._lifeline)
        for supervised in self._runs.values():
            with suppress(ProcessLookupError):
                os.kill(supervised.supervisor, signal.SIGCONT)  # its solver may have stopped it
        until = time.monotonic() + _GRACE
        while self._runs and (left := until - time.monotonic()) > 0:
            for pidfd, _ in self._poll.poll(left * 1000):
                self._clear_away(pidfd)
        tree.end(tree.kill_below)
        if self._base is not None:
            cgroups.remove_all(self._base)

    def _accept(self) -> bool:
        """Fork a supervisor for the incoming socket; return False if there will be no more."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._front, 1, 1)
        except ConnectionResetError:
            message = b""
        if not message:
            return False
        if not descriptors:
            return True  # too many are open; the front will see that its socket was closed
        os.set_inheritable(descriptors[0], False)
        run = socket.socket(fileno=descriptors[0])
        self._started += 1
        name, server = f"run-{self._started}", os.getpid()
        try:
            process = os.fork()
        except OSError as error:
            with run, suppress(OSError):
                wire.send(run, {"error": f"the run was not started: no process is available: {error}"})
            return True
        if process == 0:
            self._supervise(run, name, server)
        pidfd = os.pidfd_open(process)
        self._runs[pidfd] = SupervisedRun(process, name, run)
        self._poll.register(pidfd, select.POLLIN)
        return True

    def _supervise(self, run: socket.socket, name: str, server: int) -> NoReturn:
        """Be the supervisor of a run. This runs in the forked process."""
        code = 1
        try:
            tree.adopt_orphans()
            tree.resume_when_parent_ends()
            tree.set_name("tailcut-run")
            self._front.close()
            for pidfd, other in self._runs.items():
                os.close(pidfd)
                other.run.close()
            lifelines = (self._lifeline, os.pidfd_open(server))
            if os.getppid() == server:
                group = None if self._base is None else self._base / name
                Supervisor(run, group, lifelines, self._preloaded).keep()
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(lifelines[1], signal.SIGCONT)  # its solver may have stopped it
            code = 0
        except (EOFError, BrokenPipeError):
            code = 0  # the front ended before it had sent the request
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _clear_away(self, pidfd: int) -> None:
        """Reap a supervisor that has ended; if it was killed, end what it left behind."""
        ended = self._runs.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(ended.supervisor, 0)
        if status != 0:
            self._end_strays(None if self._base is None else self._base / ended.name)
        with ended.run, suppress(OSError):
            if os.WIFEXITED(status) and status != 0:  # a mistake or lack of something here, not the solver's
                words = "the process that watched the run failed; standard error says how"
                wire.send(ended.run, {"error": words})

    def _end_strays(self, group: Path | None) -> None:
        """End all processes below this one that have no supervisor."""
        supervisors = {run.supervisor for run in self._runs.values()}

        def kill_strays() -> None:
            for child in set(tree.children(os.getpid())) - supervisors:
                for process in [child, *tree.below(child)]:
                    tree.kill(process)

        if group is not None:
            cgroups.end_group(group)
        tree.end(kill_strays, spare=supervisors)
        if group is not None:
            cgroups.remove_all(group)


def _method(base: Path | None, *, wanted: bool) -> str:
    if base is None:
        why = "no control group can be made here" if wanted else "control groups are not wanted"
        return f"process tree (adopted orphans, CPU clocks, memory looked up; {why})"
    if cgroups.has_memory(base):
        return "cgroups v2 (CPU, memory and kill)"
    return "cgroups v2 (CPU and kill; memory looked up, without the memory controller)"
