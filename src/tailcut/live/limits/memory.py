"""How much physical memory processes hold, read from /proc."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_HELD = re.compile(rb"^(VmHWM|VmRSS|VmSwap):\s+(\d+) kB", re.MULTILINE)
_SHARE = re.compile(rb"^(?:Pss|SwapPss):\s+(\d+) kB", re.MULTILINE)


class Held(NamedTuple):
    """Bytes held by some processes."""

    now: int
    """In memory or swapped out, summed; what two processes share is counted twice."""
    peak: int
    """The most that any single one of them ever held in memory."""


def held(processes: Iterable[int]) -> Held:
    """Return the memory of the processes; those that have ended hold none.

    >>> import os
    >>> 0 < held([os.getpid()]).now <= held([os.getpid(), os.getpid()]).now
    True
    """
    now = peak = 0
    for process in processes:
        amounts = {name: int(amount) for name, amount in _HELD.findall(_read(process, "status"))}
        now += amounts.get(b"VmRSS", 0) + amounts.get(b"VmSwap", 0)
        peak = max(peak, amounts.get(b"VmHWM", 0))
    return Held(now * 1024, peak * 1024)


def share(processes: Iterable[int]) -> int:
    """Return the bytes the processes hold, a page that n processes share counted as 1/n; this is slow.

    Where the system does not say (a program that runs as another user), shared pages count in full.

    >>> import os
    >>> 0 < share([os.getpid()])
    True
    """
    total = 0
    for process in processes:
        amounts = _SHARE.findall(_read(process, "smaps_rollup"))
        total += sum(map(int, amounts)) * 1024 if amounts else held([process]).now
    return total


def _read(process: int, name: str) -> bytes:
    try:
        with open(f"/proc/{process}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - often called
            return file.read()
    except OSError:
        return b""
