"""The looks into /proc that everything else rests on, against what is known of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tailcut.live.limits import tree
from tests.live.limits.conftest import HERE, wait_for


@pytest.fixture
def family() -> Iterator[int]:
    """Yield a process that has three children, which share 40 MiB with it."""
    command = [sys.executable, "-S", str(HERE / "solvers.py"), "share", str(40 * 2**20), "1000"]
    with subprocess.Popen(command) as process:
        wait_for(lambda: len(tree.children(process.pid)) == 3)
        yield process.pid
        for child in [*tree.below(process.pid), process.pid]:
            tree.kill(child)


def test_children_are_found_both_ways(family: int) -> None:
    assert family in tree.children(os.getpid())
    assert sorted(tree.children(family)) == sorted(tree._children_by_search(family))
    assert set(tree.below(os.getpid())) >= {family, *tree.children(family)}


def test_a_process_that_is_gone_has_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert tree.children(process.pid) == []
    assert tree.memory_held([process.pid]) == (0, 0, 0)
    assert tree.memory_share([process.pid]).now == 0
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the kernel
        tree.cpu_clock(process.pid)
    tree.kill(process.pid)


def test_shared_memory(family: int) -> None:
    processes = [family, *tree.below(family)]
    assert len(processes) == 4
    assert tree.memory_held(processes).now >= 4 * 40 * 2**20
    assert 40 * 2**20 <= tree.memory_share(processes).now <= 80 * 2**20


def test_the_cpu_clock_of_another_process() -> None:
    """It stands between what the process says of itself before and after."""
    code = "import sys, time\nfor line in sys.stdin: print(time.process_time(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        readings = []
        for _ in range(2):
            process.stdin.write("\n")
            process.stdin.flush()
            readings += [float(process.stdout.readline()), tree.cpu_clock(process.pid)]
    assert 0 < readings[0] <= readings[1] <= readings[2] <= readings[3]


def test_the_time_of_children_waited_for() -> None:
    command = [sys.executable, "-S", str(HERE / "solvers.py"), "burn_by_children", "0.1", "1000"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: tree._waited_for(process.pid) > 0.3)
        assert tree.cpu_clock(process.pid) < 0.3, "its children's time is not its own"
        for child in [process.pid, *tree.below(process.pid)]:
            tree.kill(child)


UNKILLABLE = """
import subprocess
from tailcut.live.limits import tree
tree._PATIENCE = 0.3
with subprocess.Popen(["sleep", "60"]) as process:
    print(tree.end(lambda: None, lambda *_: None) == [process.pid])
    process.kill()
"""
"""A signal that does not arrive, as if the process were another user's."""


def test_processes_that_cannot_be_ended_are_given_up_and_named() -> None:
    command = [sys.executable, "-c", UNKILLABLE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.stdout == "True\n", done.stderr
