"""Limits hold for everything a solver starts, never too early, and the ending says who ended it."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from tailcut.live.limits import Command, Ended, Ending, Limits, Processes
from tests.live.conftest import Solver, alive, gone, wait_for


def finish(processes: Processes, command: Command, limits: Limits) -> Ended:
    ended = processes.start(command, limits).wait()
    assert ended is not None
    return ended


@pytest.mark.parametrize("limit", [0.01, 0.4])
def test_a_spinning_solver_is_stopped_at_its_limit_and_not_before(
    processes: Processes, solver: Solver, mark: str, limit: float
) -> None:
    ended = finish(processes, solver("spin"), Limits(cpu=limit, wall=600))
    assert (ended.ending, ended.exit_code, ended.signal) == (Ending.CPU_LIMIT, None, signal.SIGKILL)
    assert limit <= ended.cpu < limit + 2
    assert ended.detail == f"stopped at its limit of {limit} s CPU time"
    assert alive(mark) == []


def test_a_sleeping_solver_is_stopped_by_the_clock(processes: Processes, solver: Solver, mark: str) -> None:
    ended = finish(processes, solver("sleep"), Limits(cpu=600, wall=0.3))
    assert ended.ending == Ending.WALL_LIMIT
    assert ended.wall >= 0.3
    assert ended.cpu < 0.3
    assert alive(mark) == []


def test_detached_processes_count_and_die(processes: Processes, solver: Solver, mark: str) -> None:
    ended = finish(processes, solver("detached", "spin"), Limits(cpu=0.5, wall=600))
    assert ended.ending == Ending.CPU_LIMIT
    assert ended.cpu >= 0.5
    assert alive(mark) == []


def test_the_run_ends_with_its_first_process(processes: Processes, solver: Solver, mark: str) -> None:
    ended = finish(processes, solver("leave_behind"), Limits(cpu=600, wall=600))
    assert (ended.ending, ended.exit_code, ended.output) == (Ending.FINISHED, 0, b"s UNKNOWN\n")
    assert alive(mark) == []


def test_what_an_orphan_used_is_counted(processes: Processes, solver: Solver, tmp_path: Path) -> None:
    ended = finish(processes, solver("burn_detached", 0.3, tmp_path), Limits())
    assert ended.ending == Ending.FINISHED
    assert ended.cpu >= 0.3


def test_what_children_used_is_counted_while_the_parent_lives(processes: Processes, solver: Solver) -> None:
    ended = finish(processes, solver("burn_by_children", 0.2, 1000), Limits(cpu=0.7))
    assert ended.ending == Ending.CPU_LIMIT
    assert 0.7 <= ended.cpu < 2.7


def test_what_forgotten_children_used_is_counted(processes: Processes, solver: Solver) -> None:
    if processes.method.startswith("process tree"):
        pytest.skip("the kernel drops the time of children whose parent ignores SIGCHLD: docs/limits.md")
    ended = finish(processes, solver("burn_by_forgotten_children", 0.1, 1000), Limits(cpu=0.5))
    assert ended.ending == Ending.CPU_LIMIT
    assert 0.5 <= ended.cpu < 2.5


def test_threads_count_together(processes: Processes, solver: Solver) -> None:
    ended = finish(processes, solver("threads"), Limits(cpu=0.5))
    assert ended.ending == Ending.CPU_LIMIT
    assert 0.5 <= ended.cpu < 2.5


def test_the_cpu_time_is_what_the_solver_measures_itself(processes: Processes, solver: Solver) -> None:
    """But for the start before its program was entered, on its side, and its last breath, on ours."""
    ended = finish(processes, solver("burn", 0.4), Limits(cpu=60))
    own = float(ended.output)
    assert ended.ending == Ending.FINISHED
    assert own - 0.05 <= ended.cpu <= own + 0.1


def test_a_solver_that_forks_all_the_time_is_ended(processes: Processes, solver: Solver, mark: str) -> None:
    ended = finish(processes, solver("fork_often"), Limits(wall=0.5))
    assert ended.ending == Ending.WALL_LIMIT
    assert alive(mark) == []


def test_memory_without_end(processes: Processes, solver: Solver, mark: str) -> None:
    limit = 100 * 2**20
    ended = finish(processes, solver("allocate"), Limits(cpu=60, memory=limit))
    assert ended.ending == Ending.MEMORY_LIMIT
    assert ended.peak_memory >= 0.9 * limit
    assert alive(mark) == []


def test_memory_of_several_processes_is_added_up(processes: Processes, solver: Solver, mark: str) -> None:
    ended = finish(processes, solver("allocate_twice", 80 * 2**20), Limits(wall=60, memory=120 * 2**20))
    assert ended.ending == Ending.MEMORY_LIMIT
    assert alive(mark) == []


def test_memory_that_processes_share_counts_once(processes: Processes, solver: Solver) -> None:
    ended = finish(processes, solver("share", 80 * 2**20, 0.5), Limits(wall=60, memory=160 * 2**20))
    assert ended.ending == Ending.FINISHED
    assert 80 * 2**20 <= ended.peak_memory <= 160 * 2**20


def test_a_solver_that_ignores_signals(processes: Processes, solver: Solver, mark: str) -> None:
    ended = finish(processes, solver("stubborn"), Limits(wall=0.3))
    assert (ended.ending, ended.signal) == (Ending.WALL_LIMIT, signal.SIGKILL)
    assert alive(mark) == []


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGXCPU"])
def test_a_signal_from_elsewhere_is_a_crash(processes: Processes, solver: Solver, name: str) -> None:
    ended = finish(processes, solver("die", name), Limits(cpu=60, wall=60, memory=2**30))
    assert (ended.ending, ended.exit_code) == (Ending.CRASHED, None)
    assert ended.signal == signal.Signals[name]
    assert ended.detail == f"ended by {name}"


@pytest.mark.parametrize("limits", [Limits(), Limits(cpu=1e8, wall=1e8, memory=2**50)], ids=["none", "huge"])
def test_an_exit_code_is_not_a_crash(processes: Processes, solver: Solver, limits: Limits) -> None:
    ended = finish(processes, solver("leave", 3), limits)
    assert (ended.ending, ended.exit_code, ended.signal) == (Ending.FINISHED, 3, None)


def test_cancelled_from_another_thread(processes: Processes, solver: Solver, mark: str) -> None:
    run = processes.start(solver("detached", "sleep"), Limits())
    wait_for(lambda: len(alive(mark)) >= 3)
    assert run.wait(timeout=0.01) is None
    threading.Timer(0.05, run.cancel).start()
    ended = run.wait()
    assert ended is not None
    assert (ended.ending, ended.detail) == (Ending.CANCELLED, "cancelled")
    assert alive(mark) == []
    run.cancel()  # too late, and no error
    assert run.wait() is ended


def test_cancelling_at_once_is_not_lost(processes: Processes, solver: Solver, mark: str) -> None:
    for _ in range(5):
        run = processes.start(solver("sleep"), Limits())
        run.cancel()
        ended = run.wait()
        assert ended is not None
        assert ended.ending == Ending.CANCELLED
    assert alive(mark) == []


def test_eight_at_once_each_on_its_own(processes: Processes, solver: Solver, mark: str) -> None:
    runs = [processes.start(solver("burn", f"0.0{i}"), Limits(cpu=60)) for i in range(1, 9)]
    sleeper = processes.start(solver("sleep"), Limits())
    for i, run in enumerate(runs, 1):
        ended = run.wait()
        assert ended is not None
        assert ended.ending == Ending.FINISHED
        assert float(ended.output) >= i / 100
    assert sleeper.wait(timeout=0) is None
    sleeper.cancel()
    assert sleeper.wait() is not None
    assert gone(mark)
