"""Starts programs under limits, and the handle of each run: the entry point of this folder."""

from __future__ import annotations

import json
import logging
import math
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tailcut.errors import InputError, LiveError, UnsupportedSystemError
from tailcut.live.limits import wire
from tailcut.live.limits.values import Call, Command, Ended, Ending, ResourceLimits
from tailcut.numerics.processes import BLAS_THREADS

_SERVER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from tailcut.live.limits.fork_server import main; main(int(sys.argv[1]))"
)
_ENOUGH = 15.0
"""Seconds after which a server that does not end is killed."""
_LONGEST_POLL = 2**31 - 1
"""Milliseconds, 24 days."""
_STOPPED = "the process that watched it was stopped, and it was ended"
_KILLED = "the process that watched it, or the server behind it, was killed, and it was ended"

log = logging.getLogger("tailcut.live")


class Launcher:
    r"""Runs programs, also several at once, each under its limits, and leaves none behind.

    >>> with Launcher() as launcher:
    ...     run = launcher.start(Command(("echo", "s SATISFIABLE")), ResourceLimits(cpu=2, wall=60))
    ...     ended = run.wait()
    >>> ended.ending, ended.exit_code, ended.output
    (<Ending.FINISHED: 'finished'>, 0, b's SATISFIABLE\n')

    Nothing is started before the first run. Every method may be called by any thread.
    """

    def __init__(self, *, preload: Sequence[str] = (), cgroups: bool = True) -> None:
        """Prepare; `preload` names the modules that a `Call` then finds loaded, its own first if they clash.

        `cgroups=False` uses no control groups, even if they are available.
        """
        if isinstance(preload, str):
            raise InputError(f"preload must be a sequence of module names, got {preload!r}")
        self._preload = tuple(preload)
        self._cgroups = cgroups
        self._lock = threading.RLock()
        self._clash = False
        self._servers: dict[str, _ServerProcess] = {}
        """The one for all programs is that of the module ""; if modules clash, each of them has its own."""
        self._runs: set[RunningProgram] = set()
        self._closed = False
        self._watched = False
        """Whether the watchdog's thread runs."""

    def start(
        self, program: Command | Call, limits: ResourceLimits, *, keep_output: int = 16 * 2**20
    ) -> RunningProgram:
        """Start a program; `keep_output` bytes of its output are kept, the rest is discarded.

        A program that cannot be started is an outcome (`Ending.CRASHED`), not an error here.
        """
        if keep_output < 0:
            raise InputError(f"keep_output must be a number of bytes >= 0, got {keep_output!r}")
        request = _request(program, limits, keep_output)
        near, far = socket.socketpair()
        run = RunningProgram(near, self._forget, limits, os.fstat(far.fileno()).st_ino)
        with far:
            try:
                self._hand_over(far, program)
                far.close()
                with self._lock:
                    self._runs.add(run)
                    if not self._watched:
                        self._watched = True
                        threading.Thread(target=self._watch, name="tailcut-watchdog", daemon=True).start()
                wire.send(near, request)
            except BrokenPipeError:
                run.unread = True  # the server has just been killed; `wait` will say so
            except BaseException:
                self._forget(run)
                near.close()
                raise
        return run

    @property
    def method(self) -> str:
        """How limits are enforced on this system, in words; starts the server if necessary."""
        with self._lock:
            return self._living_server("").method

    def close(self) -> None:
        """Cancel what still runs, wait until it is gone, and end the server."""
        with self._lock:
            self._closed = True
            runs, servers = list(self._runs), list(self._servers.values())
        for run in runs:
            run.cancel()
        for run in runs:
            with suppress(LiveError):
                run.wait()
        for server in servers:
            server.end()

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hand_over(self, run: socket.socket, program: Command | Call) -> None:
        """Give the supervisor's end of a run's socket to the server, a new one if the last was killed."""
        module = program.entry.partition(":")[0] if isinstance(program, Call) else ""
        with self._lock:
            try:
                socket.send_fds(self._living_server(module).control, [b"r"], [run.fileno()])
            except (BrokenPipeError, ConnectionResetError):
                socket.send_fds(self._living_server(module).control, [b"r"], [run.fileno()])

    def _living_server(self, module: str) -> _ServerProcess:
        """Return the server for an entry point of a module, or with "" for programs of the system."""
        if self._closed:
            raise LiveError("this Launcher is closed; make a new one")
        entry = module if self._clash and module in self._preload else ""
        server = self._servers.get(entry)
        if server is not None and server.process.poll() is None:
            return server
        if server is not None:
            server.end()
        preload = () if self._clash and not entry else self._preload
        try:
            self._servers[entry] = _ServerProcess(preload, self._cgroups, entry)
        except _PreloadClashError as error:
            log.warning("modules are preloaded in separate processes: %s", error)
            self._clash = True
            return self._living_server(module)
        return self._servers[entry]

    def _forget(self, run: RunningProgram) -> None:
        with self._lock:
            self._runs.discard(run)

    def _watch(self) -> None:
        """Be the watchdog's thread, as long as there are runs."""
        from tailcut.live.limits import watchdog  # cannot be imported on other systems

        dog = watchdog.Watchdog()
        while True:
            time.sleep(watchdog.TICK)
            with self._lock:
                runs = list(self._runs)
                self._watched = bool(runs)
                servers = [one.process.pid for one in self._servers.values() if one.process.poll() is None]
            if not runs:
                return
            dog.look(servers, runs)


class RunningProgram:
    """A run that was started; any thread may wait for it or cancel it."""

    def __init__(
        self,
        supervisor: socket.socket,
        forget: Callable[[RunningProgram], None],
        limits: ResourceLimits,
        inode: int,
    ) -> None:
        self._supervisor, self._forget, self._limits = supervisor, forget, limits
        self._since = time.monotonic()
        self.unread = False
        """Whether the request was not read to its end: nothing was started."""
        self.cancelled = False
        # What the watchdog needs:
        self.inode = inode
        """That of the supervisor's end of the run's socket, by which its supervisor is found."""
        self.left = math.inf if limits.wall is None else 2 * limits.wall + _ENOUGH
        """Seconds until the watchdog ends the run."""
        self.tampered = False
        """Whether the watchdog has ended it."""
        self._reading = threading.Lock()
        self._closing = threading.Lock()
        self._ended: Ended | LiveError | None = None

    def fileno(self) -> int:
        """Return a file descriptor that can be read when the run has ended, for `select` and event loops.

        It is -1 once `wait` has returned the outcome.
        """
        return self._supervisor.fileno()

    def cancel(self) -> None:
        """End the run, if it has not ended yet; `wait` returns its outcome."""
        self.cancelled = True
        with self._closing:
            if self._supervisor.fileno() >= 0:
                with suppress(OSError):  # the supervisor is gone; `wait` will say so
                    self._supervisor.send(wire.CANCEL, socket.MSG_DONTWAIT)

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return how the run ended; None if it has not after `timeout` seconds.

        Raises LiveError if it could not be started.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._reading.acquire(timeout=-1 if timeout is None else max(timeout, 0)):
            return None
        try:
            if self._ended is None:
                if not self._readable(deadline):
                    return None
                self._ended = LiveError("the run's outcome is lost: reading it was interrupted")
                try:
                    self._ended = self._receive()
                finally:  # also when interrupted: half an outcome cannot be read on
                    with self._closing:
                        self._supervisor.close()
                    self._forget(self)
        finally:
            self._reading.release()
        if isinstance(self._ended, LiveError):
            raise self._ended
        return self._ended

    def _readable(self, deadline: float | None) -> bool:
        poll = select.poll()
        poll.register(self._supervisor, select.POLLIN)
        left = None if deadline is None else max(deadline - time.monotonic(), 0) * 1000
        return bool(poll.poll(None if left is None else min(left, _LONGEST_POLL)))

    def give_up(self) -> None:
        """Have `wait` return what is known: nobody will report the outcome."""
        with self._closing, suppress(OSError):
            self._supervisor.shutdown(socket.SHUT_RDWR)

    def _receive(self) -> Ended | LiveError:
        try:
            report, output, errors = wire.receive(self._supervisor)
        except EOFError as error:
            unread = self.unread or isinstance(error.__cause__, ConnectionResetError)
            if unread and not self.cancelled:
                return LiveError("the run was not started: the server was killed, or has too many files open")
            return self._unreported()
        if "error" in report:
            return LiveError(report["error"])
        report["ending"] = Ending(report["ending"])
        ended = Ended(**report, output=output, errors=errors)
        if self.tampered and ended.ending is Ending.CRASHED:
            return replace(ended, detail=_STOPPED, tampered=True)
        return ended

    def _unreported(self) -> Ended:
        """Return the outcome of a run whose supervisor was killed: what it used is not known."""
        wall = time.monotonic() - self._since
        return Ended(
            ending=Ending.CANCELLED if self.cancelled else Ending.CRASHED,
            signal=signal.SIGKILL,
            cpu=min(wall, self._limits.cpu or math.inf),
            wall=wall,
            detail=_KILLED,
            tampered=not self.cancelled,
        )


class _PreloadClashError(LiveError):
    """Modules cannot all be loaded in one process."""


class _ServerProcess:
    def __init__(self, preload: Sequence[str], use_cgroups: bool, entry: str) -> None:
        _require_linux()
        self.control, far = socket.socketpair()
        environment = dict.fromkeys(BLAS_THREADS, "1") | dict(os.environ)
        environment.pop("PYTHONUNBUFFERED", None)  # unbuffered printing of a model would slow the solver down
        path = json.dumps([entry or str(Path.cwd()) for entry in sys.path])
        with far:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _SERVER, str(far.fileno()), path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[far.fileno()],
                env=environment,
                start_new_session=True,  # Ctrl-C in the terminal is for Tailcut's process, which decides
            )
        self.base: Path | None = None
        wishes = {"front": os.getpid(), "preload": list(preload), "entry": entry, "cgroups": use_cgroups}
        try:
            wire.send(self.control, wishes)
            answer, _, _ = wire.receive(self.control)
        except (EOFError, BrokenPipeError) as error:
            self.end()
            kind = _PreloadClashError if not entry and len(preload) > 1 else LiveError
            raise kind("the server that starts the solvers ended before it was ready") from error
        except BaseException:
            self.process.kill()
            self.end()
            raise
        if "error" in answer:
            self.end()
            raise (_PreloadClashError if answer["clash"] else LiveError)(answer["error"])
        self.method: str = answer["method"]
        self.base = None if answer["base"] is None else Path(answer["base"])

    def end(self) -> None:
        """Close the socket, which ends the server, and wait for it; clean up if it was killed."""
        self.control.close()
        with suppress(AttributeError):  # SIGCONT, on other systems
            self.process.send_signal(signal.SIGCONT)  # a solver may have stopped it
        try:
            self.process.wait(_ENOUGH)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.base is not None and self.base.exists():
            from tailcut.live.limits.cgroups import remove_all  # cannot be imported on other systems

            remove_all(self.base)


def _require_linux() -> None:
    if not sys.platform.startswith("linux"):
        raise UnsupportedSystemError(f"running solvers under limits needs Linux, this is {sys.platform}")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        words = "running solvers under limits needs Linux 5.3 or newer with pidfd_open"
        raise UnsupportedSystemError(words) from error


def _request(program: Command | Call, limits: ResourceLimits, keep_output: int) -> dict[str, Any]:
    environment = {**os.environ, **(program.environment or {})}
    folder = str(program.folder or Path.cwd())
    request = {"limits": asdict(limits), "keep_output": keep_output, "folder": folder}
    if isinstance(program, Command):
        return {**request, "environment": environment, "argv": program.argv}
    environment = {**dict.fromkeys(BLAS_THREADS, "1"), **environment}
    return {**request, "environment": environment, "entry": program.entry, "arguments": program.arguments}
