"""Limits hold for everything a solver starts, never too early, and the ending says who ended it."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.live.limits import Command, Ended, Ending, Launcher, ResourceLimits
from tests.live.limits.conftest import Solver, alive, gone, wait_for


def finish(launcher: Launcher, command: Command, limits: ResourceLimits) -> Ended:
    ended = launcher.start(command, limits).wait()
    assert ended is not None
    return ended


@pytest.mark.parametrize("limit", [0.01, 0.4])
def test_a_spinning_solver_is_stopped_at_its_limit_and_not_before(
    launcher: Launcher, solver: Solver, mark: str, limit: float
) -> None:
    ended = finish(launcher, solver("spin"), ResourceLimits(cpu=limit, wall=600))
    assert (ended.ending, ended.exit_code, ended.signal) == (Ending.CPU_LIMIT, None, signal.SIGKILL)
    assert limit <= ended.cpu < limit + 2
    assert ended.detail == f"stopped at its limit of {limit} s CPU time"
    assert alive(mark) == []


def test_a_sleeping_solver_is_stopped_by_the_clock(launcher: Launcher, solver: Solver, mark: str) -> None:
    ended = finish(launcher, solver("sleep"), ResourceLimits(cpu=600, wall=0.3))
    assert ended.ending == Ending.WALL_LIMIT
    assert ended.wall >= 0.3
    assert ended.cpu < 0.3
    assert alive(mark) == []


def test_detached_processes_count_and_die(launcher: Launcher, solver: Solver, mark: str) -> None:
    ended = finish(launcher, solver("detached", "spin"), ResourceLimits(cpu=0.5, wall=600))
    assert ended.ending == Ending.CPU_LIMIT
    assert ended.cpu >= 0.5
    assert alive(mark) == []


def test_the_run_ends_with_its_first_process(launcher: Launcher, solver: Solver, mark: str) -> None:
    ended = finish(launcher, solver("leave_behind"), ResourceLimits(cpu=600, wall=600))
    assert (ended.ending, ended.exit_code, ended.output) == (Ending.FINISHED, 0, b"s UNKNOWN\n")
    assert alive(mark) == []


def test_what_an_orphan_used_is_counted(launcher: Launcher, solver: Solver, tmp_path: Path) -> None:
    ended = finish(launcher, solver("burn_detached", 0.3, tmp_path), ResourceLimits())
    assert ended.ending == Ending.FINISHED
    assert ended.cpu >= 0.3


def test_what_children_used_is_counted_while_the_parent_lives(launcher: Launcher, solver: Solver) -> None:
    ended = finish(launcher, solver("burn_by_children", 0.2, 1000), ResourceLimits(cpu=0.7))
    assert ended.ending == Ending.CPU_LIMIT
    assert 0.7 <= ended.cpu < 2.7


def test_what_forgotten_children_used_is_counted(launcher: Launcher, solver: Solver) -> None:
    if launcher.method.startswith("process tree"):
        pytest.skip(
            "the kernel drops the time of children whose parent ignores SIGCHLD: docs/reference/limits.md"
        )
    ended = finish(launcher, solver("burn_by_forgotten_children", 0.1, 1000), ResourceLimits(cpu=0.5))
    assert ended.ending == Ending.CPU_LIMIT
    assert 0.5 <= ended.cpu < 2.5


def test_threads_count_together(launcher: Launcher, solver: Solver) -> None:
    ended = finish(launcher, solver("threads"), ResourceLimits(cpu=0.5))
    assert ended.ending == Ending.CPU_LIMIT
    assert 0.5 <= ended.cpu < 2.5


def test_the_cpu_time_is_what_the_solver_measures_itself(launcher: Launcher, solver: Solver) -> None:
    """But for the start before its program was entered, on its side, and its last breath, on ours."""
    ended = finish(launcher, solver("burn", 0.4), ResourceLimits(cpu=60))
    own = float(ended.output)
    assert ended.ending == Ending.FINISHED
    assert own - 0.05 <= ended.cpu <= own + 0.1


def test_a_solver_that_forks_all_the_time_is_ended(launcher: Launcher, solver: Solver, mark: str) -> None:
    ended = finish(launcher, solver("fork_often"), ResourceLimits(wall=0.5))
    assert ended.ending == Ending.WALL_LIMIT
    assert alive(mark) == []


def test_memory_without_end(launcher: Launcher, solver: Solver, mark: str) -> None:
    limit = 100 * 2**20
    ended = finish(launcher, solver("allocate"), ResourceLimits(cpu=60, memory=limit))
    assert ended.ending == Ending.MEMORY_LIMIT
    assert ended.peak_memory >= 0.9 * limit
    assert alive(mark) == []


def test_memory_of_several_processes_is_added_up(launcher: Launcher, solver: Solver, mark: str) -> None:
    ended = finish(
        launcher, solver("allocate_twice", 80 * 2**20), ResourceLimits(wall=60, memory=120 * 2**20)
    )
    assert ended.ending == Ending.MEMORY_LIMIT
    assert alive(mark) == []


def test_memory_that_processes_share_counts_once(launcher: Launcher, solver: Solver) -> None:
    ended = finish(launcher, solver("share", 80 * 2**20, 0.5), ResourceLimits(wall=60, memory=160 * 2**20))
    assert ended.ending == Ending.FINISHED
    assert 80 * 2**20 <= ended.peak_memory <= 160 * 2**20


def test_a_solver_that_ignores_signals(launcher: Launcher, solver: Solver, mark: str) -> None:
    ended = finish(launcher, solver("stubborn"), ResourceLimits(wall=0.3))
    assert (ended.ending, ended.signal) == (Ending.WALL_LIMIT, signal.SIGKILL)
    assert alive(mark) == []


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGXCPU"])
def test_a_signal_from_elsewhere_is_a_crash(launcher: Launcher, solver: Solver, name: str) -> None:
    ended = finish(launcher, solver("die", name), ResourceLimits(cpu=60, wall=60, memory=2**30))
    assert (ended.ending, ended.exit_code) == (Ending.CRASHED, None)
    assert ended.signal == signal.Signals[name]
    assert ended.detail == f"ended by {name}"


@pytest.mark.parametrize(
    "limits", [ResourceLimits(), ResourceLimits(cpu=1e8, wall=1e8, memory=2**50)], ids=["none", "huge"]
)
def test_an_exit_code_is_not_a_crash(launcher: Launcher, solver: Solver, limits: ResourceLimits) -> None:
    ended = finish(launcher, solver("leave", 3), limits)
    assert (ended.ending, ended.exit_code, ended.signal) == (Ending.FINISHED, 3, None)


def test_who_finishes_in_the_moment_of_the_limit_has_finished(launcher: Launcher) -> None:
    """Whichever was first, the wait status and the ending say the same."""
    for step in range(12):
        ended = finish(launcher, Command(("sleep", str(0.05 + 0.005 * step))), ResourceLimits(wall=0.08))
        if ended.ending is Ending.FINISHED:
            assert (ended.exit_code, ended.signal) == (0, None)
        else:
            assert (ended.ending, ended.exit_code) == (Ending.WALL_LIMIT, None)
            assert ended.signal == signal.SIGKILL


def test_solvers_are_the_first_to_go_when_the_system_has_no_memory_left(launcher: Launcher) -> None:
    ended = finish(launcher, Command(("cat", "/proc/self/oom_score_adj")), ResourceLimits())
    assert ended.output == b"1000\n"


def test_cancelled_from_another_thread(launcher: Launcher, solver: Solver, mark: str) -> None:
    run = launcher.start(solver("detached", "sleep"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) >= 3)
    assert run.wait(timeout=0.01) is None
    threading.Timer(0.05, run.cancel).start()
    ended = run.wait()
    assert ended is not None
    assert (ended.ending, ended.detail) == (Ending.CANCELLED, "cancelled")
    assert alive(mark) == []
    run.cancel()  # too late, and no error
    assert run.wait() is ended


def test_cancelling_at_once_is_not_lost(launcher: Launcher, solver: Solver, mark: str) -> None:
    for _ in range(5):
        run = launcher.start(solver("sleep"), ResourceLimits())
        run.cancel()
        ended = run.wait()
        assert ended is not None
        assert ended.ending == Ending.CANCELLED
    assert alive(mark) == []


def test_eight_at_once_each_on_its_own(launcher: Launcher, solver: Solver, mark: str) -> None:
    runs = [launcher.start(solver("burn", f"0.0{i}"), ResourceLimits(cpu=60)) for i in range(1, 9)]
    sleeper = launcher.start(solver("sleep"), ResourceLimits())
    for i, run in enumerate(runs, 1):
        ended = run.wait()
        assert ended is not None
        assert ended.ending == Ending.FINISHED
        assert float(ended.output) >= i / 100
    assert sleeper.wait(timeout=0) is None
    sleeper.cancel()
    assert sleeper.wait() is not None
    assert gone(mark)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A file in /dev/shm that is not there yet; removed afterwards."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("needs a /dev/shm that may be written to")
    file = Path("/dev/shm", f"tailcut-test-{uuid.uuid4().hex}")
    yield file
    file.unlink(missing_ok=True)


@pytest.mark.parametrize("named", [False, True], ids=["memfd", "/dev/shm"])
def test_files_in_memory_count_though_they_are_not_mapped(
    launcher: Launcher, solver: Solver, mark: str, in_memory: Path, named: bool
) -> None:
    size = 200 * 2**20
    command = solver("fill_file", in_memory, size) if named else solver("fill_memfd", size)
    ended = finish(launcher, command, ResourceLimits(memory=100 * 2**20, wall=10))
    assert ended.ending is Ending.MEMORY_LIMIT
    assert ended.peak_memory > 100 * 2**20
    assert alive(mark) == []


def test_files_in_memory_that_were_there_before_do_not_count(
    launcher: Launcher, solver: Solver, in_memory: Path
) -> None:
    in_memory.write_bytes(b"x" * 2**27)
    ended = finish(launcher, solver("fill_file", in_memory, 0), ResourceLimits(memory=2**26, wall=1))
    assert ended.ending is Ending.WALL_LIMIT
