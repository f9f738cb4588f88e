"""What a call of ``tailcut solve`` runs: it asks the daemon and passes the answer on.

It imports almost nothing, so that a call costs almost nothing. If the daemon is killed meanwhile, the next
one is asked with the same key, so that nothing is decided or learned twice (docs/howto/solve.md).
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import stat
import struct
import sys
import time
from types import FrameType
from typing import Any, NoReturn

from tailcut.live.limits import wire

_ATTEMPTS = 5
"""The maximum number of daemons that may die during one call."""
_START = 120.0
"""Seconds within which a daemon must be ready."""
SILENCE = 60.0
"""Seconds after which the other side is given up if nothing comes from it, or it takes nothing."""
_FAREWELL = 5.0
"""Seconds that the daemon has to end a solver after Ctrl-C."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST = 80
"""Maximum bytes of a state file's name: the socket's name must fit after /proc/self/fd/..."""
_DAEMON = "tailcut.solve.daemon"
_CREDENTIALS = struct.Struct("iII")
WRONG_CALL = 2

Call = dict[str, Any]
"""The options of a call by name; `file` is None for standard input."""


class RefusedError(Exception):
    """The call failed; the text says why."""


class Place:
    """Where the daemon of a state file is found: a socket and a lock beside the file.

    The daemon holds the lock from before its start until its end: a client that finds the lock taken only
    waits for the socket. Both are accessed through the folder's descriptor, because a socket's path may have
    only about a hundred bytes. Nothing is believed, or written to, that another user may have put there.
    """

    def __init__(self, state: str) -> None:
        self.state = os.path.realpath(state)
        folder, name = os.path.split(self.state)
        if len(os.fsencode(name)) > _LONGEST:
            raise RefusedError(f"{state}: the name of a state file may have {_LONGEST} bytes at most")
        self._name = f"{name}-solve"
        self.log = f"{self.state}-solve.log"
        self.inputs = f"{self.state}-solve-inputs"
        """The folder for instances that came through a pipe."""
        try:
            self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise RefusedError(f"{folder}: cannot be used for a state file: {error.strerror}") from None
        if _others_may_replace(os.fstat(self._folder)):
            raise RefusedError(
                f"{folder}: belongs to another user, or others may write there, so no state file in it is "
                "trusted: chmod go-w, or give --state FILE in a folder of your own"
            )
        self._socket = f"/proc/self/fd/{self._folder}/{self._name}"

    def connect(self) -> socket.socket | None:
        """Return a connection to the daemon, None if there is none; raise if it is another user's."""
        try:
            found = os.lstat(self._socket)
        except OSError:
            return None
        if found.st_uid == os.geteuid() and not found.st_mode & 0o022:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(SILENCE)
            try:
                connection.connect(self._socket)
            except OSError:
                connection.close()
                return None
            if peer(connection)[1] == os.geteuid():
                return connection
        raise RefusedError(
            f"{self.state}-solve: belongs to another user, or others may write to it, so its answers are "
            "not trusted: remove it, or give --state FILE in a folder of your own"
        )

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
        lock = self.open("-lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def open(self, ending: str, flags: int) -> int:
        """Return the descriptor of a file beside the state file, created if missing."""
        path, flags = f"{self.state}-solve{ending}", flags | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            file = os.open(f"{self._name}{ending}", flags | os.O_NOFOLLOW, 0o600, dir_fd=self._folder)
        except OSError as error:
            raise RefusedError(f"{path}: cannot be written: {error.strerror}") from None
        found = os.fstat(file)
        if found.st_uid != os.geteuid() or found.st_nlink != 1 or not stat.S_ISREG(found.st_mode):
            os.close(file)
            raise RefusedError(f"{path}: must be a regular file of yours without hard links: remove it")
        return file

    def kill_daemon(self) -> bool:
        """Kill the process that the lock names, if it is the daemon of this state file."""
        lock = self.open("-lock", os.O_RDONLY)
        try:
            process = int(os.read(lock, 20))
            handle = os.pidfd_open(process)
        except (ValueError, OSError):
            return False
        finally:
            os.close(lock)
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:  # of the process that the handle stands for
                words = file.read().split(b"\0")
                own = os.fstat(file.fileno()).st_uid == os.geteuid()
            if not own or _DAEMON.encode() not in words or os.fsencode(self.state) not in words:
                return False
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True


def peer(connection: Any) -> tuple[int, int]:
    """Return the process and the user at the other end of a connection."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(found)
    return process, user


def _others_may_replace(folder: os.stat_result) -> bool:
    """Return whether users besides this one and root may replace files in a folder, such as a socket."""
    if folder.st_uid not in (os.geteuid(), 0):
        return True
    if folder.st_mode & stat.S_ISVTX or not folder.st_mode & 0o022:
        return False
    import grp
    import pwd

    try:  # a group may be that of this user alone, as many systems have it
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(folder.st_gid)
    except KeyError:
        return True
    private = group.gr_name == user and set(group.gr_mem) <= {user}
    return bool(folder.st_mode & stat.S_IWOTH) or not private


class _Stopped(BaseException):
    """A signal, by its number, that ends the call."""


def run(call: Call) -> int:
    """Solve one instance as the options say; return the exit code."""
    for number in _ENDING:
        signal.signal(number, _raise_stopped)
    try:
        place = _place(call)
        if call["stop"]:
            return _stop(place)
        request, content = _request(call)
        message, output = _ask(place, request, content, call)
    except RefusedError as error:
        sys.stderr.write(f"tailcut: {error}\n")
        return WRONG_CALL
    except _Stopped as stopped:
        _die_of(stopped.args[0])
    for line in message["problems"]:
        sys.stderr.write(f"tailcut: {line}\n")
    if call["report"] is not None:
        _write_report(call["report"], message["report"])
    code: int = message["exit_code"]
    return code if _pass_on(output) else 128 + signal.SIGPIPE


def _place(call: Call) -> Place:
    """Return the place of the daemon: beside the state file or, with a server, in the user's state folder."""
    if call["server"] is not None:
        readable = "".join(one if one.isalnum() else "-" for one in f"{call['server']}-{call['project']}")
        return Place(os.path.join(_state_folder(), f"server-{readable[-60:]}"))
    if call["state"] is not None:
        return Place(call["state"])
    if call["portfolio"] is not None:
        return Place(os.path.splitext(call["portfolio"])[0] + "-solve.db")
    return Place(os.path.join(_state_folder(), f"{call['domain']}.db"))


def _state_folder() -> str:
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    folder = os.path.join(home, "tailcut")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{folder}: cannot be made: {error.strerror}; give --state FILE") from None
    return folder


def _request(call: Call) -> tuple[dict[str, Any], bytes]:
    source, content = _instance(call["file"])
    names = ("domain", "server", "project", "cutoff", "selector", "seed", "parallel")
    request = {name: call[name] for name in names}
    request["portfolio"] = None if call["portfolio"] is None else os.path.abspath(call["portfolio"])
    request["instance"] = source
    request["key"] = f"solve {os.urandom(16).hex()}"
    request["token"] = os.environ.get("TAILCUT_TOKEN") if call["server"] is not None else None
    return request, content


def _instance(file: str | None) -> tuple[str | None, bytes]:
    try:
        if file is None:
            return None, sys.stdin.buffer.read()
        if stat.S_ISREG(os.stat(file).st_mode):
            os.close(os.open(file, os.O_RDONLY))  # or say why it cannot be read
            return os.path.abspath(file), b""
        with open(file, "rb") as pipe:  # of a shell: another process cannot open it under this name
            return None, pipe.read()
    except OSError as error:
        raise RefusedError(f"{file}: cannot be read: {error.strerror}") from None


def _ask(place: Place, request: dict[str, Any], content: bytes, call: Call) -> tuple[dict[str, Any], bytes]:
    """Ask the daemon, or the next one if it dies; return its message and the solver's output."""
    for _ in range(_ATTEMPTS):
        connection = _reach(place, call)
        try:
            wire.send(connection, request, content)
            message: dict[str, Any] = {}
            while not message:  # an empty one says that the daemon is at work
                message, output, _ = wire.receive(connection)
        except TimeoutError:
            raise RefusedError(
                f"the daemon (process {peer(connection)[0]}) has said nothing for {SILENCE:g} s: it is "
                "stopped or hangs; the same call with --stop ends it"
            ) from None
        except (EOFError, OSError):
            continue  # it was killed or has just ended: asking again repeats nothing
        except _Stopped:
            _cancel(connection)
            raise
        if "refused" in message:
            raise RefusedError(message["refused"])
        return message, output
    raise RefusedError(f"the daemon ended {_ATTEMPTS} times; {place.log} may say why")


def _raise_stopped(number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped(number)


def _cancel(connection: Any) -> None:
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    try:
        connection.settimeout(_FAREWELL)
        connection.send(wire.CANCEL)
        while connection.recv(1 << 16):
            pass
    except OSError:
        pass  # it is ended when the daemon sees that the socket is closed


def _die_of(number: int) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _reach(place: Place, call: Call) -> Any:
    """Return a connection to the daemon, which is started if there is none."""
    until, pause = time.monotonic() + _START, 0.005
    while time.monotonic() < until:
        connection = place.connect()
        if connection is not None:
            return connection
        lock = place.lock()
        if lock is not None:
            try:
                _start_daemon(place, lock, call["keep"])
            finally:
                os.close(lock)
            continue
        time.sleep(pause)  # another call starts it, or it is about to end
        pause = min(2 * pause, 0.1)
    raise RefusedError(
        f"no daemon answers for {place.state}; {place.log} may say why; the same call with --stop ends it"
    )


def _start_daemon(place: Place, lock: int, keep: float) -> None:
    """Start the daemon, which inherits the lock, and wait until it can be asked."""
    reading, writing = os.pipe()
    for descriptor in (lock, writing):
        os.set_inheritable(descriptor, True)
    arguments = [str(lock), str(writing), place.state, repr(keep)]
    log = place.open(".log", os.O_WRONLY)
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, log, 2),
    ]
    command = [sys.executable, "-m", _DAEMON, *arguments]
    try:
        os.ftruncate(log, 0)
        process = os.posix_spawn(sys.executable, command, os.environ, file_actions=streams)
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(process).encode(), 0)
    except OSError as error:
        raise RefusedError(f"the daemon cannot be started: {error.strerror}") from None
    finally:
        os.close(writing)
        os.close(log)
    said = os.read(reading, 4096) if select.select([reading], [], [], _START)[0] else b""
    os.close(reading)
    if not said:
        raise RefusedError(f"the daemon ended, or was stopped, before it was ready; {place.log} may say why")
    if said != b"ready":
        raise RefusedError(said.decode(errors="replace"))


def _stop(place: Place) -> int:
    """Have the daemon end when what it does is done, or kill it if it is frozen; wait until it is gone."""
    connection, patience = place.connect(), SILENCE
    if connection is not None:
        try:
            wire.send(connection, {"stop": True})
            while connection.recv(1 << 16):  # it says that it is at work
                pass
        except TimeoutError:
            patience = 0.0
        except OSError:
            pass  # it is gone
    killed, until = False, time.monotonic() + patience
    while True:
        lock = place.lock()
        if lock is not None:
            os.close(lock)
            return 0
        if time.monotonic() > until:
            if killed or not place.kill_daemon():
                raise RefusedError(f"{place.state}: its daemon does not end and cannot be killed")
            sys.stderr.write(f"tailcut: the daemon of {place.state} did not answer and was killed\n")
            killed, until = True, time.monotonic() + SILENCE
        time.sleep(0.01)


def _write_report(path: str, report: dict[str, Any]) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(report) + "\n")
    except OSError as error:
        sys.stderr.write(f"tailcut: {path}: cannot be written: {error.strerror}\n")


def _pass_on(output: bytes) -> bool:
    """Write to standard output; return whether it is still read."""
    view = memoryview(output)
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        return False
    return True
