"""The handle of one run in Tailcut's process."""

from __future__ import annotations

import math
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from tailcut.errors import LiveError
from tailcut.live.limits import wire
from tailcut.live.limits.values import Ended, Ending

_LONGEST_POLL = 3600.0


class RunningProgram:
    """A run that was started; any thread may wait for it or cancel it."""

    def __init__(self, supervisor: socket.socket, on_end: Callable[[RunningProgram], None]) -> None:
        self._supervisor = supervisor
        self._on_end = on_end
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
        with self._closing:
            if self._supervisor.fileno() >= 0:
                with suppress(OSError):  # the supervisor is gone; `wait` will say so
                    self._supervisor.send(wire.CANCEL, socket.MSG_DONTWAIT)

    def wait(self, timeout: float | None = None) -> Ended | None:
        """Return how the run ended; None if it has not after `timeout` seconds.

        Raises LiveError if there is no outcome, because a supervising process was killed.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._reading.acquire(timeout=-1 if timeout is None else max(timeout, 0)):
            return None
        try:
            if self._ended is None:
                if not self._readable(deadline):
                    return None
                try:
                    self._ended = self._receive()
                finally:  # also when interrupted: half an outcome cannot be read on
                    with self._closing:
                        self._supervisor.close()
                    self._on_end(self)
        finally:
            self._reading.release()
        if isinstance(self._ended, LiveError):
            raise self._ended
        return self._ended

    def _readable(self, deadline: float | None) -> bool:
        poll = select.poll()
        poll.register(self._supervisor, select.POLLIN)
        while True:
            left = math.inf if deadline is None else max(deadline - time.monotonic(), 0)
            if poll.poll(min(left, _LONGEST_POLL) * 1000):
                return True
            if left <= _LONGEST_POLL:
                return False

    def _receive(self) -> Ended | LiveError:
        try:
            report, output, errors = wire.receive(self._supervisor)
        except EOFError:
            return LiveError(
                "the run has no outcome: the process that watched it, or the server behind it, was killed; "
                "its processes have been ended"
            )
        except BaseException:
            self._ended = LiveError("the run's outcome is lost: reading it was interrupted")
            raise
        if "error" in report:
            return LiveError(report["error"])
        report["ending"] = Ending(report["ending"])
        return Ended(**report, output=output, errors=errors)
