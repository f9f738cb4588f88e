"""Nothing is burnt by a mistake: programs that cannot start, solvers that never work, and what they left."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tailcut.journal import Journal, Project
from tailcut.live.instance_record import PROJECT, instance_records
from tailcut.live.quarantine import read_quarantine
from tests.live import toy
from tests.live.commands import tailcut

RUN = ("run", "portfolio.toml", "instances", "--cutoff", "5", "--selector", "tailcut")


def add_solver(folder: Path, name: str, command: list[str]) -> None:
    path = folder / "portfolio.toml"
    path.write_text(path.read_text() + f"[solvers.{name}]\ncommand = {command}\n")


def records(folder: Path):  # type: ignore[no-untyped-def]
    with Journal(folder / "tailcut-run.db", read_only=True) as journal:
        project = Project(journal, PROJECT)
        return project, instance_records(project)


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (None, 0, "solvers.bad: there is no program"),
        ("#!/bin/sh\n", 0o644, "is not executable"),
    ],
)
def test_a_program_that_cannot_start_stops_the_run_before_anything(
    tmp_path: Path, text: str | None, mode: int, message: str
) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.01 yes"})
    if text is not None:
        (tmp_path / "bad").write_text(text)
        (tmp_path / "bad").chmod(mode)
    add_solver(tmp_path, "bad", ["./bad", "{instance}"])
    ended = tailcut(tmp_path, *RUN, code=2)
    assert message in ended.stderr
    assert "Nothing was run" in ended.stderr
    assert toy.log(tmp_path) == []
    measured = tailcut(
        tmp_path, "measure", "portfolio.toml", "instances", "--cutoff", "5", "--out", "M", code=2
    )
    assert message in measured.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [("#!/no/such/interpreter\n", "missing interpreter of: "), ("echo hello\n", "a script without '#!'")],
)
def test_a_script_that_cannot_be_started_is_no_outcome(tmp_path: Path, text: str, message: str) -> None:
    path = toy.write_portfolio(tmp_path, ("a",), features=False)
    path.write_text(path.read_text().split("[solvers.a]")[0])
    toy.write_instances(tmp_path, {"one": "a 0.01 yes"})
    (tmp_path / "bad").write_text(text)
    (tmp_path / "bad").chmod(0o755)
    add_solver(tmp_path, "bad", ["./bad", "{instance}"])
    assert message in tailcut(tmp_path, *RUN, code=2).stderr
    _, found = records(tmp_path)
    assert not any(record.runs for record in found.values())


def test_a_program_that_vanishes_later_is_no_outcome(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {f"i{n}": "a 0.01 yes" for n in range(3)})
    script = tmp_path / "vanishing"
    script.write_text(f"#!/bin/sh\necho answer yes\nrm {script}\n")
    script.chmod(0o755)
    path = tmp_path / "portfolio.toml"
    path.write_text(path.read_text().split("[solvers.a]")[0])
    add_solver(tmp_path, "vanishing", ["./vanishing", "{instance}"])
    ended = tailcut(tmp_path, *RUN, code=2)
    assert "no such program" in ended.stderr
    assert "fix it and run the same command again" in ended.stderr
    _, found = records(tmp_path)
    assert sum(record.over for record in found.values()) == 1
    assert all(run["answer"] == "yes" for record in found.values() for run in record.runs)
    script.write_text("#!/bin/sh\necho answer yes\n")
    script.chmod(0o755)
    tailcut(tmp_path, *RUN)
    _, found = records(tmp_path)
    assert [record.answer for record in found.values()] == ["yes"] * 3


def test_a_solver_that_never_works_is_put_aside_and_comes_back_mended(tmp_path: Path) -> None:
    """Instance `hard` is unsolved without the broken solver; when that is mended it is run again."""
    toy.write_portfolio(tmp_path, ("a",), features=False)
    names = {f"i{n}": "a 0.01 yes" for n in range(8)}
    toy.write_instances(tmp_path, {**names, "0hard": "a 0.01 crash"})
    (tmp_path / "wrapper.py").write_text("print('usage: wrapper MODE FILE')\n")
    add_solver(tmp_path, "b", [sys.executable, "-I", "-S", "wrapper.py", "{instance}"])
    run = ("run", "portfolio.toml", "instances", "--cutoff", "5", "--selector", "round_robin")
    ended = tailcut(tmp_path, *run, "--jobs", "2")
    # Round robin runs `a` first, which answers; so `b` runs on the hard one only, and is not set aside yet.
    assert "set aside" not in ended.stderr
    toy.write_instances(tmp_path, {f"j{n}": "a 0.01 crash" for n in range(5)})
    ended = tailcut(tmp_path, *run, "--jobs", "2")
    assert "WARNING: b is set aside: it broke down on all of its first 5 instances" in ended.stderr
    assert "usage: wrapper" in ended.stderr
    project, found = records(tmp_path)
    assert project.selector.algorithms == ("a",)
    assert set(read_quarantine(iter([]))) == set()
    hard = [name for name, record in found.items() if "b" in record.void]
    assert len(hard) >= 5
    again = tailcut(tmp_path, *run)
    assert "WARNING: b is set aside" in again.stderr, "it is said every time"
    assert "served again" not in again.stderr
    (tmp_path / "wrapper.py").write_text("print('answer no')\n")
    mended = tailcut(tmp_path, *run)
    assert mended.stderr.count("is run again: b did not work then") == len(hard)
    project, found = records(tmp_path)
    assert all(found[name].answer == "no" and found[name].attempt == 1 for name in hard)
    assert set(project.selector.algorithms) == {"a", "b"}
    lines = (tmp_path / "tailcut-run.jsonl").read_text().splitlines()
    assert len(lines) == 14 + len(hard)
    with Journal(tmp_path / "tailcut-run.db") as journal:
        Project(journal, PROJECT).verify()
    assert "skipped 14" in tailcut(tmp_path, *run).stderr


def test_a_solver_that_answers_the_tiny_instance_stays(tmp_path: Path) -> None:
    path = toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    path.write_text(path.read_text() + '[check]\ninstance = "tiny.toy"\n')
    (tmp_path / "tiny.toy").write_text("b 0.01 yes")
    toy.write_instances(tmp_path, {f"i{n}": "a 0.01 yes\nb 0.01 crash" for n in range(30)})
    command = ("run", "portfolio.toml", "instances", "--cutoff", "5", "--selector", "random")
    ended = tailcut(tmp_path, *command)
    assert "set aside" not in ended.stderr
    assert sum(line == ["start", "b", "tiny.toy"] for line in toy.log(tmp_path)) == 1
    _, found = records(tmp_path)
    assert all(record.answer == "yes" for record in found.values()), "a crash is followed by the next best"


def test_when_no_solver_works_the_run_stops_and_all_is_served_after_mending(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {f"i{n}": "a 0.01 crash" for n in range(8)})
    ended = tailcut(tmp_path, *RUN, code=2)
    assert "no solver is left: a is set aside" in ended.stderr
    assert len([line for line in toy.log(tmp_path) if line[0] == "start"]) == 5
    assert "no solver is left" in tailcut(tmp_path, *RUN, code=2).stderr
    (tmp_path / "solver.py").write_text("print('answer yes')\n")
    tailcut(tmp_path, *RUN)
    _, found = records(tmp_path)
    assert [record.answer for record in found.values()] == ["yes"] * 8
