"""Too many runs for the processors: those that waited are censored, those that slept have failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.journal import Journal, Project
from tailcut.live.instance_record import PROJECT
from tailcut.live.limits import Command, Ending, Launcher, ResourceLimits
from tailcut.scenarios import Scenario
from tailcut.types import Status
from tests.cli.test_run import answers, tailcut
from tests.live import toy

ONE_CORE = f"""
import os, time
os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})
"""
SPIN = ONE_CORE + "while True: pass\n"
SLEEP = ONE_CORE + "time.sleep(100)\n"


@pytest.mark.parametrize("cgroups", [True, False])
def test_waiting_is_told_from_sleeping(cgroups: bool) -> None:
    limits = ResourceLimits(cpu=1.0, wall=2.0)
    python = [sys.executable, "-I", "-S", "-c"]
    with Launcher(cgroups=cgroups) as launcher:
        runs = [launcher.start(Command((*python, SPIN)), limits) for _ in range(7)]
        runs.append(launcher.start(Command((*python, SLEEP)), limits))
        runs.append(launcher.start(Command(("sh", "-c", f"{sys.executable} -I -S -c '{SPIN}'; :")), limits))
        *spinners, sleeper, child = [run.wait() for run in runs]
    for ended in (*spinners, child):
        assert ended is not None
        assert ended.ending is Ending.WALL_LIMIT
        assert ended.cpu < 0.8
        assert ended.cpu + ended.waited >= 1.0
    assert sleeper is not None
    assert sleeper.ending is Ending.WALL_LIMIT
    assert sleeper.cpu + sleeper.waited < 1.0


def test_run_and_measure_learn_the_same_from_contention(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), top="cutoff = 2\nwall_factor = 0.01", features=False)
    (tmp_path / "solver.py").write_text(
        f"import sys\nif 'sleep' in sys.argv[2]:\n    exec({SLEEP!r})\nexec({SPIN!r})"
    )
    toy.write_instances(tmp_path, dict.fromkeys([*(f"spin{n}" for n in range(15)), "sleep"], ""))
    ended = tailcut(tmp_path, "portfolio.toml", "instances", "--jobs", "16", "--selector", "random")
    found = answers(tmp_path)
    assert {record["runs"][0]["ending"] for record in found.values()} == {"wall limit"}
    with Journal(tmp_path / "tailcut-run.db", read_only=True) as journal:
        history = list(Project(journal, PROJECT).history())
    decisions = {
        event.body["decision"]["id"]: Path(event.body["instance"]).stem
        for event in history
        if event.kind == "select"
    }
    learned = {decisions[one.body["decision"]]: one.outcome() for one in history if one.kind == "observe"}
    assert learned.pop("sleep").status is Status.FAILED
    assert {one.status for one in learned.values()} == {Status.CENSORED}
    assert all(one.time is not None and one.time < 1.5 for one in learned.values())
    assert ended.stderr.count("a larger wall_factor") == 15
    command = [sys.executable, "-m", "tailcut", "measure", "portfolio.toml", "instances", "--jobs", "16"]
    subprocess.run([*command, "--out", "T"], cwd=tmp_path, check=True, capture_output=True)
    scenario = Scenario.read(tmp_path / "T", cache=False)
    statuses = {name: scenario.status(row, 0) for row, name in enumerate(scenario.instances)}
    assert statuses.pop("sleep.toy") == "other"
    assert set(statuses.values()) == {"timeout"}
