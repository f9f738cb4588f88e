"""`tailcut run --learn-idle` with real processes: lessons stand back, are learned, and cost no answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailcut.journal import Event, EventKind, Journal, Project
from tailcut.live.costs import cost_of_stream
from tailcut.live.stream import PROJECT
from tests.live import toy
from tests.live.commands import TAILCUT, answers, tailcut, wait_for

LESSON = """
if os.nice(0) == 19:
    note("lesson")
    if "LESSON" not in os.environ:
        while time.process_time() < 0.04:
            pass
        note("enough")
        time.sleep(1000)
    own = [[name, *os.environ["LESSON"].split()]]
    limit = float(own[0][1])
while os.nice(0) < 19 and os.path.exists(path + ".hold"):
    time.sleep(0.01)
"""
"""What the toys do at the lowest priority: burn 0.04 s and sleep, unless the environment has another line.

For an answer they work at once, unless a file says to hold.
"""
CUTOFF = 2
"""Lessons then have 0.2 s, and 0.02 s are worth keeping: little, for they wait for a busy machine."""
WALL_FACTOR = 3000
"""A lesson that sleeps would then do so for ten minutes."""

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.nice(0) == 19, reason="run at the priority of lessons: use nice -n 18 or less"),
]


def prepare(folder: Path, selector: str = "tailcut", count: int = 4) -> None:
    """Write instances that all solvers answer soon, and solvers that know when they run for a lesson."""
    toy.write_portfolio(folder, ("a", "b", "c"), top=f'selector = "{selector}"\nwall_factor = {WALL_FACTOR}')
    burn = "while time.process_time() < limit:"
    (folder / "solver.py").write_text(toy.SOLVER.replace(burn, LESSON + burn))
    toy.write_instances(folder, {f"i{n}": "a 0.02 yes\nb 0.03 yes\nc 0.04 yes" for n in range(count)})


def started(folder: Path, word: str = "lesson") -> list[list[str]]:
    """Return the lessons that were started, or came to another word: solver, instance."""
    return [rest for noted, *rest in toy.log(folder) if noted == word]


def wait_for_lessons(condition: Callable[[], bool]) -> None:
    """Wait for what is done at the lowest priority: where all processors are busy, that takes long."""
    wait_for(condition, seconds=240.0)


def lessons(folder: Path) -> list[Event]:
    """Return the events of all lessons, after making sure that the history can be repeated."""
    tailcut(folder, "state", "verify", "tailcut-run.db")
    return learned(folder)


def learned(folder: Path) -> list[Event]:
    """Return the events of all lessons so far."""
    with Journal(folder / "tailcut-run.db", read_only=True) as journal:
        events = list(Project(journal, PROJECT).history())
    return [event for event in events if event.kind is EventKind.FIT and "lesson" in event.body["note"]]


@contextmanager
def listening(folder: Path, *more: str, lesson: str | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run what is given on standard input, line by line."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*TAILCUT, "run", "portfolio.toml", "-", "--json", *more],
        cwd=folder,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        bufsize=1,
        env={**os.environ, **({"LESSON": lesson} if lesson else {})},
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def give(running: subprocess.Popen[str], name: str) -> None:
    """Give an instance."""
    assert running.stdin is not None
    running.stdin.write(f"instances/{name}.toy\n")


def serve(running: subprocess.Popen[str], name: str) -> float:
    """Give an instance and wait for its answer; return how long that took."""
    begun = time.monotonic()
    give(running, name)
    return read_answer(running, name) - begun


def read_answer(running: subprocess.Popen[str], name: str) -> float:
    """Wait for an answer, which is the next one; return when it came."""
    assert running.stdout is not None
    line = json.loads(running.stdout.readline())
    assert (Path(line["instance"]).stem, line["answer"]) == (name, "yes")
    return time.monotonic()


def end(running: subprocess.Popen[str]) -> tuple[dict[str, float], str]:
    """End the list; return what is said of lessons, and on standard error."""
    said, errors = running.communicate(timeout=240)
    assert running.returncode == 0, errors
    found: dict[str, float] = json.loads(said)["lessons"]
    return found, errors


@pytest.mark.parametrize(("jobs", "selector"), [(1, "tailcut"), (2, "tailcut"), (2, "tailcut_schedule")])
def test_an_instance_that_comes_while_lessons_run_starts_at_once(
    tmp_path: Path, jobs: int, selector: str
) -> None:
    prepare(tmp_path, selector)
    with listening(tmp_path, "--cutoff", str(CUTOFF), "--jobs", str(jobs), "--learn-idle") as running:
        serve(running, "i0")
        wait_for_lessons(lambda: len(started(tmp_path, "enough")) == jobs)
        assert serve(running, "i1") < 60.0, "lessons would sleep on for ten minutes"
        wait_for_lessons(lambda: len(started(tmp_path)) > jobs)  # and again
        said, errors = end(running)
    assert "problem" not in errors
    first = lessons(tmp_path)[0].body
    assert first["solved"] == [[False]]
    assert 0.02 <= first["watched"][0][0] < 0.2
    assert first["note"]["run"]["ending"] == "cancelled"
    assert [first["note"]["lesson"], "i0.toy"] in started(tmp_path)[:jobs]
    assert said["runs"] == len(lessons(tmp_path))
    assert said["extra_seconds"] >= sum(one.body["note"]["run"]["seconds"] for one in lessons(tmp_path))


def test_of_two_workers_the_one_with_a_lesson_takes_what_comes(tmp_path: Path) -> None:
    prepare(tmp_path)
    hold = tmp_path / "instances" / "i1.toy.hold"
    hold.touch()
    with listening(tmp_path, "--cutoff", str(CUTOFF), "--jobs", "2", "--learn-idle") as running:
        give(running, "i1")
        wait_for(lambda: any(line[0] == "start" and line[2] == "i1.toy" for line in toy.log(tmp_path)))
        serve(running, "i0")
        wait_for_lessons(
            lambda: len(started(tmp_path, "enough")) == 1
        )  # one worker is busy, one has a lesson
        assert serve(running, "i2") < 60.0, "the lesson would sleep on for ten minutes"
        wait_for(lambda: len(learned(tmp_path)) == 1)
        assert hold.exists()
        hold.unlink()
        read_answer(running, "i1")
        end(running)
    first = lessons(tmp_path)[0].body
    assert (first["instances"], first["note"]["run"]["ending"]) == (["instances/i0.toy"], "cancelled")


def test_what_lessons_take_is_counted_apart_and_changes_no_answer(tmp_path: Path) -> None:
    prepare(tmp_path)
    with listening(tmp_path, "--cutoff", "2", "--jobs", "2", "--learn-idle", lesson="0.03 yes") as running:
        for number in range(2):
            serve(running, f"i{number}")
        # Two other solvers on two instances, and then there is nothing more to learn.
        wait_for_lessons(lambda: len(started(tmp_path, "answer")) == 2 + 4 and len(learned(tmp_path)) == 4)
        said, _ = end(running)
    events = lessons(tmp_path)
    seconds = sum(event.body["note"]["run"]["seconds"] for event in events)
    assert len({(event.body["instances"][0], event.body["note"]["lesson"]) for event in events}) == 4
    assert all(event.body["solved"] == [[True]] and event.body["runs"] == 1 for event in events)
    assert said == {"runs": 4, "extra_seconds": pytest.approx(seconds)}
    assert all(record["seconds"] < 1.0 and len(record["runs"]) == 1 for record in answers(tmp_path).values())
    with Journal(tmp_path / "tailcut-run.db", read_only=True) as journal:
        cost = cost_of_stream(journal, 2.0)
    assert cost.seconds == pytest.approx(sum(one["seconds"] for one in answers(tmp_path).values()))
    # A later call knows them, and makes none without being asked.
    again = tailcut(tmp_path, "run", "portfolio.toml", "instances", "--cutoff", "2")
    assert f"{seconds:.1f} s extra for 4 lessons" in again.stdout
    assert len(started(tmp_path, "answer")) == 2 + 4 + 2


def test_nothing_changes_without_being_asked(tmp_path: Path) -> None:
    prepare(tmp_path)
    ended = tailcut(tmp_path, "run", "portfolio.toml", "instances", "--cutoff", "2", "--jobs", "4")
    assert "lesson" not in ended.stdout
    assert not started(tmp_path)
    assert not lessons(tmp_path)


def test_a_share_runs_beside_and_is_kept_to(tmp_path: Path) -> None:
    prepare(tmp_path, count=20)
    hold = tmp_path / "instances" / "i1.toy.hold"
    hold.touch()
    share = ("--cutoff", str(CUTOFF), "--learn-share", "0.2")
    with listening(tmp_path, *share, lesson="0.03 yes") as running:
        serve(running, "i0")
        give(running, "i1")
        wait_for_lessons(lambda: len(learned(tmp_path)) > 0)  # the only worker is busy
        hold.unlink()
        read_answer(running, "i1")
        for number in range(2, 20):
            serve(running, f"i{number}")
        said, _ = end(running)
    spent = sum(record["seconds"] for record in answers(tmp_path).values())
    assert said["runs"] == len(lessons(tmp_path)) > 0
    assert said["extra_seconds"] < 0.2 * spent + 0.2, "the last one may exceed it"
    assert len(answers(tmp_path)) == 20


def test_a_lesson_that_contradicts_the_answer_is_reported(tmp_path: Path) -> None:
    prepare(tmp_path)
    with listening(tmp_path, "--cutoff", "2", "--learn-idle", lesson="0.02 no") as running:
        serve(running, "i0")
        wait_for_lessons(lambda: len(started(tmp_path, "answer")) > 1 and len(learned(tmp_path)) > 0)
        _, errors = end(running)
    assert "solvers disagree" in errors
    assert answers(tmp_path)["i0"]["answer"] == "yes"


def test_kill_9_in_the_middle_of_a_lesson_loses_nothing_else(tmp_path: Path) -> None:
    prepare(tmp_path)
    with listening(tmp_path, "--cutoff", str(CUTOFF), "--jobs", "2", "--learn-idle") as running:
        serve(running, "i0")
        wait_for_lessons(lambda: len(started(tmp_path)) == 2)
        running.send_signal(signal.SIGKILL)
        running.wait(timeout=60)
    before = answers(tmp_path)
    assert not lessons(tmp_path)
    tailcut(tmp_path, "run", "portfolio.toml", "instances", "--cutoff", str(CUTOFF))
    assert len(answers(tmp_path)) == 4
    assert answers(tmp_path)["i0"] == before["i0"]
    assert sum(line[0] == "start" and line[2] == "i0.toy" for line in toy.log(tmp_path)) == 3  # lessons, too


@pytest.mark.parametrize("option", [("--learn-idle",), ("--learn-share", "0.1")])
def test_where_lessons_would_teach_wrong_times_they_are_refused(
    tmp_path: Path, option: tuple[str, ...]
) -> None:
    toy.write_portfolio(tmp_path, top='clock = "wall"')
    toy.write_instances(tmp_path, {"i": "a 0.02 yes"})
    run = ("run", "portfolio.toml", "instances", "--cutoff", "2", *option)
    assert "lowest priority" in tailcut(tmp_path, *run, code=2).stderr
    assert "on this machine" in tailcut(tmp_path, *run, "--executor", "dask", code=2).stderr
