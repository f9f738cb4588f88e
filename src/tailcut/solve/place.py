"""Where the daemon of a state file is found: a socket and a lock beside the file.

The daemon holds the lock from before its start until its end: a client that finds the lock taken only waits
for the socket. Both are accessed through the folder's descriptor, because a socket's path may have only about
a hundred bytes.
"""

from __future__ import annotations

import fcntl
import os
import socket

_LONGEST = 80
"""Maximum bytes of a state file's name: the socket's name must fit after /proc/self/fd/..."""


class PlaceError(Exception):
    """The state file cannot have a daemon; the text says why."""


class Place:
    """The files beside a state file by which its daemon is found."""

    def __init__(self, state: str) -> None:
        self.state = os.path.realpath(state)
        folder, name = os.path.split(self.state)
        if len(os.fsencode(name)) > _LONGEST:
            raise PlaceError(f"{state}: the name of a state file may have {_LONGEST} bytes at most")
        self._name = f"{name}-solve"
        try:
            self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise PlaceError(f"{folder}: cannot be used for a state file: {error.strerror}") from None

    @property
    def log(self) -> str:
        return f"{self.state}-solve.log"

    @property
    def inputs(self) -> str:
        """The folder for instances that came through a pipe."""
        return f"{self.state}-solve-inputs"

    @property
    def _socket(self) -> str:
        return f"/proc/self/fd/{self._folder}/{self._name}"

    def connect(self) -> socket.socket | None:
        """Return a connection to the daemon, or None."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(self._socket)
        except OSError:
            connection.close()
            return None
        return connection

    def listen(self) -> socket.socket:
        """Return the socket to which clients connect; only the holder of the lock may call this."""
        self.remove_socket()
        listening = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)  # for its owner alone
        try:
            listening.bind(self._socket)
        finally:
            os.umask(before)
        listening.listen(1024)
        return listening

    def remove_socket(self) -> None:
        """Refuse new connections."""
        try:
            os.unlink(self._socket)
        except FileNotFoundError:
            pass

    def lock(self) -> int | None:
        """Return the descriptor of the lock, None if it is taken; closing the last copy releases it."""
        try:
            lock = os.open(
                f"{self._name}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=self._folder
            )
        except OSError as error:
            raise PlaceError(f"{self.state}-solve-lock: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock
