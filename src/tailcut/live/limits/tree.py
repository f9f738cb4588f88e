"""The processes below this one: their CPU time, and an end to all of them.

This process must have called `linux.adopt_orphans`: then whatever a solver starts stays below it, even a
process that detaches itself from its parent, its session and its terminal. Nothing else is needed, so this
works for every user on every Linux. `cgroups` does the same at less cost.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tailcut.live.limits.linux import cpu_clock

_TICKS = os.sysconf("SC_CLK_TCK")
_HAS_CHILDREN_FILES = Path(f"/proc/self/task/{os.getpid()}/children").exists()  # CONFIG_PROC_CHILDREN
_PATIENCE = 10.0
"""Seconds after which processes that do not die are given up: another user's, or stuck in the kernel."""


class Tree:
    """All processes below this one, with a common CPU clock."""

    def __init__(self) -> None:
        self._before = _cpu_of_reaped()
        self._read = 0.0

    def processes(self) -> list[int]:
        """Return the current processes, parents before their children."""
        return list(below(os.getpid()))

    def processes_gone(self, processes: list[int]) -> list[int]:
        """Return those that have ended since: they hold nothing, and are in no group."""
        return [process for process in processes if not is_alive(process)]

    def cpu(self) -> float:
        """Return the CPU seconds used so far: never too high, and never less than before.

        Parents are read before their children: a child that ends in between is missed this time, but no
        second is counted twice, once by its own clock and once as its parent's.
        """
        total = _cpu_of_reaped() - self._before
        for process in below(os.getpid()):
            try:
                total += _waited_for(process) + cpu_clock(process)
            except OSError:
                continue  # ended since it was listed
        self._read = max(self._read, total)
        return self._read

    def kill(self) -> None:
        """Send SIGKILL to every process there is now."""
        for process in below(os.getpid()):
            kill(process)


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
            with (
                suppress(OSError),  # the thread has ended; its children are another thread's now
                open(f"/proc/{parent}/task/{thread}/children", "rb", buffering=0) as file,  # noqa: PTH123
            ):
                found.extend(map(int, file.read().split()))
    return found


def _children_by_search(parent: int) -> list[int]:
    """Return the children of a process by asking every process for its parent."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                if int(_stat(int(name))[1]) == parent:
                    found.append(int(name))
            except OSError:
                continue
    return found


def _waited_for(process: int) -> float:
    """Return the CPU seconds of the children a process has waited for, in whole ticks, rounded down."""
    fields = _stat(process)
    return (int(fields[13]) + int(fields[14])) / _TICKS


def _stat(process: int) -> list[bytes]:
    """Return the fields of /proc/N/stat from the third on; the second, a name, may hold spaces."""
    with open(f"/proc/{process}/stat", "rb", buffering=0) as file:  # noqa: PTH123
        return file.read().rpartition(b")")[2].split()


def is_alive(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return _stat(process)[0] not in (b"Z", b"X")
    except OSError:
        return False


def kill(process: int) -> None:
    """Send SIGKILL; not an error if the process is gone, or not ours to kill."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)


class Reaped(NamedTuple):
    """A child that has ended and was waited for."""

    process: int
    status: int
    """The wait status."""
    peak: int
    """KiB that it, or one of those it had waited for, held at most."""


def _reap(child: int) -> Reaped | None:
    """Wait for a child, -1 for any, if it has ended."""
    process, status, used = os.wait4(child, os.WNOHANG)
    return None if process == 0 else Reaped(process, status, used.ru_maxrss)


def _cpu_of_reaped() -> float:
    """Return the CPU seconds of all children this process has waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def reap(note: Callable[[Reaped], None], *, spare: Collection[int] = ()) -> int:
    """Reap each child that has ended. Return how many are left."""
    left = 0
    for child in children(os.getpid()):
        if child not in spare:
            reaped = _reap(child)
            if reaped is None:
                left += 1
            else:
                note(reaped)
    return left


def _reap_all(note: Callable[[Reaped], None]) -> bool:
    """Reap each child that has ended; return whether any is left, according to the kernel."""
    try:
        while (reaped := _reap(-1)) is not None:
            note(reaped)
    except ChildProcessError:
        return False
    return True


def end(
    kill_all: Callable[[], None], note: Callable[[Reaped], None], *, spare: Collection[int] = ()
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
