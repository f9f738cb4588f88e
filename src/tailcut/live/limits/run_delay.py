"""How long the processes of a run were ready but had no processor, as opposed to sleeping."""

from __future__ import annotations

import os
from contextlib import suppress

from tailcut.live.limits.tree import below


class RunDelay:
    """The time that the threads below this process waited for a processor, as the kernel counts it.

    The last wait of a thread that ends between two samples is lost, so the sum is never too high.
    """

    def __init__(self) -> None:
        self._by_thread: dict[int, int] = {}

    def look(self) -> float:
        """Return the seconds so far, summed over all threads that were ever seen."""
        for process in below(os.getpid()):
            with suppress(OSError):  # ended since it was listed
                for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208 - pathlib is slow
                    self._by_thread[int(thread)] = _nanoseconds(process, thread)
        return sum(self._by_thread.values()) / 1e9


def _nanoseconds(process: int, thread: str) -> int:
    """Return the second field of schedstat: the time spent waiting on a run queue."""
    with open(f"/proc/{process}/task/{thread}/schedstat", "rb", buffering=0) as file:  # noqa: PTH123
        return int(file.read().split()[1])
