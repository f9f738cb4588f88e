"""Messages over a socket: a JSON object and two strings of bytes, each with its length before it."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTHS = struct.Struct("!QQQ")

CANCEL = b"c"
"""What Tailcut's process writes to a run's socket, after the request, to have the run ended."""


def send(to: socket.socket, message: dict[str, Any], first: bytes = b"", second: bytes = b"") -> None:
    """Send one message; strings may hold what `os.fsdecode` makes of undecodable bytes."""
    text = json.dumps(message).encode()
    to.sendall(_LENGTHS.pack(len(text), len(first), len(second)) + text)
    for part in (first, second):
        if part:  # the other side may be gone once it has received everything
            to.sendall(part)


def receive(source: socket.socket) -> tuple[dict[str, Any], bytes, bytes]:
    """Wait for one message; EOFError if the other side ends before it is complete.

    The error's cause is ConnectionResetError if the other side has not read all that was sent to it.

    >>> near, far = socket.socketpair()
    >>> send(near, {"ending": "finished"}, b"s SATISFIABLE")
    >>> receive(far)
    ({'ending': 'finished'}, b's SATISFIABLE', b'')
    >>> near.close()
    >>> receive(far)
    Traceback (most recent call last):
        ...
    EOFError
    >>> far.close()
    """
    lengths = _LENGTHS.unpack(_exactly(source, _LENGTHS.size))
    text, first, second = (_exactly(source, length) for length in lengths)
    message: dict[str, Any] = json.loads(text)
    return message, first, second


def _exactly(source: socket.socket, length: int) -> bytes:
    buffer = bytearray(length)
    view = memoryview(buffer)
    while view:
        try:
            got = source.recv_into(view)
        except ConnectionResetError as error:
            raise EOFError from error
        if got == 0:
            raise EOFError
        view = view[got:]
    return bytes(buffer)
