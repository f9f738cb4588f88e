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

from tailcut.errors import LiveError
from tailcut.live.limits import Ending, Launcher, ResourceLimits, tree
from tests.live.limits.conftest import HERE, MARK, Solver, alive, gone, wait_for


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
        assert len(alive(mark)) == 1 + 1 + 2 * 2
        process.kill()
        process.wait()


def test_a_supervisor_is_killed(launcher: Launcher, solver: Solver, mark: str) -> None:
    bystander = launcher.start(solver("sleep"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) == 1)
    server = launcher._server
    assert server is not None
    others = set(tree.children(server.process.pid))
    run = launcher.start(solver("detached", "spin"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) == 1 + 3)
    (supervisor,) = set(tree.children(server.process.pid)) - others
    os.kill(supervisor, signal.SIGKILL)
    with pytest.raises(LiveError, match="no outcome"):
        run.wait()
    assert len(alive(mark)) == 1
    assert bystander.wait(timeout=0) is None
    bystander.cancel()
    ended = bystander.wait()
    assert ended is not None
    assert ended.ending == Ending.CANCELLED
    assert alive(mark) == []
    wait_for(lambda: tree.children(server.process.pid) == [])  # no zombies either


def test_the_server_is_killed(launcher: Launcher, solver: Solver, mark: str) -> None:
    run = launcher.start(solver("detached", "spin"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) == 3)
    server = launcher._server
    assert server is not None
    server.process.kill()
    with pytest.raises(LiveError, match="no outcome"):
        run.wait()
    assert gone(mark)
    ended = launcher.start(solver("leave", 5), ResourceLimits()).wait()
    assert ended is not None
    assert ended.exit_code == 5
    assert server.base is None or not server.base.exists()


def test_server_and_supervisor_are_killed_at_once(solver: Solver, mark: str) -> None:
    """Nobody is left to adopt the orphans, but their control group is known."""
    with Launcher() as launcher:
        if launcher.method.startswith("process tree"):
            pytest.skip("without control groups they survive: docs/limits.md")
        run = launcher.start(solver("detached", "sleep"), ResourceLimits())
        wait_for(lambda: len(alive(mark)) == 3)
        server = launcher._server
        assert server is not None
        (supervisor,) = tree.children(server.process.pid)
        os.kill(server.process.pid, signal.SIGSTOP)
        os.kill(supervisor, signal.SIGKILL)
        server.process.kill()
        with pytest.raises(LiveError, match="no outcome"):
            run.wait()
        wait_for(lambda: len(alive(mark)) == 2)
    assert alive(mark) == []
