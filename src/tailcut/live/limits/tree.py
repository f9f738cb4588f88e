"""The processes below this one: their CPU time, their memory, and an end to all of them.

This process must have called `adopt_orphans`: then whatever a solver starts stays below it, even what has
detached itself. This works for every user on every Linux; `cgroups` does the same at less cost. The system
calls that Python's standard library lacks are here too.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_CPUCLOCK_SCHED = 2
_TICKS = os.sysconf("SC_CLK_TCK")
_HAS_CHILDREN_FILES = Path(f"/proc/self/task/{os.getpid()}/children").exists()  # CONFIG_PROC_CHILDREN
_HELD = re.compile(rb"^(VmHWM|VmRSS|VmSwap|RssShmem):\s+(\d+) kB", re.MULTILINE)
_SHARE = re.compile(rb"^(Pss|SwapPss|Pss_Shmem):\s+(\d+) kB", re.MULTILINE)
_SHARED_MEMORY = ("/memfd:", "/dev/shm/")
_PATIENCE = 10.0
"""Seconds after which processes that do not die are given up: another user's, or stuck in the kernel."""

_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Make this process the parent of all orphans among its descendants, even detached ones."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends; at once, if `parent` has ended already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def resume_when_parent_ends() -> None:
    """Have this process resumed, if it is stopped, when its parent ends (or the thread that started it)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


def set_name(name: str) -> None:
    """Set the name under which `ps` and `top` show this process, at most 15 letters."""
    _libc.prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def flush_c_output() -> None:
    _libc.fflush(None)


def below(parent: int) -> Iterator[int]:
    """Yield the descendants of a process, each before its children are looked up."""
    seen = {parent}
    waiting = children(parent)
    while waiting:
        process = waiting.pop()
        if process not in seen:
            seen.add(process)
            yield process
            waiting.extend(children(process))


def children(parent: int) -> list[int]:
    """Return the processes whose parent is `parent` now, zombies too; as some end, others may be missed."""
    if not _HAS_CHILDREN_FILES:
        return _children_by_search(parent)
    found: list[int] = []
    with suppress(OSError):  # the process has ended
        for thread in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - pathlib is slow, and this is often called
            with suppress(OSError):  # the thread has ended; its children are another thread's now
                found.extend(map(int, _read(f"{parent}/task/{thread}/children").split()))
    return found


def _children_by_search(parent: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        with suppress(OSError):
            if name.isdigit() and int(_stat(int(name))[1]) == parent:
                found.append(int(name))
    return found


def _read(file: str) -> bytes:
    with open(f"/proc/{file}", "rb", buffering=0) as opened:  # noqa: PTH123 - often called
        return opened.read()


def _stat(process: int) -> list[bytes]:
    """Return the fields of /proc/N/stat from the third on; the second, a name, may hold spaces."""
    return _read(f"{process}/stat").rpartition(b")")[2].split()


def open_descriptors() -> set[int]:
    found = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with suppress(OSError):  # the one that listed them
            os.fstat(int(name))
            found.add(int(name))
    return found


def _state(process: int) -> bytes:
    """Return the letter of a process's state, X if it does not exist."""
    try:
        return _stat(process)[0]
    except OSError:
        return b"X"


def is_alive(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    return _state(process) not in (b"Z", b"X")


def is_stopped(process: int) -> bool:
    """Return whether a process was stopped by a signal or by a tracer."""
    return _state(process) in (b"T", b"t")


def cpu_clock(process: int) -> float:
    """Return the CPU seconds of all threads of a process, running and ended; OSError once it was waited for.

    >>> import os
    >>> cpu_clock(os.getpid()) > 0
    True
    """
    return time.clock_gettime((~process << 3) | _CPUCLOCK_SCHED)


def _waited_for(process: int) -> float:
    """Return the CPU seconds of the children a process has waited for, in whole ticks, rounded down."""
    fields = _stat(process)
    return (int(fields[13]) + int(fields[14])) / _TICKS


def _cpu_of_reaped() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class TreeClock:
    """The CPU time of all processes below this one, and how long they waited for a processor."""

    def __init__(self) -> None:
        self._before = _cpu_of_reaped()
        self._cpu = 0.0
        self._delays: dict[int, int] = {}
        """Thread -> the nanoseconds it was ready but had no processor."""

    def cpu(self) -> float:
        """Return the CPU seconds used so far: never too high, and never less than before.

        Parents are read before their children: a child that ends in between is missed this time, but no
        second is counted twice, once by its own clock and once as its parent's.
        """
        total = _cpu_of_reaped() - self._before
        for process in below(os.getpid()):
            with suppress(OSError):  # ended since it was listed
                total += _waited_for(process) + cpu_clock(process)
        self._cpu = max(self._cpu, total)
        return self._cpu

    def waited(self) -> float:
        """Return the seconds that threads were ready but had no processor, as opposed to sleeping.

        The last wait of a thread that ends between two samples is lost, so the sum is never too high.
        """
        for process in below(os.getpid()):
            with suppress(OSError):  # ended since it was listed
                for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208 - pathlib is slow
                    schedstat = _read(f"{process}/task/{thread}/schedstat")
                    self._delays[int(thread)] = int(schedstat.split()[1])  # time spent on a run queue
        return sum(self._delays.values()) / 1e9


class Held(NamedTuple):
    """Bytes held by some processes."""

    now: int
    """In memory or swapped out, summed; what two processes share is counted twice."""
    peak: int
    """The most that any single one of them ever held in memory."""
    shared: int
    """Of `now`, what belongs to mapped files in memory."""


def memory_held(processes: Iterable[int]) -> Held:
    """Return the memory of the processes; those that have ended hold none.

    >>> import os
    >>> 0 < memory_held([os.getpid()]).now <= memory_held([os.getpid(), os.getpid()]).now
    True
    """
    now = peak = shared = 0
    for process in processes:
        with suppress(OSError):
            amounts = {name: int(amount) for name, amount in _HELD.findall(_read(f"{process}/status"))}
            now += amounts.get(b"VmRSS", 0) + amounts.get(b"VmSwap", 0)
            peak = max(peak, amounts.get(b"VmHWM", 0))
            shared += amounts.get(b"RssShmem", 0)
    return Held(now * 1024, peak * 1024, shared * 1024)


def memory_share(processes: Iterable[int]) -> Held:
    """Return the bytes the processes hold, a page that n processes share counted as 1/n; this is slow.

    Where the system does not say (a program that runs as another user), shared pages count in full.

    >>> import os
    >>> 0 < memory_share([os.getpid()]).now
    True
    """
    now = shared = 0
    for process in processes:
        amounts: dict[bytes, int] = {}
        with suppress(OSError):
            found = _SHARE.findall(_read(f"{process}/smaps_rollup"))
            amounts = {name: int(amount) * 1024 for name, amount in found}
        held = None if amounts else memory_held([process])
        shared += amounts.pop(b"Pss_Shmem", 0) if held is None else held.shared
        now += sum(amounts.values()) if held is None else held.now
    return Held(now, 0, shared)


def files_in_memory(processes: Iterable[int], *, but: Collection[str] = ()) -> int:
    """Return the bytes of the memfds and files in /dev/shm, except `but`, that processes hold open."""
    sizes = {}
    for process in processes:
        with suppress(OSError):  # ended, or another user's
            for name in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208 - pathlib is slow
                link = f"/proc/{process}/fd/{name}"
                with suppress(OSError):
                    if (path := os.readlink(link)).startswith(_SHARED_MEMORY) and path not in but:  # noqa: PTH115
                        status = os.stat(link)  # noqa: PTH116
                        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


def kill(process: int) -> None:
    """Send SIGKILL; not an error if the process is gone, or not ours to kill."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)


def kill_below(parent: int | None = None) -> None:
    """Send SIGKILL to every process that is below `parent`, as a rule this one, now."""
    for process in below(os.getpid() if parent is None else parent):
        kill(process)


Note = Callable[[int, int, int], object]
"""Takes a child that has ended and was waited for: the process, its wait status, and the KiB that it, or one
of those it had waited for, held at most."""


def _reap(child: int, note: Note) -> bool:
    """Wait for a child, -1 for any, if it has ended; return whether it had."""
    process, status, used = os.wait4(child, os.WNOHANG)
    if process != 0:
        note(process, status, used.ru_maxrss)
    return process != 0


def reap(note: Note, *, spare: Collection[int] = ()) -> int:
    """Reap each child that has ended. Return how many are left."""
    return sum(not _reap(child, note) for child in children(os.getpid()) if child not in spare)


def _reap_all(note: Note) -> bool:
    """Reap each child that has ended; return whether any is left, according to the kernel."""
    try:
        while _reap(-1, note):
            pass
    except ChildProcessError:
        return False
    return True


def end(
    kill_all: Callable[[], None],
    note: Note = lambda *_: None,
    *,
    spare: Collection[int] = (),
) -> list[int]:
    """Kill until no child but those in `spare` is left. Return those that could not be ended, none as a rule.

    When a process dies, its children become ours, so having no children means that nothing is left.
    """
    pause = 0.0002
    deadline = time.monotonic() + _PATIENCE
    while reap(note, spare=spare) if spare else _reap_all(note):
        if time.monotonic() > deadline:
            return [child for child in children(os.getpid()) if child not in spare]
        kill_all()
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    return []
