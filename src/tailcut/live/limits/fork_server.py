"""The server: a process with one thread that has loaded the solvers' modules and forks a supervisor per run.

A fresh Python process costs tens of milliseconds before the first line of a solver, a forked one hardly any.
The server also stands behind the supervisors: if one is killed, the server adopts and ends its orphans.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tailcut.live.limits import cgroups, linux, preloading, tree, wire
from tailcut.live.limits.supervisor import NotSupervisedError, Supervisor

_GRACE = 15.0
"""Seconds the supervisors have to end their runs when Tailcut's process has gone."""


def main(control: int) -> None:
    """Serve the process at the other end of the socket `control` until it closes it or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(
        signal.SIGCHLD, signal.SIG_DFL
    )  # may be inherited as ignored; then nothing could be waited for
    os.set_inheritable(control, False)
    front = socket.socket(fileno=control)
    try:
        wishes, _, _ = wire.receive(front)
        lifeline = os.pidfd_open(wishes["front"])
    except (EOFError, ProcessLookupError):
        return
    try:
        preloading.load(wishes["preload"], wishes["entry"])
    except preloading.PreloadError as error:
        wire.send(front, {"error": str(error), "clash": error.clash})
        return
    sys.stdout.flush()  # or every solver would print what the modules have printed
    linux.flush_c_output()
    base = cgroups.make_base() if wishes["cgroups"] else None
    ForkServer(front, lifeline, base).serve(_method(base, wanted=wishes["cgroups"]))


@dataclass
class Supervised:
    """A supervisor as its server knows it."""

    process: int
    name: str
    run: socket.socket
    """The supervisor's end of the run's socket: open until the run's last process is gone."""


class ForkServer:
    """The loop: fork a supervisor for each socket that comes in, clear away after each that ends."""

    def __init__(self, front: socket.socket, lifeline: int, base: Path | None) -> None:
        linux.adopt_orphans()
        linux.set_name("tailcut-server")
        self._front = front
        self._lifeline = lifeline
        self._base = base
        self._supervisors: dict[int, Supervised] = {}
        self._started = 0
        self._poll = select.poll()
        for descriptor in (front.fileno(), lifeline):
            self._poll.register(descriptor, select.POLLIN)
        self._preloaded = _open_descriptors() - {front.fileno(), lifeline}
        gc.collect()
        gc.freeze()  # collections in the forked processes then leave the shared pages alone

    def serve(self, method: str) -> None:
        """Fork supervisors until the front closes its end or ends; then see all of them end."""
        base = None if self._base is None else str(self._base)
        with suppress(BrokenPipeError):  # the front is gone already: the loop will notice
            wire.send(self._front, {"method": method, "base": base})
        until = float("inf")
        while time.monotonic() < until:
            if until < float("inf") and not self._supervisors:
                break
            wait = None if until == float("inf") else (until - time.monotonic()) * 1000
            ready = [descriptor for descriptor, _ in self._poll.poll(wait)]
            for descriptor in ready:
                if descriptor in self._supervisors:
                    self._clear_away(descriptor)
            gone = self._lifeline in ready or (self._front.fileno() in ready and not self._accept())
            if gone and until == float("inf"):
                until = time.monotonic() + _GRACE
                self._poll.unregister(self._front.fileno())
                self._poll.unregister(self._lifeline)
        tree.end(lambda: tree.Tree().kill(), lambda _process, _status: None)
        if self._base is not None:
            cgroups.remove_all(self._base)

    def _accept(self) -> bool:
        """Fork a supervisor for the socket that comes in; False if none ever will again."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._front, 1, 1)
        except ConnectionResetError:
            return False
        if not message:
            return False
        if not descriptors:
            return True  # too many are open; the front will see that its socket was closed
        os.set_inheritable(descriptors[0], False)
        run = socket.socket(fileno=descriptors[0])
        self._started += 1
        name = f"run-{self._started}"
        server = os.getpid()
        try:
            process = os.fork()
        except OSError as error:
            with run, suppress(OSError):
                wire.send(run, {"error": f"the run was not started, there is no process to be had: {error}"})
            return True
        if process == 0:
            self._keep(run, name, server)
        pidfd = os.pidfd_open(process)
        self._supervisors[pidfd] = Supervised(process, name, run)
        self._poll.register(pidfd, select.POLLIN)
        return True

    def _keep(self, run: socket.socket, name: str, server: int) -> NoReturn:
        """Be a supervisor: from here on this is another process."""
        code = 1
        try:
            linux.adopt_orphans()
            linux.set_name("tailcut-run")
            self._front.close()
            for pidfd, kept in self._supervisors.items():
                os.close(pidfd)
                kept.run.close()
            parent = os.pidfd_open(server)
            if os.getppid() == server:
                Supervisor(
                    run,
                    base=self._base,
                    name=name,
                    lifelines=(self._lifeline, parent),
                    leave_open=self._preloaded,
                ).keep()
                code = 0
        except NotSupervisedError as error:
            wire.send(run, {"error": str(error)})
        except EOFError:
            code = 0  # the front ended before it had sent the request
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _clear_away(self, pidfd: int) -> None:
        """Wait for a supervisor that has ended; if it did not end by itself, end what it has left behind."""
        kept = self._supervisors.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(kept.process, 0)
        if status != 0:
            group = None if self._base is None else self._base / kept.name
            self._end_strays(group)
        kept.run.close()

    def _end_strays(self, group: Path | None) -> None:
        """End all processes below this one that no supervisor looks after."""
        supervisors = {kept.process for kept in self._supervisors.values()}

        def kill_all() -> None:
            for process in _below_but(supervisors):
                tree.kill(process)

        if group is not None:
            cgroups.end_group(group)
        tree.end(kill_all, lambda _process, _status: None, spare=supervisors)
        if group is not None:
            cgroups.remove_all(group)


def _open_descriptors() -> set[int]:
    """Return the file descriptors of this process, those of the modules it has loaded among them."""
    found = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with suppress(OSError):  # the one that listed them
            os.fstat(int(name))
            found.add(int(name))
    return found


def _below_but(supervisors: Collection[int]) -> list[int]:
    """Return the processes below this one, without the supervisors and what is below them."""
    found: list[int] = []
    for child in tree.children(os.getpid()):
        if child not in supervisors:
            found += [child, *tree.below(child)]
    return found


def _method(base: Path | None, *, wanted: bool) -> str:
    """Say, for people, by which means the limits are kept here."""
    if base is None:
        why = "no control group can be made here" if wanted else "control groups are not wanted"
        return f"process tree (adopted orphans, CPU clocks, memory looked up; {why})"
    if cgroups.has_memory(base):
        return "cgroups v2 (CPU, memory and kill)"
    return "cgroups v2 (CPU and kill; memory looked up, for want of the memory controller)"
