"""What a stream is fed with: shuffled folders, lists with priorities, watched folders, second attempts."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.journal import Journal, Project
from tailcut.live.instance_record import PROJECT, instance_records
from tailcut.live.instances import Arrivals, Instance, watched
from tests.live import toy
from tests.live.commands import TAILCUT, answers, tailcut, wait_for

SHORT = ("run", "portfolio.toml", "instances", "--cutoff", "0.2")


def started(folder: Path) -> list[str]:
    return [Path(line[2]).stem for line in toy.log(folder) if line[0] == "start"]


def test_a_sorted_folder_is_said_to_be_bad_and_shuffled_by_the_seed(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    names = [f"{family}{n}" for family in ("bmc", "php") for n in range(10)]
    toy.write_instances(tmp_path, dict.fromkeys(names, "a 0.001 yes"))
    run = ("run", "portfolio.toml", "instances", "--cutoff", "5")
    ended = tailcut(tmp_path, *run)
    assert "come family by family (instances/bmc*, instances/php*)" in ended.stderr
    assert started(tmp_path) == sorted(names)
    orders: list[list[str]] = []
    for seed in ("1", "1", "2"):
        (tmp_path / "log.txt").unlink()
        ended = tailcut(tmp_path, *run, "--shuffle", "--seed", seed, "--state", f"s{len(orders)}.db")
        assert "family by family" not in ended.stderr
        orders.append(started(tmp_path))
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(names) != orders[0]
    refused = tailcut(tmp_path, "run", "portfolio.toml", "-", "--cutoff", "5", "--shuffle", code=2)
    assert "cannot be shuffled" in refused.stderr


def test_a_list_gives_priorities_and_cutoffs_and_wrong_lines_are_named(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"first": "a 1 yes", "low": "a 0.01 yes", "high": "a 0.01 yes", "slow": ""})
    lines = [
        "instances/first.toy",
        json.dumps({"instance": "instances/low.toy", "priority": -1}),
        json.dumps({"instance": "instances/slow.toy", "cutoff": 0.3, "priority": 1}),
        json.dumps({"instance": "instances/high.toy", "priority": 9}),
        '{"instance": "instances/low.toy", "prioritty": 1}',
        '{"instance": "instances/low.toy", "cutoff": -1}',
        "{",
    ]
    ended = subprocess.run(
        [*TAILCUT, "run", "portfolio.toml", "-", "--cutoff", "5"],
        cwd=tmp_path,
        input="\n".join(lines),
        text=True,
        capture_output=True,
    )
    assert ended.returncode == 0, ended.stderr
    order = started(tmp_path)
    assert order[-3:] == ["high", "slow", "low"] or order[:4] == ["high", "slow", "first", "low"]
    assert "problem: line 5: prioritty is not known" in ended.stderr
    assert "problem: line 6: cutoff" in ended.stderr
    assert "problem: line 7: is not JSON" in ended.stderr
    slow = answers(tmp_path)["slow"]
    assert slow["answer"] is None
    assert sum(run["budget"] for run in slow["runs"]) <= 0.3 + 1e-9
    with Journal(tmp_path / "tailcut-run.db") as journal:
        project = Project(journal, PROJECT)
        assert instance_records(project)["instances/slow.toy"].cutoff == 0.3
        project.verify()


def test_a_watched_folder_is_served_as_it_fills(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    folder = toy.write_instances(tmp_path, {"one": "a 0.01 yes"})
    command = [*TAILCUT, "run", "portfolio.toml", "--watch", "instances", "--cutoff", "5"]
    answered = tmp_path / "tailcut-run.jsonl"

    def over() -> int:
        return len(answered.read_text().splitlines()) if answered.exists() else 0

    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: over() == 1 or process.poll() is not None)
        (folder / ".half.toy").write_text("a 0.01 yes")
        (folder / "notes.txt").write_text("no instance")
        toy.write_instances(tmp_path, {"two": "a 0.01 yes", "three": "a 0.01 yes"})
        wait_for(lambda: over() == 3 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "run the same command again" in said
    assert set(answers(tmp_path)) == {"one", "two", "three"}
    refused = tailcut(tmp_path, "run", "portfolio.toml", "--watch", "nowhere", "--cutoff", "5", code=2)
    assert "there is no such folder to watch" in refused.stderr


def test_a_file_that_is_being_written_waits(tmp_path: Path) -> None:
    looks = watched(tmp_path, ("*.toy",))
    (tmp_path / "a.toy").write_text("x")
    assert next(looks).name == str(tmp_path / "a.toy")


def test_an_error_of_a_source_is_raised() -> None:
    def failing() -> Iterator[Instance]:
        yield Instance("a", Path("/a"))
        raise OSError("torn")

    arrivals = Arrivals(failing())
    arrivals.wait()
    with pytest.raises(OSError, match="torn"):
        list(arrivals)


def test_unsolved_and_failed_instances_are_served_again_with_another_cutoff(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"easy": "a 0.01 yes", "slow": "a 0.6 yes", "crash": "a 0.01 crash"})
    tailcut(tmp_path, *SHORT)
    failed = tailcut(tmp_path, "run", "portfolio.toml", "--retry", "failed")
    assert started(tmp_path).count("crash") == 2
    assert started(tmp_path).count("slow") == 1
    assert "crash.toy is run again: as wanted" in failed.stderr
    for _ in range(2):  # the second time there is nothing left that had less time
        ended = tailcut(tmp_path, "run", "portfolio.toml", "--retry", "unsolved", "--cutoff", "5")
    assert started(tmp_path).count("easy") == 1
    assert started(tmp_path).count("slow") == 2
    assert started(tmp_path).count("crash") == 3
    assert "2 solved, 1 not" in ended.stdout
    with Journal(tmp_path / "tailcut-run.db") as journal:
        project = Project(journal, PROJECT)
        found = instance_records(project)["instances/slow.toy"]
        assert (found.answer, found.attempt, found.cutoff) == ("yes", 1, 5.0)
        project.verify()
    lines = [json.loads(line) for line in (tmp_path / "tailcut-run.jsonl").read_text().splitlines()]
    assert [line.get("attempt", 0) for line in lines if "crash" in line["instance"]] == [0, 1, 2]
    (tmp_path / "tailcut-run.jsonl").unlink()
    tailcut(tmp_path, *SHORT)
    assert answers(tmp_path)["slow"]["answer"] == "yes", "the file of answers is made again from the state"
    wrong = tailcut(tmp_path, "run", "portfolio.toml", "--retry", "everything", code=2)
    assert "--retry must be one of unsolved, failed" in wrong.stderr
    none = tailcut(tmp_path, "run", "portfolio.toml", "--retry", "failed", "--state", "no.db", code=2)
    assert "there is no such state file" in none.stderr
