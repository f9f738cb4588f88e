"""Ways out of a contradiction, files that change, and solvers that never answer: with real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.scenarios import Scenario
from tests.cli.test_run import answers, tailcut
from tests.live import toy

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame


def measure(folder: Path, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "tailcut", "measure", "portfolio.toml", *arguments, "--cutoff", "5"]
    ended = subprocess.run([*command, "--out", "T"], cwd=folder, text=True, capture_output=True)
    assert ended.returncode == code, ended.stderr
    return ended.stderr


@pytest.fixture
def contradicted(tmp_path: Path) -> Path:
    """A measurement that ended in a contradiction: b is wrong about one.toy."""
    toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.01 yes\nb 0.01 no", "two": "a 0.01 yes\nb 0.01 yes"})
    said = measure(tmp_path, "instances", code=2)
    assert "one.toy: a says yes, b says no" in said
    assert "--wrong SOLVER:INSTANCE" in said
    return tmp_path


def test_a_solver_is_marked_wrong_on_an_instance(contradicted: Path) -> None:
    before = len(toy.log(contradicted))
    assert "names no run" in measure(contradicted, "instances", "--wrong", "c:one.toy", code=2)
    measure(contradicted, "instances", "--wrong", "b:one.toy")
    assert len(toy.log(contradicted)) == before, "nothing is measured again"
    scenario = Scenario.read(contradicted / "T", cache=False)
    assert scenario.solved.tolist() == [[True, False], [True, True]]
    assert scenario.status(0, 1) == "other"


def test_one_run_is_measured_again(contradicted: Path) -> None:
    solver = contradicted / "solver.py"
    solver.write_text(solver.read_text().replace("answer = own[0][2]", "answer = 'yes'"))
    before = len(toy.log(contradicted))
    measure(contradicted, "instances", "--again", "b:one.toy")
    assert toy.log(contradicted)[before:] == [["start", "b", "one.toy"], ["answer", "b", "one.toy"]]
    assert Scenario.read(contradicted / "T", cache=False).solved.all()


@pytest.mark.parametrize("what", ["instance", "solver"])
def test_the_instance_or_the_solver_is_left_out(contradicted: Path, what: str) -> None:
    if what == "solver":
        toy.write_portfolio(contradicted, ("a",), features=False)
    given = "instances" if what == "solver" else "instances/two.toy"
    measure(contradicted, given)
    scenario = Scenario.read(contradicted / "T", cache=False)
    n, k = len(scenario.instances), len(scenario.algorithms)
    assert (n, k) == ((2, 1) if what == "solver" else (1, 2))
    assert f"{n} instances, {k} solvers" in (contradicted / "T" / "readme.txt").read_text()


def test_a_rewritten_file_is_measured_again(contradicted: Path) -> None:
    toy.write_instances(contradicted, {"one": "a 0.01 yes\nb 0.02 yes"})
    before = len(toy.log(contradicted))
    assert "one.toy has changed" in measure(contradicted, "instances")
    assert {line[2] for line in toy.log(contradicted)[before:]} == {"one.toy"}


def test_a_rewritten_file_is_run_again_and_skipped_ones_are_counted(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.01 yes", "two": "a 0.01 yes"})
    run = ("portfolio.toml", "instances", "--cutoff", "5", "--selector", "random")
    tailcut(tmp_path, *run)
    toy.write_instances(tmp_path, {"one": "a 0.01 no"})
    (tmp_path / "instances" / "two.toy").touch()  # another date, the same content
    ended = tailcut(tmp_path, *run)
    assert "instances/one.toy has changed since it was run" in ended.stderr
    assert "skipped 1 completed instance whose files have not changed" in ended.stderr
    lines = (tmp_path / "tailcut-run.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert '"answer": "no"' in lines[2]
    for _ in range(2):
        assert "skipped 2 completed instances" in tailcut(tmp_path, *run).stderr
    assert len((tmp_path / "tailcut-run.jsonl").read_text().splitlines()) == 3


def test_a_solver_that_never_answers_is_named_with_what_it_printed(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    toy.write_instances(tmp_path, dict.fromkeys(("one", "two"), "a 0.01 yes\nb 0.01 parse-error"))
    said = measure(tmp_path, "instances")
    assert "no answer at all from b in 2 runs; one printed: answer parse-error (exit code 0)" in said
    assert "from a" not in said
    ended = tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "5", "--selector", "round_robin")
    assert set(answers(tmp_path)) == {"one", "two"}
    assert "no answer at all from a" not in ended.stderr


def test_an_answer_may_be_refused_for_another_line(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a",), features=False)
    text = portfolio.read_text()
    portfolio.write_text(text.replace("'^answer yes$'", "'^answer yes$'\nunless = '^.error'", 1))
    solver = tmp_path / "solver.py"
    solver.write_text(
        "import sys\nif 'bad' in sys.argv[2]: print('(error in line 3)')\nprint('answer yes')\n"
    )
    toy.write_instances(tmp_path, {"bad": "", "good": ""})
    tailcut(tmp_path, "portfolio.toml", "instances", "--cutoff", "5", "--selector", "random")
    assert {name: one["answer"] for name, one in answers(tmp_path).items()} == {"bad": None, "good": "yes"}
