"""The server: a process with one thread that has loaded the solvers' modules and forks the supervisors.

A free supervisor gets the next run; there are as many as there were ever concurrent runs. A new Python
process costs tens of milliseconds before the first line of a solver, a forked one hardly any. The server also
backs the supervisors up: if one is killed, the server adopts and ends its orphans.
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
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tailcut.live.limits import cgroups, solver_process, tree, wire
from tailcut.live.limits.supervisor import NotSupervisedError, Supervisor

_GRACE = 15.0
"""Seconds that supervisors have to end their runs after Tailcut's process has ended."""


def main(control: int) -> None:
    """Serve the process at the other end of the socket `control` until it closes it or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
        wire.send(front, {"error": str(error), "clash": error.clash})
        return
    solver_process.prepare_all()
    sys.stdout.flush()  # otherwise every solver would repeat what the modules printed
    tree.flush_c_output()
    base = cgroups.make_base() if wishes["cgroups"] else None
    ForkServer(front, lifeline, base).serve(_method(base, wanted=wishes["cgroups"]))


class PreloadError(Exception):
    """A module cannot be loaded; the text says why."""

    def __init__(self, message: str, *, clash: bool) -> None:
        super().__init__(message)
        self.clash = clash
        """Whether other loaded modules may be the cause."""


def preload(modules: Sequence[str], entry: str | None = None) -> None:
    """Load the modules of entry points, for all that is forked from here; with `entry`, its own first.

    Some modules clash: one fails or crashes when another is already loaded, or changes `sys.path`, so that
    the next imports the wrong module. Then each entry point has its own server, which loads its module, and
    of the others only those that are compatible with it. This is tested in a forked process.

    >>> preload(["json", "json.decoder"])
    >>> preload(["json", "no_such_module"], entry="json")
    """
    if entry is None:
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
        raise PreloadError(f"cannot preload {module}: {error}", clash=not (alone or absent)) from error
    if sys.path != before and not alone:
        raise PreloadError(f"cannot preload {module} with others: it changes sys.path", clash=True)


def _gets_along(module: str) -> bool:
    """Return whether a module can be loaded here without affecting the others, tested in a fork."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            _load(module, alone=False)
            code = 0
        except PreloadError:
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(process, 0)[1] == 0


@dataclass
class Supervised:
    """The server's view of a supervisor."""

    process: int
    orders: socket.socket
    """The socket by which it gets its next run and reports that it is free."""
    name: str
    run: socket.socket | None
    """The supervisor's end of the run's socket, open until the run's last process is gone; None if free."""

    def release(self) -> None:
        if self.run is not None:
            self.run.close()
            self.run = None


class ForkServer:
    """The loop: assigns each incoming socket to a supervisor, and cleans up after each that ends."""

    def __init__(self, front: socket.socket, lifeline: int, base: Path | None) -> None:
        tree.adopt_orphans()
        tree.set_name("tailcut-server")
        self._front = front
        self._lifeline = lifeline
        self._base = base
        self._supervisors: dict[int, Supervised] = {}
        self._orders: dict[int, Supervised] = {}
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
                if descriptor in self._orders:
                    self._note_free(descriptor)
            for descriptor in ready:
                if descriptor in self._supervisors:
                    self._clear_away(descriptor)
            gone = self._lifeline in ready or (self._front.fileno() in ready and not self._accept())
            if gone and until == float("inf"):
                until = time.monotonic() + _GRACE
                self._poll.unregister(self._front.fileno())
                self._poll.unregister(self._lifeline)
                self._dismiss()
        tree.end(tree.kill_below)
        if self._base is not None:
            cgroups.remove_all(self._base)

    def _accept(self) -> bool:
        """Assign the incoming socket to a supervisor; return False if there will be no more."""
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
        try:
            if not self._give_to_free(run, name):
                self._fork_for(run, name)
        except OSError as error:
            with run, suppress(OSError):
                wire.send(run, {"error": f"the run was not started: no process is available: {error}"})
        return True

    def _give_to_free(self, run: socket.socket, name: str) -> bool:
        """Give the run to a free supervisor, if there is one: that is cheaper than forking."""
        for kept in self._orders.values():
            if kept.run is None:
                try:
                    socket.send_fds(kept.orders, [name.encode()], [run.fileno()])
                except OSError:
                    continue  # it was killed: the server will notice
                kept.name, kept.run = name, run
                return True
        return False

    def _fork_for(self, run: socket.socket, name: str) -> None:
        """Fork a supervisor, which begins with this run."""
        server = os.getpid()
        near, far = socket.socketpair()
        with far:
            try:
                process = os.fork()
            except OSError:
                near.close()
                raise
            if process == 0:
                near.close()
                self._supervise(run, name, far, server)
        pidfd = os.pidfd_open(process)
        self._supervisors[pidfd] = self._orders[near.fileno()] = Supervised(process, near, name, run)
        for descriptor in (pidfd, near.fileno()):
            self._poll.register(descriptor, select.POLLIN)

    def _supervise(self, run: socket.socket, name: str, orders: socket.socket, server: int) -> NoReturn:
        """Be a supervisor, of one run after the other. This runs in the forked process."""
        code = 1
        try:
            tree.adopt_orphans()
            tree.set_name("tailcut-run")
            self._front.close()
            for pidfd, kept in self._supervisors.items():
                os.close(pidfd)
                kept.orders.close()
                kept.release()
            lifelines = (self._lifeline, os.pidfd_open(server))
            following: tuple[socket.socket, str] | None = None
            if os.getppid() == server:
                following = run, name
            while following is not None:
                run, name = following
                again = Supervisor(
                    run, base=self._base, name=name, lifelines=lifelines, leave_open=self._preloaded
                ).keep()
                run.close()
                following = _next_run(orders, lifelines) if again else None
            code = 0
        except NotSupervisedError as error:
            wire.send(run, {"error": str(error)})
        except (EOFError, BrokenPipeError):
            code = 0  # the front ended before it had sent the request, or the server did
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _note_free(self, orders: int) -> None:
        """Record that a supervisor's run has ended completely, or that the supervisor has ended."""
        try:
            free = bool(self._orders[orders].orders.recv(1, socket.MSG_DONTWAIT))
        except OSError:
            free = False
        if free:
            self._orders[orders].release()
        else:
            self._poll.unregister(orders)
            del self._orders[orders]

    def _dismiss(self) -> None:
        """Send no more runs: supervisors end as soon as they are free."""
        for orders in list(self._orders):
            self._poll.unregister(orders)
            self._orders.pop(orders).orders.close()

    def _clear_away(self, pidfd: int) -> None:
        """Reap a supervisor that has ended; if it was killed, end what it left behind."""
        kept = self._supervisors.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(kept.process, 0)
        if status != 0:
            group = None if self._base is None else self._base / kept.name
            self._end_strays(group)
        kept.release()
        if self._orders.pop(kept.orders.fileno(), None) is not None:
            self._poll.unregister(kept.orders)
        kept.orders.close()

    def _end_strays(self, group: Path | None) -> None:
        """End all processes below this one that have no supervisor."""
        supervisors = {kept.process for kept in self._supervisors.values()}

        def kill_strays() -> None:
            for child in set(tree.children(os.getpid())) - supervisors:
                for process in [child, *tree.below(child)]:
                    tree.kill(process)

        if group is not None:
            cgroups.end_group(group)
        tree.end(kill_strays, spare=supervisors)
        if group is not None:
            cgroups.remove_all(group)


def _next_run(orders: socket.socket, lifelines: Collection[int]) -> tuple[socket.socket, str] | None:
    """Report that this supervisor is free and wait for its next run; None if there is none."""
    orders.send(b"f")
    poll = select.poll()
    for descriptor in (orders.fileno(), *lifelines):
        poll.register(descriptor, select.POLLIN)
    ready = [descriptor for descriptor, _ in poll.poll()]
    if ready != [orders.fileno()]:
        return None
    try:
        name, descriptors, _, _ = socket.recv_fds(orders, 64, 1)
    except ConnectionResetError:
        return None
    if not descriptors:
        return None
    os.set_inheritable(descriptors[0], False)
    return socket.socket(fileno=descriptors[0]), name.decode()


def _open_descriptors() -> set[int]:
    """Return the file descriptors of this process, those of the modules it has loaded among them."""
    found = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with suppress(OSError):  # the one that listed them
            os.fstat(int(name))
            found.add(int(name))
    return found


def _method(base: Path | None, *, wanted: bool) -> str:
    """Return in words how limits are enforced here."""
    if base is None:
        why = "no control group can be made here" if wanted else "control groups are not wanted"
        return f"process tree (adopted orphans, CPU clocks, memory looked up; {why})"
    if cgroups.has_memory(base):
        return "cgroups v2 (CPU, memory and kill)"
    return "cgroups v2 (CPU and kill; memory looked up, without the memory controller)"
