"""Real processes: a solver that misbehaves in many ways, and a way to see whether anything of it is left."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
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
def mark() -> str:
    """Return a word that the environment of every process of the test's solvers holds."""
    return uuid.uuid4().hex


@pytest.fixture
def solver(mark: str) -> Solver:
    """Return a maker of commands: solver('spin') runs `spin` of solvers.py."""

    def make(*arguments: object) -> Command:
        words = [str(argument) for argument in arguments]
        return Command((sys.executable, "-S", str(HERE / "solvers.py"), *words), environment={MARK: mark})

    return make


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
