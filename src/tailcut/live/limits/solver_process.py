"""The solver's own process, from the fork until the program or the function is entered."""

from __future__ import annotations

import errno
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, NoReturn

from tailcut.live.limits.cgroups import Group
from tailcut.live.limits.linux import die_with_parent, flush_c_output, set_name

EntryPoint = Callable[[list[str]], int | None]


class NotStartedError(Exception):
    """The program cannot be started; the text says why."""


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

    One line of JSON is written to the pipe `report` when all is ready: the CPU seconds since the fork and
    since the process joined its group, the time, and the memory. They are not the solver's. A second line
    follows if it could not be started after all; then, or when it is entered, the pipe is closed.
    """
    code = 1
    try:
        die_with_parent(supervisor)
        joined = 0.0
        if group is not None:
            joined = time.process_time()
            group.join()
        _settle(request, streams, {report, *leave_open})
        if "argv" in request:
            _tell_entered(report, joined)
            _execute(request["argv"], request["environment"])
        set_name("tailcut-solver")
        function = _function(request["entry"])
        _tell_entered(report, joined)
        os.close(report)
        code = _call(function, request["arguments"])
    except NotStartedError as error:
        os.write(report, json.dumps({"failed": str(error)}).encode()[:4000] + b"\n")
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _settle(request: dict[str, Any], streams: tuple[int, int], leave_open: Collection[int]) -> None:
    """Give the process its own session, streams, folder and environment, and the usual signals."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *streams)):
        os.dup2(descriptor, number)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > 2 and int(name) not in leave_open:
            with suppress(OSError):  # the one that listed them
                os.close(int(name))
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")  # if the whole system runs out of memory, solvers go first
    try:
        os.chdir(request["folder"])
    except OSError as error:
        raise NotStartedError(f"cannot run in the folder {request['folder']}: {error.strerror}") from error
    if "entry" in request:
        os.environ.clear()
        os.environ.update(request["environment"])


def _tell_entered(report: int, joined: float) -> None:
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = time.process_time()
    line = {"entered": [spent, spent - joined, time.monotonic(), resident]}
    os.write(report, json.dumps(line).encode() + b"\n")


def _execute(argv: list[str], environment: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        missing = "no such program" if shutil.which(argv[0]) is None else "the interpreter is missing of"
        reasons = {
            errno.ENOENT: f"{missing}: {argv[0]}",
            errno.EACCES: f"not executable: {argv[0]}",
            errno.ENOEXEC: f"not a program, and a script without '#!' in its first line: {argv[0]}",
        }
        reason = reasons.get(error.errno or 0, f"cannot start {argv[0]}: {error.strerror}")
        raise NotStartedError(reason) from error


def _function(entry: str) -> EntryPoint:
    """Find the function; a module that was not preloaded is imported now."""
    module, _, path = entry.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise NotStartedError(f"cannot import {entry}: {error}") from error
    function: EntryPoint = found
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
