"""`tailcut solve --parallel`: several solvers at once, the first answer wins, everything is learned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailcut.journal import Journal, Project
from tailcut.live.instance_record import PROJECT, instance_records
from tests.live import toy
from tests.solve.calls import Learned, end_daemons, processes, solve

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame

CALL = ("--portfolio", "portfolio.toml", "--state", "s.db", "--report", "r.json")


def test_the_first_answer_wins_and_the_others_are_stopped(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 50 no\nb 0.3 yes\nc 50 no"})
    try:
        ended = solve(tmp_path, *CALL, "--parallel", "3", "instances/one.toy")
        assert (ended.stdout, ended.returncode) == (b"answer yes\n", 0), ended.stderr
        assert processes(tmp_path, "one.toy") == []
    finally:
        end_daemons(tmp_path)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["solver"] == "b"
    assert {run["solver"]: run["ending"] for run in report["runs"]} == {
        "a": "cancelled",
        "b": "finished",
        "c": "cancelled",
    }
    assert report["cpu"] >= sum(run["cpu"] for run in report["runs"])
    assert report["wall"] < 50
    learned = Learned(tmp_path / "s.db")
    assert sorted(learned.statuses) == ["censored", "censored", "solved"]
    assert learned.pending == 0
    with Journal(tmp_path / "s.db") as journal:
        project = Project(journal, PROJECT)
        (record,) = instance_records(project).values()
        assert (project.statistics.instances, project.statistics.solved) == (1, 1)
    assert (record.answer, len(record.runs), record.complete) == ("yes", 3, True)


def test_a_core_that_is_free_is_used_again(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 50 no\nb 0.05 mumble\nc 0.2 yes"})
    try:
        ended = solve(tmp_path, *CALL, "--parallel", "2", "instances/one.toy")
    finally:
        end_daemons(tmp_path)
    assert ended.stdout == b"answer yes\n", ended.stderr
    assert sorted(Learned(tmp_path / "s.db").statuses) == ["censored", "failed", "solved"]


def test_a_race_that_nobody_wins_is_one_unsolved_instance(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 0.05 mumble\nb 0.05 mumble"})
    try:
        ended = solve(tmp_path, *CALL, "--parallel", "2", "instances/one.toy")
    finally:
        end_daemons(tmp_path)
    assert (ended.stdout, ended.returncode) == (b"", 1)
    with Journal(tmp_path / "s.db") as journal:
        project = Project(journal, PROJECT)
        (record,) = instance_records(project).values()
        assert (project.statistics.instances, project.statistics.solved) == (1, 0)
    assert record.complete
