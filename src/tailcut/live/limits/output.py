"""A solver's output: its beginning or end is kept, the rest is discarded without being stored."""

from __future__ import annotations

import os
from contextlib import suppress

_PIECE = 1 << 16
"""Bytes taken at a time: what a pipe holds by default."""
_MOST_IN_A_PIPE = 1 << 22
"""Bytes; more than a pipe can be made to hold without privileges."""


class Head:
    """The first `size` bytes that come out of a pipe; `truncated` says whether there were more.

    >>> reading, writing = os.pipe()
    >>> head = Head(reading, size=5)
    >>> os.write(writing, b"s SATISFIABLE")
    13
    >>> os.close(writing)
    >>> while head.take():
    ...     pass
    >>> bytes(head.kept), head.truncated
    (b's SAT', True)
    """

    def __init__(self, pipe: int, size: int) -> None:
        os.set_blocking(pipe, False)
        self.pipe = pipe
        self.kept = bytearray()
        self.truncated = False
        self._size = size
        self._nowhere = -1

    def take(self) -> int:
        """Take one piece out of the pipe, if there is one, and return its length; 0 at the end."""
        room = self._size - len(self.kept)
        if room == 0 and self.truncated:
            return self._let_go()
        piece = os.read(self.pipe, _PIECE)
        self.kept += piece[:room]
        self.truncated = self.truncated or len(piece) > room
        return len(piece)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.pipe)
        if self._nowhere >= 0:
            os.close(self._nowhere)

    def _let_go(self) -> int:
        """Discard a piece inside the kernel."""
        if self._nowhere < 0:
            self._nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            return os.splice(self.pipe, self._nowhere, 1 << 20)
        except BlockingIOError:
            raise
        except OSError:  # a system that cannot
            return len(os.read(self.pipe, _PIECE))


class Tail:
    """The last `size` bytes that come out of a pipe.

    >>> reading, writing = os.pipe()
    >>> tail = Tail(reading, size=5)
    >>> os.write(writing, b"Error: no such file")
    19
    >>> os.close(writing)
    >>> while tail.take():
    ...     pass
    >>> bytes(tail.kept)
    b' file'
    """

    def __init__(self, pipe: int, size: int) -> None:
        os.set_blocking(pipe, False)
        self.pipe = pipe
        self.kept = bytearray()
        self._size = size

    def take(self) -> int:
        """Take one piece out of the pipe, if there is one, and return its length; 0 at the end."""
        piece = os.read(self.pipe, _PIECE)
        if len(piece) >= self._size:
            self.kept[:] = piece[-self._size :]
        else:
            self.kept += piece
            del self.kept[: -self._size]
        return len(piece)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.pipe)


def take_rest(stream: Head | Tail) -> None:
    """Take what is in the pipe now; do not wait for more if another process still holds it open."""
    with suppress(BlockingIOError):
        for _ in range(_MOST_IN_A_PIPE // _PIECE):
            if stream.take() == 0:
                break
