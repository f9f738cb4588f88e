"""Nothing survives when a process of the chain is killed: Tailcut's own, the server, or a supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailcut.live.limits import Ending, Launcher, ResourceLimits, RunningProgram, tree
from tests.live.limits.conftest import HERE, MARK, Solver, alive, busy, gone, wait_for


@contextmanager
def front(method: str, how: str, mark: str, *solver: str) -> Iterator[subprocess.Popen[str]]:
    """Run front.py in a session of its own; it and all it starts carry the mark."""
    command = [sys.executable, str(HERE / "front.py"), method, how]
    command += [sys.executable, "-S", str(HERE / "solvers.py"), *solver]
    with subprocess.Popen(
        command, env=os.environ | {MARK: mark}, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            started, base = process.stdout.readline().split()
            assert started == "started"
            yield process
            assert gone(mark)
            assert base == "None" or not Path(base).exists(), "a control group is left"
        finally:
            process.kill()


def assert_lost(run: RunningProgram) -> None:
    ended = run.wait()
    assert ended is not None
    assert (ended.ending, ended.signal, ended.tampered) == (Ending.CRASHED, signal.SIGKILL, True)
    assert "was killed" in ended.detail


@pytest.mark.parametrize("method", ["cgroups", "tree"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_tailcut_itself_is_killed(method: str, number: signal.Signals, mark: str) -> None:
    with front(method, "", mark, "detached", "spin") as process:
        wait_for(lambda: len(alive(mark)) >= 1 + 1 + 2 * 4)
        process.send_signal(number)
        process.wait()


def test_tailcut_is_killed_but_a_copy_holds_its_sockets(mark: str) -> None:
    with front("tree", "with a copy", mark, "detached", "spin") as process:
        wait_for(lambda: len(alive(mark)) >= 1 + 1 + 1 + 2 * 4)
        process.kill()
        process.wait()
        wait_for(lambda: len(alive(mark)) == 1)
        (copy,) = alive(mark)
        os.kill(copy, signal.SIGKILL)


def test_tailcut_ends_without_closing(mark: str) -> None:
    with front("tree", "not closed", mark, "leave", "0") as process:
        assert process.wait() == 0


def test_ctrl_c_is_for_tailcut_alone(mark: str) -> None:
    with front("tree", "", mark, "sleep") as process:
        assert process.stdout is not None
        wait_for(lambda: len(alive(mark)) >= 1 + 1 + 2 * 2)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        wait_for(lambda: len(alive(mark)) == 1 + 1 + 2 * 2)  # one that becomes a program shows none
        process.kill()
        process.wait()


def test_a_supervisor_is_killed(launcher: Launcher, solver: Solver, mark: str) -> None:
    bystander = launcher.start(solver("sleep"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) == 1)
    server = launcher._servers[""]
    others = busy(launcher)
    run = launcher.start(solver("detached", "spin"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) == 1 + 3)
    (supervisor,) = busy(launcher) - others
    os.kill(supervisor, signal.SIGKILL)
    assert_lost(run)
    assert len(alive(mark)) == 1
    assert bystander.wait(timeout=0) is None
    bystander.cancel()
    ended = bystander.wait()
    assert ended is not None
    assert ended.ending == Ending.CANCELLED
    assert alive(mark) == []
    wait_for(lambda: tree.children(server.process.pid) == [])  # no zombies either


def test_what_one_run_used_is_not_counted_for_the_next(launcher: Launcher, solver: Solver) -> None:
    for program, cpu, peak in ((solver("burn", 0.3), 0.3, 0), (solver("allocate"), 0, 2**28)):
        ended = launcher.start(program, ResourceLimits(wall=60, memory=2**28)).wait()
        assert ended is not None
        assert ended.cpu >= cpu
        assert ended.peak_memory >= 0.9 * peak
        light = launcher.start(solver("leave", 3), ResourceLimits()).wait()
        assert light is not None
        assert (light.ending, light.exit_code) == (Ending.FINISHED, 3)
        assert light.cpu < 0.25
        assert light.peak_memory < 2**27


def test_the_server_that_forks_has_loaded_neither_threads_nor_numbers() -> None:
    """What it has loaded, every run pays for: both its forks copy the memory that they touch.

    Since Python 3.14, ctypes, which the server needs for system calls, itself loads `threading`.
    """
    costly = {"threading", "subprocess", "random", "logging", "numpy"}
    loaded = []
    for module in ("ctypes", "tailcut.live.limits.fork_server"):
        code = f"import {module}, os, sys; print(*sys.modules); print(*os.listdir('/proc/self/task'))"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        modules, threads = ended.stdout.splitlines()
        assert len(threads.split()) == 1
        loaded.append(costly & set(modules.split()))
    assert loaded[0] <= ({"threading"} if sys.version_info >= (3, 14) else set())
    assert loaded[1] == loaded[0]


def test_the_server_is_killed(launcher: Launcher, solver: Solver, mark: str) -> None:
    run = launcher.start(solver("detached", "spin"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) == 3)
    server = launcher._servers[""]
    server.process.kill()
    assert_lost(run)
    assert gone(mark)
    ended = launcher.start(solver("leave", 5), ResourceLimits()).wait()
    assert ended is not None
    assert ended.exit_code == 5
    assert server.base is None or not server.base.exists()


def test_server_and_supervisor_are_killed_at_once(solver: Solver, mark: str) -> None:
    """Nobody is left to adopt the orphans, but their control group is known."""
    with Launcher() as launcher:
        if launcher.method.startswith("process tree"):
            pytest.skip("without control groups they survive: docs/reference/limits.md")
        run = launcher.start(solver("detached", "sleep"), ResourceLimits())
        wait_for(lambda: len(alive(mark)) == 3)
        server = launcher._servers[""]
        (supervisor,) = tree.children(server.process.pid)
        os.kill(server.process.pid, signal.SIGSTOP)
        os.kill(supervisor, signal.SIGKILL)
        server.process.kill()
        assert_lost(run)
        wait_for(lambda: len(alive(mark)) == 2)
    assert alive(mark) == []
