"""Where the daemon of a state file is found: a socket and a lock beside the file.

The daemon holds the lock for its life, from before it is started: whoever wants a daemon and finds the lock
taken only waits for the socket. Both are reached through the folder's descriptor, for a socket's path may
have about a hundred bytes only.
"""

from __future__ import annotations

import fcntl
import os
import socket

_LONGEST = 80
"""Bytes that the name of a state file may have: its socket's must fit behind /proc/self/fd/..."""


class PlaceError(Exception):
    """There can be no daemon for this state file; the text says why."""


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
        """The file that gets what the daemon has to say."""
        return f"{self.state}-solve.log"

    @property
    def inputs(self) -> str:
        """The folder for instances that came through a pipe."""
        return f"{self.state}-solve-inputs"

    @property
    def _socket(self) -> str:
        return f"/proc/self/fd/{self._folder}/{self._name}"

    def connect(self) -> socket.socket | None:
        """Return a connection to the daemon, None if there is none to be had."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(self._socket)
        except OSError:
            connection.close()
            return None
        return connection

    def listen(self) -> socket.socket:
        """Return the socket to which clients connect; only who holds the lock may call this."""
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
        """Let nobody connect any more."""
        try:
            os.unlink(self._socket)
        except FileNotFoundError:
            pass

    def lock(self) -> int | None:
        """Return the descriptor of the lock, None if somebody has it; closing the last copy gives it back."""
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
