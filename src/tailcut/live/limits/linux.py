"""The few system calls that Python's standard library lacks, and whether they are available."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

from tailcut.errors import UnsupportedSystemError

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_CPUCLOCK_SCHED = 2


def require() -> None:
    """Raise `UnsupportedSystemError` unless this system can enforce limits."""
    if not sys.platform.startswith("linux"):
        raise UnsupportedSystemError(f"running solvers under limits needs Linux, this is {sys.platform}")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        raise UnsupportedSystemError(
            "running solvers under limits needs Linux 5.3 or newer with pidfd_open"
        ) from error


def adopt_orphans() -> None:
    """Make this process the parent of all orphans among its descendants, even detached ones."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends; at once, if `parent` has ended already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def set_name(name: str) -> None:
    """Set the name under which `ps` and `top` show this process, at most 15 letters."""
    _libc().prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0)


def cpu_clock(process: int) -> float:
    """Return the CPU seconds of all threads of a process, running and ended, to the nanosecond.

    It can still be read while the process is a zombie; afterwards OSError is raised.

    >>> import os
    >>> cpu_clock(os.getpid()) > 0
    True
    """
    return time.clock_gettime((~process << 3) | _CPUCLOCK_SCHED)


def flush_c_output() -> None:
    """Flush the output buffers of the C library."""
    _libc().fflush(None)


def _prctl(option: int, value: int) -> None:
    if _libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _libc() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        _loaded = ctypes.CDLL(None, use_errno=True)
    return _loaded


_loaded: ctypes.CDLL | None = None
