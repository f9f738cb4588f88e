"""A solver that runs as root and leaves its control group keeps its limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.live.limits import Command, Ended, Ending, Launcher, ResourceLimits
from tailcut.live.limits.cgroups import make_base, remove_all

LEAVE = "open({file!r}, 'w').write('0')\n"


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The file that moves a process into a group that is not the run's."""
    base = make_base() if os.geteuid() == 0 else None
    if base is None:
        pytest.skip("needs control groups that may be written to")
    other = base / "other"
    other.mkdir()
    yield str(other / "cgroup.procs")
    remove_all(base)


def run(code: str, elsewhere: str, limits: ResourceLimits) -> Ended:
    with Launcher() as launcher:
        assert launcher.method.startswith("cgroups")
        command = (sys.executable, "-I", "-S", "-c", LEAVE.format(file=elsewhere) + code)
        ended = launcher.start(Command(command), limits).wait()
    assert ended is not None
    assert Path(elsewhere).read_text() == "", "it was not ended"
    return ended


def test_its_cpu_time_counts(elsewhere: str) -> None:
    ended = run("while True: pass", elsewhere, ResourceLimits(cpu=0.3, wall=10))
    assert ended.ending is Ending.CPU_LIMIT
    assert 0.3 <= ended.cpu < 1.0


def test_so_does_that_of_its_children(elsewhere: str) -> None:
    code = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
    ended = run(code, elsewhere, ResourceLimits(cpu=0.5, wall=10))
    assert ended.ending is Ending.CPU_LIMIT
    assert ended.cpu >= 0.5


def test_its_memory_counts(elsewhere: str) -> None:
    code = "import time\nheld = bytearray(b'x') * 2**28\ntime.sleep(20)"
    ended = run(code, elsewhere, ResourceLimits(wall=10, memory=2**27))
    assert ended.ending is Ending.MEMORY_LIMIT
    assert ended.peak_memory > 2**27
