"""A stream continues whatever features print and instances are called, and a full disk loses nothing."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.live.instances import read_line
from tailcut.live.stream import output_name
from tests.cli.test_run import TAILCUT, answers, still_running, tailcut
from tests.live import toy
from tests.live.limits.conftest import MARK, alive, end_marked, gone, wait_for

DEEP = "[" * 100_000
PRINTS = {
    "infinity": '{"x": Infinity, "y": 1}',
    "beyond": '{"x": 1e400, "y": 1}',
    "long": '{"x": ' + "9" * 400 + ', "y": 1}',
    "endless": '{"x": ' + "9" * 5000 + ', "y": 1}',
    "deep": '{"x": ' + DEEP + "}",
    "text": '{"x": "many", "y": 1}',
    "empty": "{}",
    "nameless": '{"": 1}',
    "zgood": '{"x": 2, "y": 1}',
}


def odd_features(folder: Path, prints: dict[str, str]) -> None:
    """Make a portfolio whose features print what lies beside the instance."""
    portfolio = toy.write_portfolio(folder, ("a",))
    (folder / "features.py").write_text(
        "import sys, os\npath = sys.argv[1]\nprint(open(path[:-4] + '.json').read())\n"
    )
    toy.write_instances(folder, dict.fromkeys(prints, "a 0.01 yes"))
    for name, text in prints.items():
        (folder / "instances" / f"{name}.json").write_text(text)
    assert portfolio.exists()


@pytest.mark.parametrize("selector", ["tailcut", "thompson_rev"])
@pytest.mark.parametrize("first", ["infinity", "empty", "deep"])
def test_odd_features_are_a_problem_line_and_missing_values(
    tmp_path: Path, selector: str, first: str
) -> None:
    odd_features(tmp_path, PRINTS)
    order = [first, *(name for name in PRINTS if name != first)]
    files = [f"instances/{name}.toy" for name in order]
    ended = tailcut(tmp_path, "portfolio.toml", *files, "--cutoff", "5", "--selector", selector)
    found = answers(tmp_path)
    assert {name: record["answer"] for name, record in found.items()} == dict.fromkeys(PRINTS, "yes")
    for name in PRINTS:
        named = [line for line in ended.stderr.splitlines() if line.startswith("problem:") and name in line]
        assert len(named) == (name != "zgood"), (name, ended.stderr)
    assert "Traceback" not in ended.stderr


def test_features_that_never_come_are_no_reason_to_stop(tmp_path: Path) -> None:
    odd_features(tmp_path, {"one": "{}", "two": "{}"})
    ended = tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "5", "--selector", "thompson_rev")
    assert ended.stderr.count("thompson_rev cannot choose without features") >= 2
    assert [record["answer"] for record in answers(tmp_path).values()] == [None, None]


def test_measuring_takes_odd_features_as_missing(tmp_path: Path) -> None:
    odd_features(tmp_path, PRINTS)
    command = [sys.executable, "-m", "tailcut", "measure", "portfolio.toml", "instances", "--cutoff", "5"]
    ended = subprocess.run([*command, "--out", "T"], cwd=tmp_path, text=True, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert "problem: infinity.toy: features: no finite number, so missing: x" in ended.stderr


def test_names_too_long_for_a_file_are_cut_and_stay_apart(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    deep = tmp_path / "instances" / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    for name in ("one", "two"):
        (deep / f"{name}.toy").write_text("a 0.01 yes")
    tailcut(
        tmp_path, "portfolio.toml", "instances", "--cutoff", "5", "--outputs", "out", "--selector", "random"
    )
    kept = {record["runs"][0]["output"] for record in answers(tmp_path).values()}
    assert len(kept) == 2
    assert all((tmp_path / file).read_text() == "answer yes\n" for file in kept)
    assert len(os.fsencode(output_name("ü" * 300))) <= 204


def test_a_line_that_names_no_file_is_skipped_with_a_word(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.01 yes", "two": "a 0.01 yes"})
    os.rename(tmp_path / "instances/two.toy", os.fsencode(tmp_path) + b"/instances/\xff.toy")  # noqa: PTH104
    lines = [b"instances/one.toy", b"", b"gone.toy", b"x" * 5000, b"instances/\xff.toy", b"instances"]
    command = [sys.executable, "-m", "tailcut", "run", "portfolio.toml", "-", "--cutoff", "5"]
    ended = subprocess.run(
        [*command, "--selector", "random"], cwd=tmp_path, input=b"\n".join(lines), capture_output=True
    )
    assert ended.returncode == 0, ended.stderr
    assert b"problem: gone.toy: there is no such instance file; skipped" in ended.stderr
    assert b"File name too long; skipped" in ended.stderr
    assert len((tmp_path / "tailcut-run.jsonl").read_text().splitlines()) == 2


def test_a_name_without_a_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    absent, too_long = "there is no such instance file", "cannot be read: File name too long"
    for name, message in (
        *(("gone", absent), ("file/below", absent), ("null\0", absent), (".", absent)),
        *(("x" * 300, too_long), ("loop", "cannot be read: Too many levels of symbolic links")),
    ):
        with pytest.raises(InputError, match=message):
            read_line(json.dumps({"instance": str(tmp_path / name)}), 1)


def test_control_characters_and_brackets_in_names_are_only_shown(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a",), features=False)
    text = portfolio.read_text().replace("[solvers.a]", '[solvers."a[/b]\\u001b[31m"]')
    portfolio.write_text(text + '[check]\ninstance = "c[/x].toy"\n')
    (tmp_path / "c[").mkdir()
    (tmp_path / "c[/x].toy").write_text("a 0.01 yes")
    (tmp_path / "instances" / "y[").mkdir(parents=True)
    toy.write_instances(tmp_path, {"y[/x\x1b[2J\n]": "a 0.01 crash"})
    ended = tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "5", "--selector", "random")
    checked = tailcut(tmp_path, "portfolio.toml", "--check")
    for said in (ended.stdout, ended.stderr, checked.stdout, checked.stderr):
        assert "\x1b" not in said
    assert "y[/x\\x1b[2J\\n].toy" in ended.stderr
    assert "a[/b]\\x1b[31m" in checked.stdout


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    where = tmp_path / "disk"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(where)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


@pytest.mark.parametrize("what", ["answers", "outputs"])
def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path, small_disk: Path, what: str) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {f"i{n}": "a 0.01 yes" for n in range(3)})
    filler = small_disk / "filler"
    place = small_disk / what
    command = [
        "portfolio.toml",
        "instances",
        "--cutoff",
        "5",
        "--selector",
        "random",
        f"--{what}",
        str(place),
    ]
    if what == "outputs":
        place.mkdir()
    else:
        place.write_text("")
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(b"x" * 4096)
            except OSError:
                break
    ended = tailcut(tmp_path, *command, code=2)
    assert "No space left on device" in ended.stderr
    assert "run the same command again" in ended.stderr
    assert "Traceback" not in ended.stderr
    filler.unlink()
    tailcut(tmp_path, *command)
    if what == "answers":
        lines = place.read_text().splitlines()
        assert sorted(Path(json.loads(line)["instance"]).stem for line in lines) == ["i0", "i1", "i2"]
        assert len([line for line in toy.log(tmp_path) if line[0] == "start"]) == 3, "an outcome was lost"
    else:
        assert len(list(place.iterdir())) == 3


def test_answers_to_a_device_that_is_full(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.01 yes"})
    command = ["portfolio.toml", "instances", "--cutoff", "5", "--selector", "random"]
    ended = tailcut(tmp_path, *command, "--answers", "/dev/full", code=2)
    assert "/dev/full: cannot be written: No space left on device" in ended.stderr
    tailcut(tmp_path, *command)
    assert answers(tmp_path)["one"]["answer"] == "yes"
    assert len(toy.log(tmp_path)) == 2


HOSTILE = """
import os, signal, sys
supervisor = os.getppid()
server = int(open(f"/proc/{supervisor}/stat").read().split()[3])
os.kill(server if sys.argv[1] == "server" else supervisor, getattr(signal, sys.argv[2]))
while True:
    pass
"""


@pytest.fixture
def ended_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Mark all that is started from here on, and end what is left of it, even if it is frozen."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    yield mark
    end_marked(mark)


def hostile_portfolio(folder: Path, target: str, name: str, others: tuple[str, ...] = ()) -> None:
    """Make a portfolio of kind solvers, and of `bad`, which sends a signal to what watches it."""
    (folder / "hostile.py").write_text(HOSTILE)
    portfolio = toy.write_portfolio(folder, others, features=False)
    command = [sys.executable, "-I", "-S", "hostile.py", target, name, "{instance}"]
    with portfolio.open("a") as file:
        file.write(f"[solvers.bad]\ncommand = {command}\n")


@pytest.mark.parametrize("target", ["supervisor", "server"])
def test_a_solver_that_kills_its_supervisor_fails_and_is_set_aside_and_the_stream_goes_on(
    tmp_path: Path, ended_after: str, target: str
) -> None:
    hostile_portfolio(tmp_path, target, "SIGKILL", ("a",))
    toy.write_instances(tmp_path, {f"i{n:02}": "a 0.01 yes" for n in range(20)})
    command = ["portfolio.toml", "instances", "--cutoff", "20", "--selector", "random"]
    ended = tailcut(tmp_path, *command)
    runs = [record["runs"][0] for record in answers(tmp_path).values()]
    bad = [run for run in runs if run["solver"] == "bad"]
    assert len(bad) == 5
    assert {(run["ending"], run["answer"]) for run in bad} == {("crashed", None)}
    assert all("was killed" in run["problem"] for run in bad)
    assert "WARNING: bad is set aside: the process that watched it was stopped or killed on 5" in ended.stderr
    assert [run["answer"] for run in runs if run["solver"] == "a"] == ["yes"] * 15
    assert alive(ended_after) == []


@pytest.mark.parametrize("target", ["supervisor", "server"])
@pytest.mark.parametrize("way", ["run, terminated", "run, killed", "solve --stop"])
def test_who_stops_tailcut_need_not_wait_for_a_solver_that_has_stopped_what_watches_it(
    tmp_path: Path, ended_after: str, target: str, way: str
) -> None:
    hostile_portfolio(tmp_path, target, "SIGSTOP")
    instances = toy.write_instances(tmp_path, {"one": ""})
    state = ["--state", "s.db"]
    if way == "solve --stop":
        command = ["solve", "--portfolio", "portfolio.toml", *state, str(instances / "one.toy")]
    else:
        command = ["run", "portfolio.toml", "instances", *state, "--selector", "random"]
    cutoff = "1" if way == "solve --stop" else "1000"  # it waits for calls in progress
    with subprocess.Popen([*TAILCUT, *command, "--cutoff", cutoff], cwd=tmp_path) as process:
        try:
            wait_for(lambda: any(" hostile.py" in line for line in still_running(tmp_path)))
            if way == "solve --stop":
                stop = [*TAILCUT, "solve", *state, "--stop"]
                assert subprocess.run(stop, cwd=tmp_path, timeout=60).returncode == 0
            else:
                process.send_signal(signal.SIGTERM if way == "run, terminated" else signal.SIGKILL)
            assert process.wait(timeout=60) != 0
        finally:
            process.kill()
    assert gone(ended_after)


def groups_left() -> list[Path]:
    """Return the control groups that were made by a process which is gone."""
    made = Path("/sys/fs/cgroup").rglob("tailcut-*-*")
    return [group for group in made if not Path("/proc", group.name.split("-")[1]).exists()]


def test_tailcut_runs_inside_tailcut(tmp_path: Path, ended_after: str) -> None:
    """A solver that runs `tailcut run` answers; if it does not end, all that it started ends with it."""
    before = groups_left()
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for folder, solvers in ((inner, ("a",)), (outer, ())):
        folder.mkdir()
        toy.write_portfolio(folder, solvers, features=False)
    run = [*TAILCUT, "run", "portfolio.toml", "FILE", "--cutoff", "100", "--selector", "random"]
    script = shlex.join([*run, "--state", "s.db", "--answers", "a.jsonl"]).replace("FILE", "$0") + " >out.txt"
    command = [
        "sh",
        "-c",
        f"cd {inner}; {script} && grep -q yes a.jsonl && echo answer yes",
        "{instance}",
    ]
    with (outer / "portfolio.toml").open("a") as file:
        file.write(f"[solvers.nested]\ncommand = {json.dumps(command)}\n")
    toy.write_instances(outer, {"easy": "a 0.05 yes", "hard": "a 1000 yes"})
    tailcut(outer, "portfolio.toml", str(outer / "instances"), "--cutoff", "4", "--selector", "random")
    found = {name: record["runs"][0] for name, record in answers(outer).items()}
    assert found["easy"]["answer"] == "yes", str(found["easy"])
    assert 0.05 <= found["easy"]["cpu"] < 4
    assert (found["hard"]["answer"], found["hard"]["ending"]) == (None, "cpu limit")
    assert alive(ended_after) == []
    assert set(groups_left()) <= set(before), "a control group is left"
