"""The solver's own process, from the fork until the program or function is entered, and its report."""

from __future__ import annotations

import errno
import importlib
import json
import operator
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, NoReturn

from tailcut.live.limits.cgroups import Group
from tailcut.live.limits.tree import die_with_parent, flush_c_output, open_descriptors, set_name

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that the server and the supervisors ignore, but solvers do not."""

EntryPoint = Callable[[list[str]], int | None]


class NotStartedError(Exception):
    """The program cannot be started; the text says why."""


class StartUp:
    """What the solver's process reports of its start-up: everything before the solver is entered."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self.pipe = pipe
        self.since_fork = self.since_joining = 0.0
        """CPU seconds that belong to the start-up: by the clock of the tree, by that of the group."""
        self.time = time.monotonic()
        self.resident = 0
        """The most memory, in KiB, that the process had held when it was entered."""
        self.entered = self.over = False
        """Whether it is about to be entered; and whether nothing more will be reported."""
        self.failure, self._text = "", b""

    def read(self) -> None:
        """Read what has been reported since."""
        try:
            piece = os.read(self.pipe, 1 << 16)
        except BlockingIOError:
            return
        self.over = not piece
        *lines, self._text = (self._text + piece).split(b"\n")
        for line in lines:
            report = json.loads(line)
            self.failure = report.get("failed", "")
            if "entered" in report:
                self.since_fork, self.since_joining, self.time, self.resident = report["entered"]
                self.entered = True


def become(
    request: dict[str, Any],
    *,
    supervisor: int,
    group: Group | None,
    streams: tuple[int, int],
    report: int,
    leave_open: Collection[int],
) -> NoReturn:
    """Turn this forked process into the solver.

    When all is ready, a line of JSON in the pipe `report` says what does not count as the solver's; a second
    line follows if it could not be started after all. Then, or when it is entered, the pipe is closed.
    """
    code = 1
    try:
        die_with_parent(supervisor)
        joined = 0.0
        if group is not None:
            joined = time.process_time()
            group.join()
        _settle(request["folder"], streams)
        if "argv" in request:  # these descriptors close themselves then
            _report_entered(report, joined)
            _execute(request["argv"], request["environment"])
        set_name("tailcut-solver")
        for descriptor in open_descriptors() - {0, 1, 2, report, *leave_open}:
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(request["environment"])
        function = _function(request["entry"])
        _report_entered(report, joined)
        os.close(report)
        code = _call(function, request["arguments"])
    except NotStartedError as error:
        os.write(report, json.dumps({"failed": str(error)}).encode()[:4000] + b"\n")
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def prepare_all() -> None:
    """Set the initial state of solvers, for this process and all that it forks."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _settle(folder: str, streams: tuple[int, int]) -> None:
    """Set session, streams, folder and signals, with little of Python: written pages must be copied first."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *streams)):
        os.dup2(descriptor, number)
    for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    with suppress(OSError):
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, b"1000")  # if the whole system runs out of memory, solvers are killed first
        os.close(score)
    try:
        os.chdir(folder)
    except OSError as error:
        raise NotStartedError(f"cannot run in the folder {folder}: {error.strerror}") from error


def _report_entered(report: int, joined: float) -> None:
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = time.process_time()
    line = f'{{"entered": [{spent}, {spent - joined}, {time.monotonic()}, {resident}]}}\n'
    os.write(report, line.encode())


def _execute(argv: list[str], environment: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        raise NotStartedError(_why_not(argv[0], error)) from error


def _why_not(program: str, error: OSError) -> str:
    import shutil  # imported late: it loads much, and every fork would pay for that

    missing = "no such program" if shutil.which(program) is None else "missing interpreter of"
    reasons = {
        errno.ENOENT: f"{missing}: {program}",
        errno.EACCES: f"not executable: {program}",
        errno.ENOEXEC: f"not a program, and a script without '#!' in its first line: {program}",
    }
    return reasons.get(error.errno or 0, f"cannot start {program}: {error.strerror}")


def _function(entry: str) -> EntryPoint:
    module, _, path = entry.partition(":")
    try:
        function: EntryPoint = operator.attrgetter(path)(importlib.import_module(module))
    except Exception as error:
        raise NotStartedError(f"cannot import {entry}: {error}") from error
    return function


def _call(function: EntryPoint, arguments: list[str]) -> int:
    """Call it as a program and return the exit code, as the interpreter would have."""
    try:
        code: object = function(arguments)
    except SystemExit as request:
        code = request.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed by the function, or nobody reads
            stream.flush()
    flush_c_output()
    return (code or 0) & 0xFF
