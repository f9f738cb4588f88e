"""Real processes: a solver that misbehaves in many ways, and a way to see whether anything of it is left."""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tailcut.live.limits import Command, Launcher, tree

HERE = Path(__file__).parent
MARK = "TAILCUT_TEST_MARK"

Solver = Callable[..., Command]


@pytest.fixture(scope="module", params=["cgroups", "tree"])
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    """A launcher by both methods: control groups, and the process tree alone."""
    with Launcher(cgroups=request.param == "cgroups") as launcher:
        if not launcher.method.startswith(("cgroups", "process tree (")[request.param == "tree"]):
            pytest.skip(f"no control groups here: {launcher.method}")
        yield launcher


@pytest.fixture
def mark() -> Iterator[str]:
    """Return a word in the environment of the test's solvers; what still carries it in the end is ended."""
    word = uuid.uuid4().hex
    yield word
    end_marked(word)


@pytest.fixture
def solver(mark: str) -> Solver:
    """Return a maker of commands: solver('spin') runs `spin` of solvers.py."""

    def make(*arguments: object) -> Command:
        words = [str(argument) for argument in arguments]
        return Command((sys.executable, "-S", str(HERE / "solvers.py"), *words), environment={MARK: mark})

    return make


@pytest.fixture
def marked(mark: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have the server and the supervisors carry the mark as well, for tests that freeze or kill them."""
    monkeypatch.setenv(MARK, mark)
    return mark


def end_marked(mark: str) -> None:
    """End every process that carries the mark, stopped ones too."""
    for _ in range(100):
        for process in (left := alive(mark)):
            for number in (signal.SIGKILL, signal.SIGCONT):
                with suppress(ProcessLookupError):
                    os.kill(process, number)
        if not left:
            break
        time.sleep(0.01)


def busy(launcher: Launcher) -> set[int]:
    """Return the supervisors whose run has begun."""
    server = launcher._servers[""]
    return {child for child in tree.children(server.process.pid) if tree.children(child)}


def alive(mark: str) -> list[int]:
    """Return the processes that carry the mark in their environment, zombies not among them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def gone(mark: str, patience: float = 20.0) -> bool:
    """Wait until no process carries the mark; False if some still does after a long time."""
    deadline = time.monotonic() + patience
    while alive(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def wait_for(condition: Callable[[], object], patience: float = 20.0) -> None:
    """Wait until the condition holds; fail after a long time."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "waited unsuccessfully"
        time.sleep(0.005)
