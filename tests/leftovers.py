"""What is still running of the programs that tests start."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def of_session(session: int) -> list[int]:
    """Return the processes of a session that live, zombies not among them."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            state, _, _, its = stat.read_bytes().rpartition(b")")[2].split()[:4]
            if int(its) == session and state != b"Z":
                found.append(int(stat.parent.name))
    return found


def none_of_session(session: int, within: float = 5.0) -> bool:
    """Wait until nothing of a session lives; return whether that came true in time, else end what is left."""
    deadline = time.monotonic() + within
    while left := of_session(session):
        if time.monotonic() > deadline:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            return False
        time.sleep(0.05)
    return True
