"""`tailcut run --parallel`: several solvers at once on each instance of a stream; the first answer wins."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.journal.instances import Instances
from tailcut.live import Callbacks, run
from tailcut.live.instance_record import PROJECT, instance_records
from tailcut.live.monitor import followed_run
from tests.live import toy

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame

ONE_WINS = "a 50 no\nb 0.3 yes\nc 50 no"


def lines(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the answers by the stems of their instances; each is there once."""
    read = [json.loads(line) for line in (folder / "s.jsonl").read_text().splitlines()]
    found = {Path(line["instance"]).stem: line for line in read}
    assert len(found) == len(read)
    return found


def endings(line: dict[str, Any]) -> dict[str, str]:
    return {one["solver"]: one["ending"] for one in line["runs"]}


def race(folder: Path, k: int, **more: Any) -> Any:
    return run(
        folder / "portfolio.toml",
        [folder / "instances"],
        state=folder / "s.db",
        parallel=k,
        **more,
    )


@pytest.mark.parametrize("selector", ["tailcut_schedule", "tailcut", "round_robin"])
def test_the_first_answer_wins_and_everything_is_learned(tmp_path: Path, selector: str) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": ONE_WINS, "two": "a 50 no\nb 50 no\nc 0.2 yes"})
    totals = race(tmp_path, 3, selector=selector)
    assert (totals.solved, totals.raced) == (2, 2)
    found = lines(tmp_path)
    assert endings(found["one"]) == {"a": "cancelled", "b": "finished", "c": "cancelled"}
    assert found["two"]["solver"] == "c"
    for line in found.values():
        assert line["cpu"] == pytest.approx(line["feature_seconds"] + sum(r["cpu"] for r in line["runs"]))
        won = next(one for one in line["runs"] if one["answer"] is not None)
        assert line["seconds"] == pytest.approx(line["feature_seconds"] + won["seconds"])
        assert line["wall"] < 50
    assert totals.cpu == pytest.approx(sum(line["cpu"] for line in found.values()))
    assert totals.wall == pytest.approx(sum(line["wall"] for line in found.values()))
    with Journal(tmp_path / "s.db") as journal:
        project = Project(journal, PROJECT)
        served = Instances(60.0, schedules=project.selector.schedules)
        served.take_all(project.history())
        assert project.selector.pending == ()
        statuses = sorted(e.outcome().status.value for e in project.history() if e.kind == "observe")
        assert statuses == ["censored"] * 4 + ["solved"] * 2
    assert [(one.solved, len(one.runs), one.raced) for one in served.over] == [(True, 3, True)] * 2
    for one in served.over:
        assert one.seconds == pytest.approx(found[Path(str(one.name)).stem]["seconds"])
    assert followed_run(tmp_path / "s.db").look()["latest"][0]["solver"] in {"b", "c"}


def test_a_core_that_is_free_is_used_by_the_next(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 50 no\nb 0.05 mumble\nc 0.2 yes"})
    race(tmp_path, 2)
    line = lines(tmp_path)["one"]
    assert endings(line) == {"a": "cancelled", "b": "finished", "c": "finished"}
    began = {one["solver"]: one["began"] for one in line["runs"]}
    assert began["c"] > began["a"]


@pytest.mark.parametrize("selector", ["tailcut_schedule", "tailcut", "round_robin"])
def test_a_race_that_nobody_wins_is_one_unsolved_instance(tmp_path: Path, selector: str) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 0.05 mumble\nb 0.05 mumble\nc 0.05 crash"})
    totals = race(tmp_path, 2, selector=selector)
    assert (totals.unsolved, totals.raced) == (1, 1)
    assert len(lines(tmp_path)["one"]["runs"]) == 3
    again = race(tmp_path, 2, selector=selector)
    assert (again.skipped, again.over) == (1, 1)


def test_an_answer_that_is_refuted_does_not_win(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 0.05 wrong\nb 0.5 yes"})
    race(tmp_path, 2)
    assert lines(tmp_path)["one"]["solver"] == "b"


def test_kill_and_continue(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top="cutoff = 60")
    toy.write_instances(tmp_path, {f"i{n}": "a 50 no\nb 0.5 yes\nc 50 no" for n in range(4)})
    command = [sys.executable, "-m", "tailcut", "run", "portfolio.toml", "instances"]
    command += ["--parallel", "3", "--jobs", "2", "--state", "s.db"]
    for _ in range(3):
        started = len([word for word, *_ in toy.log(tmp_path) if word == "start"])
        process = subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        until = time.monotonic() + 60
        while len([word for word, *_ in toy.log(tmp_path) if word == "start"]) < started + 4:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    ended = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "4 solved" in ended.stdout
    assert "of CPU time" in ended.stdout
    found = lines(tmp_path)
    assert {name: line["answer"] for name, line in found.items()} == {f"i{n}": "yes" for n in range(4)}
    with Journal(tmp_path / "s.db") as journal:
        project = Project(journal, PROJECT)
        observed = [event.body["decision"] for event in project.history() if event.kind == "observe"]
        assert len(observed) == len(set(observed)) == project.selector.decisions
        records = instance_records(project)
    assert all(record.complete for record in records.values())
    for record in records.values():
        assert record.as_dict() == found[Path(record.instance).stem], "the answers are those of the journal"


def test_a_race_that_was_begun_is_finished_by_a_call_without(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 0.1 yes\nb 0.1 yes"})

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        race(tmp_path, 2, callbacks=Callbacks(on_start=stop))
    totals = race(tmp_path, 1)
    assert totals.solved == 1
    assert lines(tmp_path)["one"]["answer"] == "yes"
    with Journal(tmp_path / "s.db") as journal:
        assert Project(journal, PROJECT).selector.pending == ()


def test_races_are_checked_before_anything_is_run(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), top="cutoff = 60")
    toy.write_instances(tmp_path, {"one": "a 0.1 yes"})
    with pytest.raises(InputError, match="parallel"):
        race(tmp_path, 0)


def test_each_core_has_the_whole_cutoff_by_the_clock_that_counts(tmp_path: Path) -> None:
    """On a busy machine two seconds of wall time are not two seconds of CPU time."""
    toy.write_portfolio(tmp_path, ("a", "b", "c", "d"), top="cutoff = 1")
    toy.write_instances(tmp_path, {"one": "e 1 no"})
    race(tmp_path, 4)
    line = lines(tmp_path)["one"]
    used = sum(one["seconds"] for one in line["runs"])
    assert used >= 0.9 * 4 * (1 - line["feature_seconds"])
    assert line["seconds"] == pytest.approx(1.0, abs=0.15)
