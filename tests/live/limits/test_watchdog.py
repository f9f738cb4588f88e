"""A solver that stops, freezes or kills the processes that watch it keeps its limits, or has failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.live.limits import Ended, Ending, Launcher, ResourceLimits, launcher
from tailcut.live.limits.cgroups import make_base, remove_all
from tests.live.limits.conftest import HERE, Solver, alive, gone, wait_for

METHODS = pytest.mark.parametrize("cgroups", [True, False], ids=["cgroups", "tree"])


def finish(solver: Solver, limits: ResourceLimits, *arguments: object, cgroups: bool = False) -> Ended:
    """Run a hostile solver, then a kind one by the same launcher."""
    with Launcher(cgroups=cgroups) as launcher:
        hostile = launcher.start(solver(*arguments), limits).wait(timeout=60)
        kind = launcher.start(solver("leave", 3), ResourceLimits()).wait(timeout=60)
    assert kind is not None
    assert (kind.ending, kind.exit_code, kind.tampered) == (Ending.FINISHED, 3, False)
    assert hostile is not None
    return hostile


@METHODS
@pytest.mark.parametrize("target", [(), ("server",)], ids=["supervisor", "server"])
def test_stopping_the_processes_that_watch_does_not_lift_the_limits(
    solver: Solver, marked: str, target: tuple[str, ...], cgroups: bool
) -> None:
    limits = ResourceLimits(cpu=1.5, wall=50)
    ended = finish(solver, limits, "signal_watchers", *target, "SIGSTOP", cgroups=cgroups)
    assert (ended.ending, ended.tampered) == (Ending.CPU_LIMIT, False)
    assert 1.5 <= ended.cpu < 10
    assert gone(marked)


def test_a_solver_that_stops_its_supervisor_again_and_again_is_ended_and_crashed(
    solver: Solver, marked: str
) -> None:
    ended = finish(solver, ResourceLimits(cpu=30, wall=50), "signal_watchers", "again")
    assert (ended.ending, ended.signal, ended.tampered) == (Ending.CRASHED, signal.SIGKILL, True)
    assert ended.detail == "the process that watched it was stopped, and it was ended"
    assert 0 < ended.cpu < 30, "what it used is known"
    assert gone(marked)


def test_a_solver_that_stops_the_server_again_and_again_is_held_to_its_limit(
    solver: Solver, marked: str
) -> None:
    ended = finish(solver, ResourceLimits(cpu=1, wall=50), "signal_watchers", "server", "again")
    assert ended.ending is Ending.CPU_LIMIT
    assert gone(marked)


@METHODS
@pytest.mark.parametrize("target", [(), ("server",)], ids=["supervisor", "server"])
def test_killing_the_processes_that_watch_is_a_crash_of_the_solver(
    solver: Solver, marked: str, target: tuple[str, ...], cgroups: bool
) -> None:
    limits = ResourceLimits(cpu=30, wall=50)
    ended = finish(solver, limits, "signal_watchers", *target, "SIGKILL", cgroups=cgroups)
    assert (ended.ending, ended.exit_code, ended.signal) == (Ending.CRASHED, None, signal.SIGKILL)
    assert ended.tampered
    assert "was killed" in ended.detail
    assert gone(marked)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_other_signals_to_the_processes_that_watch_change_nothing(
    solver: Solver, marked: str, name: str
) -> None:
    ended = finish(solver, ResourceLimits(cpu=0.3), "signal_watchers", name, "server", name)
    assert ended.ending is Ending.CPU_LIMIT


def test_a_solver_stopped_by_itself_ends_at_its_limit_of_wall_time(solver: Solver, marked: str) -> None:
    ended = finish(solver, ResourceLimits(cpu=30, wall=0.5), "die", "SIGSTOP")
    assert (ended.ending, ended.tampered) == (Ending.WALL_LIMIT, False)
    assert gone(marked)


@pytest.mark.parametrize("cancel", [True, False], ids=["cancelled", "closed"])
def test_a_stopped_supervisor_does_not_hold_up_who_ends_its_run(
    solver: Solver, marked: str, cancel: bool
) -> None:
    with Launcher(cgroups=False) as launcher:
        run = launcher.start(solver("signal_watchers", "SIGSTOP", "server", "SIGSTOP"), ResourceLimits())
        wait_for(lambda: stopped(marked))
        if cancel:
            run.cancel()
            ended = run.wait(timeout=60)
    ended = run.wait(timeout=0)
    assert ended is not None
    assert ended.ending is Ending.CANCELLED
    assert gone(marked)


def stopped(mark: str) -> list[int]:
    """Return the marked processes that are stopped, according to the kernel."""
    stats = {process: Path(f"/proc/{process}/stat").read_text() for process in alive(mark)}
    return [process for process, stat in stats.items() if stat.rpartition(")")[2][1] == "T"]


@pytest.mark.parametrize("target", ["supervisor", "server", "both"])
def test_nothing_frozen_outlives_tailcut(mark: str, target: str) -> None:
    """It is killed before its watchdog has looked."""
    signals = {"supervisor": ["SIGSTOP"], "server": ["server", "SIGSTOP"]}
    names = signals.get(target, ["SIGSTOP", "server", "SIGSTOP"])
    solver = [sys.executable, "-S", str(HERE / "solvers.py"), "signal_watchers", *names]
    code = (
        "import sys, time; from tailcut.live.limits import *; from tailcut.live.limits import watchdog; "
        "watchdog.TICK = 1000; launcher = Launcher(cgroups=False); "
        "launcher.start(Command(tuple(sys.argv[1:])), ResourceLimits()); time.sleep(1000)"
    )
    environment = os.environ | {"TAILCUT_TEST_MARK": mark}
    with subprocess.Popen([sys.executable, "-c", code, *solver], env=environment) as front:
        try:
            wait_for(lambda: len(stopped(mark)) == (2 if target == "both" else 1))
        finally:
            front.kill()
    assert gone(mark)


@pytest.fixture
def frozen_group() -> Iterator[Path]:
    """A control group to freeze processes in; thawed and removed afterwards."""
    base = make_base()
    if base is None:
        pytest.skip("needs control groups (version 2) that may be written to")
    group = base / "frozen"
    group.mkdir()
    yield group
    (group / "cgroup.freeze").write_text("0")
    remove_all(base)


def test_a_solver_in_a_frozen_group_ends_at_its_limit_of_wall_time(
    solver: Solver, marked: str, frozen_group: Path
) -> None:
    ended = finish(solver, ResourceLimits(wall=0.5), "freeze", frozen_group, "itself", cgroups=True)
    assert ended.ending is Ending.WALL_LIMIT
    assert gone(marked)
    assert (frozen_group / "cgroup.procs").read_text() == ""


def test_a_supervisor_in_a_frozen_group_is_ended_when_its_run_is_overdue(
    solver: Solver, marked: str, frozen_group: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "_ENOUGH", 0.5)
    ended = finish(solver, ResourceLimits(wall=0.5), "freeze", frozen_group, "supervisor")
    assert (ended.ending, ended.tampered) == (Ending.CRASHED, True)
    assert gone(marked)
