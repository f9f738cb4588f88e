"""`tailcut run` with real processes: answers, limits, restarts, and kill -9 at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tailcut.journal import Journal, Project
from tailcut.live.instance_record import PROJECT, instance_records
from tests.live import toy

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame

TAILCUT = [sys.executable, "-c", "from tailcut.cli import main; main()"]


def tailcut(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [*TAILCUT, "run", *arguments], cwd=folder, text=True, capture_output=True, stdin=subprocess.DEVNULL
    )
    assert ended.returncode == code, ended.stderr
    return ended


def answers(folder: Path, name: str = "tailcut-run.jsonl") -> dict[str, dict[str, Any]]:
    records = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    by_name = {Path(record["instance"]).stem: record for record in records}
    assert len(by_name) == len(records), "an instance is there twice"
    return by_name


def still_running(folder: Path) -> list[str]:
    """Return the command lines of processes that have to do with the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(folder) in line and int(process.name) != os.getpid():
            found.append(line)
    return found


def test_every_way_a_run_can_end(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",))
    toy.write_instances(
        tmp_path,
        {
            "solved": "a 0.05 yes",
            "other": "a 0.05 no",
            "slow": "a 30 yes",
            "crash": "a 0.02 crash",
            "lost": "a 0.02 mumble",
            "wrong": "a 0.02 wrong",
            "broken": "broken 1 x\na 0.02 yes",
        },
    )
    ended = tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "0.5", "--outputs", "out")
    found = answers(tmp_path)
    assert {name: record["answer"] for name, record in found.items()} == {
        "solved": "yes",
        "other": "no",
        "slow": None,
        "crash": None,
        "lost": None,
        "wrong": None,
        "broken": "yes",
    }
    endings = {name: record["runs"][0]["ending"] for name, record in found.items()}
    assert endings["slow"] == "cpu limit"
    assert endings["crash"] == "crashed"
    assert endings["lost"] == endings["wrong"] == endings["solved"] == "finished"
    for name, record in found.items():
        assert record["seconds"] == pytest.approx(record["feature_seconds"] + record["runs"][0]["seconds"])
        assert record["feature_seconds"] > 0.0, name
    slow = found["slow"]
    assert slow["seconds"] >= 0.5  # never stopped early, features included
    assert "that is wrong" in found["wrong"]["runs"][0]["problem"]
    assert "no features today" in found["broken"]["problem"] or "exit code 1" in found["broken"]["problem"]
    assert "that is wrong" in ended.stderr
    assert "3 solved, 4 not" in ended.stdout
    output = Path(tmp_path / found["solved"]["runs"][0]["output"])
    assert output.read_text() == "answer yes\n"


@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule", "round_robin", "thompson_rev"])
def test_several_at_once_with_any_selector(tmp_path: Path, selector: str) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a", "b", "c"), top=f'selector = "{selector}"\ncutoff = 0.4')
    chance = random.Random(1)
    toy.write_instances(
        tmp_path, {f"i{n:02}": f"{chance.choice('abc')} {chance.uniform(0.02, 0.1)} yes" for n in range(12)}
    )
    tailcut(tmp_path, portfolio.name, "instances", "--jobs", "4")
    found = answers(tmp_path)
    assert len(found) == 12
    with Journal(tmp_path / "tailcut-run.db", read_only=True) as journal:
        project = Project(journal, PROJECT)
        assert not project.selector.pending
        assert project.verify() >= 24
        assert all(record.over for record in instance_records(project).values())
    several = [len(record["runs"]) for record in found.values()]
    assert max(several) > 1 if "schedule" in selector or selector == "round_robin" else max(several) == 1
    assert still_running(tmp_path) == []


def test_a_second_run_continues_and_takes_up_a_changed_portfolio(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 yes"})
    tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "1")
    before = toy.log(tmp_path)
    toy.write_instances(tmp_path, {"two": "a 0.02 yes\nc 0.02 yes"})
    toy.write_portfolio(tmp_path, ("a", "c"))
    ended = tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "1")
    assert "continuing: 1 instance complete" in ended.stderr
    assert "new solver c" in ended.stderr
    assert "solver b is not in the portfolio any more" in ended.stderr
    assert [line[2] for line in toy.log(tmp_path)[len(before) :] if line[0] == "start"] == ["two.toy"]
    assert set(answers(tmp_path)) == {"one", "two"}
    ended = tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "2", code=2)
    assert "was created with cutoff 1.0, not 2.0" in ended.stderr


def test_ctrl_c_ends_cleanly_and_a_restart_continues(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",))
    toy.write_instances(tmp_path, {"fast": "a 0.02 yes", "slow": "a 60 yes"})
    command = [*TAILCUT, "run", "portfolio.toml", "instances", "--cutoff", "100"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: ["start", "a", "slow.toy"] in toy.log(tmp_path))
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "run the same command again" in said
    assert "Traceback" not in said
    assert still_running(tmp_path) == []
    with Journal(tmp_path / "tailcut-run.db", read_only=True) as journal:
        project = Project(journal, PROJECT)
        assert len(project.selector.pending) == 1  # begun, and without an outcome
    toy.write_instances(tmp_path, {"slow": "a 0.02 no"})
    tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "100")
    assert {name: record["answer"] for name, record in answers(tmp_path).items()} == {
        "fast": "yes",
        "slow": "no",
    }


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited unsuccessfully"
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.release)])
@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule"])
def test_kill_9_at_random_moments_loses_no_outcome_and_runs_nothing_twice(
    tmp_path: Path, selector: str, kills: int
) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top=f'selector = "{selector}"\ncutoff = 0.3')
    chance = random.Random(selector)
    names = [f"i{n:03}" for n in range(6 * kills)]
    toy.write_instances(
        tmp_path, {name: f"{chance.choice('abc')} {chance.uniform(0.02, 0.08)} yes" for name in names}
    )
    over: set[str] = set()
    for _ in range(kills):
        logged = len(toy.log(tmp_path))
        command = [*TAILCUT, "run", "portfolio.toml", "instances", "--jobs", "2"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as running:
            wait_for(lambda: len(toy.log(tmp_path)) > logged or running.poll() is not None)  # noqa: B023
            time.sleep(chance.uniform(0.0, 0.4))
            running.kill()
        again = {line[2].removesuffix(".toy") for line in toy.log(tmp_path)[logged:] if line[0] == "start"}
        assert not again & over, "an instance that was over was run again"
        wait_for(lambda: still_running(tmp_path) == [])
        with Journal(tmp_path / "tailcut-run.db") as journal:
            project = Project(journal, PROJECT)
            project.verify()
            records = instance_records(project)
        done = {Path(name).stem for name, record in records.items() if record.over}
        assert over <= done, "an outcome was lost"
        over = done
    tailcut(tmp_path, "portfolio.toml", "instances", "--jobs", "2")
    assert set(answers(tmp_path)) == set(names)
    with Journal(tmp_path / "tailcut-run.db", read_only=True) as journal:
        counts = Counter(
            event.body["instance"] for event in Project(journal, PROJECT).history() if event.kind == "select"
        )
    assert set(counts.values()) == {1}


def test_a_list_on_standard_input_is_served_as_it_grows(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.02 yes", "two": "a 0.02 no"})
    command = [*TAILCUT, "run", "portfolio.toml", "-", "--cutoff", "5", "--selector", "random", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for name, answer in (("one", "yes"), ("two", "no")):
            running.stdin.write(f"instances/{name}.toy\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["answer"] == answer
        running.stdin.close()
        assert running.wait(30) == 0


def test_a_torn_and_a_missing_line_of_answers_are_mended(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, dict.fromkeys(("one", "two", "three"), "a 0.02 yes"))
    run = ("portfolio.toml", "instances", "--cutoff", "5", "--selector", "random")
    tailcut(tmp_path, *run)
    file = tmp_path / "tailcut-run.jsonl"
    whole = file.read_text()
    file.write_text(whole[: len(whole) // 2])
    tailcut(tmp_path, *run)
    assert sorted(file.read_text().splitlines()) == sorted(whole.splitlines())
    file.write_text("something else\n")
    assert "line 1: is not an answer" in tailcut(tmp_path, *run, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.toml", "instances", "--cutoff", "1"], "nowhere.toml: cannot be read"),
        (["portfolio.toml", "instances"], "give --cutoff"),
        (["portfolio.toml", "--cutoff", "1"], "there is nothing to run"),
        (["portfolio.toml", "nothing.toy", "--cutoff", "1"], "nothing.toy: there is no such instance file"),
        (["portfolio.toml", ".git", "--cutoff", "1"], "no such instance file"),
        (["portfolio.toml", "instances", "--cutoff", "-1"], "cutoff must be"),
        (["portfolio.toml", "instances", "--cutoff", "1", "--selector", "sbs"], "in hindsight"),
        (["portfolio.toml", "instances", "--cutoff", "1", "--selector", "x"], "unknown selector"),
        (["portfolio.toml", "instances", "--cutoff", "1", "--state", "no/where.db"], "no/where.db"),
        (["instances", "--cutoff", "1"], "instances: is a folder; give a portfolio file"),
        (
            ["typo.toml", "instances"],
            "typo.toml: selector: unknown selector 'tailct' (did you mean 'tailcut'?)",
        ),
        (["portfolio.toml", "instances", "--cutoff", "1", "--warm-start", "old.db"], "no such state file"),
        (["portfolio.toml", "instances", "--cutoff", "1", "--measure-choice", "x"], "measure_choice must be"),
    ],
)
def test_wrong_inputs_are_reported_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    toy.write_portfolio(tmp_path, ("a",))
    toy.write_instances(tmp_path, {"one": "a 0.02 yes"})
    (tmp_path / "typo.toml").write_text('selector = "tailct"\n[solvers.a]\ncommand = "a {instance}"\n')
    ended = tailcut(tmp_path, *arguments, code=2)
    assert message in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "tailcut-run.db").exists()


def test_outputs_need_a_folder(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",))
    toy.write_instances(tmp_path, {"one": "a 0.02 yes"})
    run = ("portfolio.toml", "instances", "--cutoff", "1", "--outputs", "portfolio.toml")
    said = tailcut(tmp_path, *run, code=2).stderr
    assert said == "tailcut: portfolio.toml: cannot be a folder for outputs: File exists\n"


@pytest.mark.slow
def test_looking_after_the_state_of_a_run_and_of_a_measurement(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.02 yes"})
    run = ("portfolio.toml", "instances", "--cutoff", "5", "--selector", "round_robin")
    tailcut(tmp_path, *run)
    started = len(toy.log(tmp_path))
    for command in ("verify", "compact"):
        subprocess.run([*TAILCUT, "state", command, "tailcut-run.db"], cwd=tmp_path, check=True)
    tailcut(tmp_path, *run)
    assert len(toy.log(tmp_path)) == started, "compacting made it forget what is over"
    measure = ["measure", "portfolio.toml", "instances", "--cutoff", "5", "--out", "T"]
    subprocess.run([*TAILCUT, *measure], cwd=tmp_path, check=True)
    for command in ("verify", "compact"):
        ended = subprocess.run([*TAILCUT, "state", command, "T.measure.db"], cwd=tmp_path)
        assert ended.returncode == 0
    wrong = [*TAILCUT, "state", "compact", "tailcut-run.db", "--project", PROJECT]
    assert subprocess.run(wrong, cwd=tmp_path).returncode == 2


def test_check_names_the_solver_that_does_not_work(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a", "b"))
    portfolio.write_text(
        portfolio.read_text() + '[solvers.gone]\ncommand = ["no-such-solver", "{instance}"]\n'
        '[check]\ninstance = "tiny.toy"\nanswer = "yes"\n'
    )
    (tmp_path / "tiny.toy").write_text("a 0.02 yes\nb 0.02 no")
    ended = tailcut(tmp_path, "--check", "portfolio.toml", "--json", code=1)
    tried = {one["program"]: one for one in json.loads(ended.stdout)["tried"]}
    assert tried["features"]["problem"] is None
    assert tried["a"]["problem"] is None
    assert tried["b"]["problem"] == "expected yes"
    assert "no-such-solver" in tried["gone"]["problem"]
    assert "no answer at all: gone" in ended.stderr


def test_check_needs_something_to_try(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path)
    assert "nothing to try" in tailcut(tmp_path, "--check", "portfolio.toml", code=2).stderr


def test_check_of_the_example() -> None:
    pytest.importorskip("pysat")
    example = Path(__file__).parents[2] / "examples" / "portfolio.toml"
    ended = subprocess.run(
        [*TAILCUT, "run", "--check", str(example)], text=True, capture_output=True, env=None
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "limits are enforced by" in ended.stdout


def test_a_rerun_that_asks_for_outputs_says_which_are_missing(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",))
    toy.write_instances(tmp_path, {"one": "a 0.02 yes", "two": "a 0.02 yes", "three": "a 0.02 mumble"})
    stream = ("portfolio.toml", "instances", "--cutoff", "5")
    tailcut(tmp_path, *stream)
    toy.write_instances(tmp_path, {"four": "a 0.02 yes"})
    missing = "2 instances were answered before and have no output in out"
    assert missing in tailcut(tmp_path, *stream, "--outputs", "out").stderr
    assert len(list((tmp_path / "out").iterdir())) == 1, "that of the new instance"
    assert "no output" not in tailcut(tmp_path, *stream).stderr


@pytest.mark.parametrize("selector", ["random", "round_robin"])
@pytest.mark.parametrize("kind", ["select", "observe"])
def test_what_two_processes_wrote_is_named_repaired_and_continued(
    tmp_path: Path, selector: str, kind: str
) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    toy.write_instances(tmp_path, dict.fromkeys("xyz", "a 0.01 yes\nb 0.01 yes"))
    call = ("portfolio.toml", "--cutoff", "5", "--selector", selector)
    tailcut(tmp_path, *call, "instances/x.toy", "instances/y.toy")
    state = tmp_path / "tailcut-run.db"
    with sqlite3.connect(state) as db:
        db.execute("DROP INDEX events_by_decision")
        columns = "project, at, kind, body, key, decision"
        last = f"SELECT {columns} FROM events WHERE kind = ? ORDER BY number DESC LIMIT 1"
        db.execute(f"INSERT INTO events ({columns}) {last}", (kind,))
    db.close()
    refused = tailcut(tmp_path, *call, "instances", code=2)
    assert "'tailcut state repair tailcut-run.db' keeps all that is intact" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    repaired = subprocess.run([*TAILCUT, "state", "repair", str(state)], capture_output=True, text=True)
    assert repaired.returncode == 0
    assert "1 dropped" in repaired.stdout
    tailcut(tmp_path, *call, "instances")
    assert {name: record["answer"] for name, record in answers(tmp_path).items()} == dict.fromkeys(
        "xyz", "yes"
    )
    verified = subprocess.run([*TAILCUT, "state", "verify", str(state)], capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout


def test_a_damaged_event_is_named_and_so_is_the_way_out(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",))
    toy.write_instances(tmp_path, dict.fromkeys("xyz", "a 0.01 yes"))
    call = ("portfolio.toml", "--cutoff", "5", "--selector", "random")
    tailcut(tmp_path, *call, "instances/x.toy", "instances/y.toy")
    with sqlite3.connect(tmp_path / "tailcut-run.db") as db:
        db.execute("UPDATE events SET body = '{' WHERE number = 3")
        db.execute("DELETE FROM snapshots")
    db.close()
    refused = tailcut(tmp_path, *call, "instances", code=2)
    assert "event 3" in refused.stderr
    assert "'tailcut state repair tailcut-run.db' keeps all that is intact" in refused.stderr
    subprocess.run([*TAILCUT, "state", "repair", str(tmp_path / "tailcut-run.db")], check=True)
    ended = tailcut(tmp_path, *call, "instances")  # the instance whose decision is lost is run again
    assert "3 instances: 3 solved" in ended.stdout
