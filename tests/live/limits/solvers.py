"""Solvers that misbehave, one function each: `python solvers.py FUNCTION ARGUMENT...`."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from pathlib import Path


def spin() -> None:
    while True:
        pass


def burn(seconds: str) -> None:
    """Use CPU time and say how much it was."""
    while time.process_time() < float(seconds):
        pass
    print(time.process_time())


def sleep() -> None:
    time.sleep(1000)


def detached(function: str) -> None:
    """Start `function` twice in processes that have left parent, session and group, and sleep."""
    for _ in range(2):
        detach(function)
    time.sleep(1000)


def detach(function: str, *arguments: str) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            globals()[function](*arguments)
        os._exit(0)
    os.wait()


def leave_behind() -> None:
    """End at once; a detached process spins on and holds the streams open."""
    detach("spin")
    print("s UNKNOWN")


def burn_detached(seconds: str, folder: str) -> None:
    """Have a detached process burn CPU time, and end when it has."""
    done = Path(folder) / "done"
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            burn(seconds)
            done.touch()
        os._exit(0)
    while not done.exists():
        time.sleep(0.01)


def burn_by_children(seconds: str, number: str) -> None:
    """Burn CPU time in children one after the other, waiting for each."""
    for _ in range(int(number)):
        if os.fork() == 0:
            burn(seconds)
            os._exit(0)
        os.wait()


def burn_by_forgotten_children(seconds: str, number: str) -> None:
    """Burn CPU time in children one after the other, none of which is waited for."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in range(int(number)):
        reading, writing = os.pipe()
        if os.fork() == 0:
            burn(seconds)
            os._exit(0)
        os.close(writing)
        os.read(reading, 1)  # until the child has ended
        os.close(reading)


def threads() -> None:
    """Burn in two threads at once: hashing drops the interpreter's lock."""
    block = b"x" * 2**22

    def work() -> None:
        while True:
            hashlib.sha256(block).digest()

    threading.Thread(target=work).start()
    work()


def fork_often() -> None:
    """Fork without end, each process for a short while, most of them orphans."""
    while True:
        if os.fork() == 0:
            time.sleep(0.005)
            if os.fork() == 0:
                time.sleep(0.05)
            os._exit(0)
        time.sleep(0.002)


def allocate() -> None:
    held = []
    while True:
        held.append(b"x" * 2**20)


def allocate_twice(size: str) -> None:
    """Hold `size` bytes in each of two children."""
    for _ in range(2):
        if os.fork() == 0:
            held = b"x" * int(size)
            time.sleep(1000)
            del held
    time.sleep(1000)


def fill_memfd(size: str) -> None:
    """Write `size` bytes into a file in memory without a name, and map none of it."""
    fill(os.memfd_create("solver"), int(size))


def fill_file(path: str, size: str) -> None:
    fill(os.open(path, os.O_CREAT | os.O_RDWR), int(size))


def fill(file: int, size: int) -> None:
    for _ in range(size >> 20):
        os.write(file, b"x" * 2**20)
    time.sleep(1000)


def share(size: str, seconds: str) -> None:
    """Hold `size` bytes that three children share for a while."""
    held = b"x" * int(size)
    for _ in range(3):
        if os.fork() == 0:
            time.sleep(1000)
    time.sleep(float(seconds))
    del held


def stubborn() -> None:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)


def chatter() -> None:
    """Print without end, to both streams."""
    line = b"c " + b"x" * 2**16 + b"\n"
    while True:
        os.write(1, line)
        os.write(2, line)


def closed_streams() -> None:
    """Close the streams and continue working for a while."""
    os.close(1)
    os.close(2)
    time.sleep(0.2)
    os._exit(10)


def die(name: str) -> None:
    os.kill(os.getpid(), signal.Signals[name])
    time.sleep(1000)


def leave(code: str) -> None:
    os._exit(int(code))


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def signal_watchers(*names: str) -> None:
    """Send a signal to the supervisor, or from the word `server` on to the server; `again`: without end."""
    target = os.getppid()
    for name in names:
        if name == "server":
            target = parent_of(os.getppid())
        elif name in signal.Signals.__members__:
            os.kill(target, signal.Signals[name])
    while True:
        if "again" in names:
            os.kill(target, signal.SIGSTOP)


def freeze(group: str, which: str) -> None:
    """Put itself, or its supervisor, into a control group, freeze that, and spin."""
    process = os.getpid() if which == "itself" else os.getppid()
    (Path(group) / "cgroup.procs").write_text(str(process))
    (Path(group) / "cgroup.freeze").write_text("1")
    spin()


def descriptors() -> None:
    print(sorted(os.listdir("/proc/self/fd")))
    print(os.read(0, 1))
    print({signal.Signals(n).name for n in (2, 13, 15, 17) if signal.getsignal(n) == signal.SIG_IGN})


def sizes(*arguments: str) -> None:
    print([len(argument) for argument in arguments], len(os.environ.get("LARGE", "")), Path.cwd())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
