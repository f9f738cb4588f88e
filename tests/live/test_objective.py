"""Anytime solvers: the last objective that a run printed before it was stopped is what it is judged by."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tailcut.errors import PortfolioError
from tailcut.journal import Journal, Project
from tailcut.live.instance_record import PROJECT
from tailcut.live.portfolio import read_portfolio
from tests.live.commands import answers, tailcut

ANYTIME = """
import sys, time
name, path = sys.argv[1:]
start, last = next(line.split()[1:] for line in open(path) if line.split()[0] == name)
if start == "silent":
    time.sleep(0.01)
    sys.exit(1)
print("o", start, flush=True)
print("o", last, flush=True)
if last == start:
    print("s OPTIMUM", flush=True)
    sys.exit(0)
while True:
    pass
"""
"""Prints two objectives and works on until it is stopped, or proves an optimum."""
RUN = ("run", "portfolio.toml", "instances", "--cutoff", "0.6", "--seed", "0")
BOUNDS = "best = 0\nworst = 100\n"


def write(folder: Path, texts: dict[str, str], objective: str = BOUNDS, top: str = "") -> Path:
    (folder / "anytime.py").write_text(ANYTIME)
    lines = [top, "features = false", 'instances = ["*.any"]', "[objective]"]
    lines += [r"pattern = '^o (?P<objective>\S+)$'", objective]
    lines += ["[answers.optimum]", "pattern = '^s OPTIMUM$'"]
    for solver in ("good", "bad"):
        command = [sys.executable, "-I", "-S", "anytime.py", solver, "{instance}"]
        lines += [f"[solvers.{solver}]", f"command = {command}"]
    path = folder / "portfolio.toml"
    path.write_text("\n".join(lines) + "\n")
    (folder / "instances").mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / "instances" / f"{name}.any").write_text(text)
    return path


def test_runs_stopped_at_the_cutoff_lose_by_their_last_objective(tmp_path: Path) -> None:
    write(tmp_path, {f"i{n:02d}": "good 90 10\nbad 95 80" for n in range(8)})
    ended = tailcut(tmp_path, *RUN)
    found = answers(tmp_path)
    for one in found.values():
        (run,) = one["runs"]
        assert run["ending"] == "cpu limit"
        assert (run["objective"], run["loss"]) == ((10.0, 0.1) if run["solver"] == "good" else (80.0, 0.8))
        assert one["answer"] == f"objective {run['objective']:g}"
    chosen = [one["solver"] for one in found.values()]
    assert chosen.count("good") > 5, "the other was tried and lost"
    mean = sum(one["runs"][0]["loss"] for one in found.values()) / 8
    assert f"mean loss {mean:.4f}" in ended.stdout
    with Journal(tmp_path / "tailcut-run.db") as journal:
        project = Project(journal, PROJECT)
        assert project.selector.name == "tailcut", "a schedule cannot minimise a loss"
        assert project.selector.rated
        assert project.statistics.mean_loss == pytest.approx(mean)
        project.verify()
    again = tailcut(tmp_path, *RUN, "--json")
    assert json.loads(again.stdout) == {"rated": {"runs": 8, "loss": pytest.approx(mean)}}


def test_a_run_without_an_objective_loses_everything_and_a_proof_counts_like_any(tmp_path: Path) -> None:
    write(tmp_path, {"one": "good silent 0\nbad silent 0", "two": "good 25 25\nbad 25 25"})
    tailcut(tmp_path, *RUN)
    found = answers(tmp_path)
    assert (found["one"]["answer"], found["one"]["runs"][0]["loss"]) == (None, 1.0)
    assert (found["two"]["answer"], found["two"]["runs"][0]["loss"]) == ("optimum", 0.25)


def test_the_gap_to_the_best_known_objective(tmp_path: Path) -> None:
    write(tmp_path, {"one": "good 90 10\nbad 90 10"}, 'best_known = "known.csv"')
    (tmp_path / "known.csv").write_text("instance,best\none.any,8\n")
    tailcut(tmp_path, *RUN)
    assert answers(tmp_path)["one"]["runs"][0]["loss"] == pytest.approx(0.2)
    (tmp_path / "instances" / "two.any").write_text("good 90 10\nbad 90 10")
    ended = tailcut(tmp_path, *RUN, code=2)
    assert "objective.best_known: has no row for two.any" in ended.stderr


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("best = 1", "objective must have best and worst, or best_known"),
        ("best = 1\nworst = 1", "objective.worst must be another number than best, got 1"),
        ("best = 1\nworst = 'x'", "objective.worst must be a finite number, got 'x'"),
        ("best = 1\nworst = 2\nbest_known = 'k'", "objective must have best and worst, or best_known"),
        ("best_known = 'k.csv'", "k.csv: cannot be read"),
        ("wurst = 1", "objective.wurst is not known here; did you mean worst?"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, objective: str, message: str) -> None:
    path = write(tmp_path, {}, objective)
    with pytest.raises(PortfolioError, match=re.escape(message)):
        read_portfolio(path)
    path.write_text(path.read_text().replace("(?P<objective>", "("))
    with pytest.raises(PortfolioError, match="objective"):
        read_portfolio(path)


def test_a_file_of_best_known_objectives_says_which_line_is_wrong(tmp_path: Path) -> None:
    path = write(tmp_path, {}, 'best_known = "known.csv"')
    (tmp_path / "known.csv").write_text("instance,best\na,1\nb,nan\n")
    with pytest.raises(PortfolioError, match=r"known\.csv, line 3: best must be a finite number, got 'nan'"):
        read_portfolio(path)
    (tmp_path / "known.csv").write_text("name,best\n")
    with pytest.raises(PortfolioError, match="line 1: expected the columns instance and best"):
        read_portfolio(path)


def test_what_needs_runtimes_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"one": "good 90 10\nbad 90 10"})
    words = "tailcut_schedule cannot minimise the loss of [objective]; these can: tailcut"
    assert words in tailcut(tmp_path, *RUN, "--selector", "tailcut_schedule", code=2).stderr
    for option in (("--measure-first", "1"), ("--parallel", "2"), ("--second-opinion", "1")):
        assert "leave out --warm-start" in tailcut(tmp_path, *RUN, *option, code=2).stderr
