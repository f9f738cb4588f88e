"""`tailcut measure` with real processes."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tailcut.scenarios import Scenario
from tests.cli.test_run import TAILCUT, still_running, wait_for
from tests.live import toy


def tailcut(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run([*TAILCUT, *arguments], cwd=folder, text=True, capture_output=True)
    assert ended.returncode == code, ended.stderr
    return ended


pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame

INSTANCES = {
    "one": "a 0.02 yes\nb 0.3 yes",
    "two": "a 0.02 crash\nb 0.02 no",
    "three": "a 9 yes\nb 0.02 mumble",
    "four": "broken 1 x\na 0.05 yes\nb 9 no",
}


@pytest.mark.slow
def test_a_measured_scenario_is_read_and_benched(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path)
    toy.write_instances(tmp_path, INSTANCES)
    measure = ("measure", "portfolio.toml", "instances", "--cutoff", "0.6", "--out", "TOYS")
    ended = tailcut(tmp_path, *measure, "--note", "Made for a test.", "--json")
    assert json.loads(ended.stdout) == {"folder": "TOYS", "instances": 4, "runs": 8, "solved": 0.75}
    scenario = Scenario.read(tmp_path / "TOYS", cache=False)
    assert scenario.instances == ("four.toy", "one.toy", "three.toy", "two.toy")
    assert scenario.algorithms == ("a", "b")
    assert scenario.solved.tolist() == [[True, False], [True, True], [False, False], [False, True]]
    words = [[scenario.status(i, a) for a in range(2)] for i in range(4)]
    assert words == [["ok", "timeout"], ["ok", "ok"], ["timeout", "other"], ["crash", "ok"]]
    assert scenario.feature_names == ("size", "first")
    assert scenario.features[1].tolist() == [2.0, 0.02]
    assert (scenario.feature_cost > 0.0).all()
    assert scenario.runtimes[0, 1] >= 0.6
    assert scenario.ground_truth == {"answer": ("yes", "yes", None, "no")}
    text = (tmp_path / "TOYS" / "readme.txt").read_text()
    assert "Made for a test." in text
    assert "[solvers.b]" in text
    tailcut(tmp_path, "scenario", "check", "TOYS")
    bench = ("bench", "--aslib", ".", "--selector", "tailcut", "--selector", "oracle", "--seeds", "1")
    rows = json.loads(tailcut(tmp_path, *bench, "--jobs", "1", "--json").stdout)
    assert {row["selector"] for row in rows} == {"tailcut", "oracle"}
    assert "already holds a scenario" in tailcut(tmp_path, *measure, code=2).stderr


def test_measuring_continues_after_kill_9(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path)
    toy.write_instances(tmp_path, {f"i{n}": "a 0.05 yes\nb 0.05 yes" for n in range(10)})
    measure = ["measure", "portfolio.toml", "instances", "--cutoff", "5", "--out", "TOYS"]
    with subprocess.Popen([*TAILCUT, *measure], cwd=tmp_path) as running:
        wait_for(lambda: len(toy.log(tmp_path)) > 12)
        running.kill()
    wait_for(lambda: still_running(tmp_path) == [])
    time.sleep(0.1)
    ended = tailcut(tmp_path, *measure)
    before, *lines = [line for line in ended.stderr.splitlines() if line.startswith("measured")]
    assert "of 30 runs" in before
    assert 10 <= len(lines) < 30, "progress is printed to a pipe, too, and not from the start"
    assert lines[-1] == "measured: 30 of 30 runs"
    starts = [tuple(line[1:]) for line in toy.log(tmp_path) if line[0] == "start"]
    assert 20 <= len(starts) <= 21  # none again but the one that was in progress
    assert Scenario.read(tmp_path / "TOYS", cache=False).solved.all()


def test_solvers_that_contradict_each_other_are_an_error(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path)
    toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 no"})
    ended = tailcut(tmp_path, "measure", "portfolio.toml", "instances", "--cutoff", "5", "--out", "T", code=2)
    assert "solvers disagree" in ended.stderr
    assert "one.toy: a says yes, b says no" in ended.stderr
    assert not (tmp_path / "T").exists()
