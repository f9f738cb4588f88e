"""Answers that are not believed, second opinions, and solvers that are caught: with real processes."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tailcut import live
from tailcut.errors import JournalError, PortfolioError
from tailcut.journal import Journal, Project
from tailcut.live.engine import run_seed
from tailcut.live.instance_record import PROJECT
from tailcut.live.portfolio import read_portfolio
from tailcut.live.preparation import MeasureFirst
from tailcut.live.quarantine import QuarantinedSolver, signature
from tests.live import toy
from tests.live.commands import answers, tailcut, wait_for
from tests.solve.calls import begin, daemons, end_daemons, solve

RUN = ("run", "portfolio.toml", "instances", "--cutoff", "5", "--selector", "round_robin")
A_IS_WRONG = "a 0.01 no\nb 0.01 yes\nc 0.01 yes"


def test_an_answer_that_a_solver_may_not_give_is_none(tmp_path: Path) -> None:
    path = toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    path.write_text(path.read_text().replace("[solvers.a]\n", "[solvers.a]\ngives = ['yes']\n"))
    toy.write_instances(tmp_path, {"one": "a 0.01 no\nb 0.01 yes", "two": "a 0.01 yes"})
    ended = tailcut(tmp_path, *RUN)
    assert {name: (one["answer"], one["solver"]) for name, one in answers(tmp_path).items()} == {
        "one": ("yes", "b"),
        "two": ("yes", "a"),
    }
    assert "one.toy: a: answer no: ignored, because it may only give yes" in ended.stderr
    path.write_text(path.read_text().replace("['yes']", "['maybe']"))
    message = "solvers.a.gives must be a list of answers that it has rules for: yes, no, wrong"
    with pytest.raises(PortfolioError, match=re.escape(message)):
        read_portfolio(path)


def test_second_opinions_outvote_a_liar_and_put_it_aside_until_told_otherwise(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), features=False)
    toy.write_instances(tmp_path, {f"i{n}": A_IS_WRONG for n in range(5)})
    ended = tailcut(tmp_path, *RUN, "--second-opinion", "1")
    found = answers(tmp_path)
    assert {one["answer"] for one in found.values()} == {"yes"}, "two outvote one"
    assert "WARNING: a is set aside: its answer was wrong on 2 instances" in ended.stderr
    assert "a says no, b says yes, c says yes" in ended.stderr
    assert ended.stderr.count("solvers disagree") == 2
    printed = ended.stdout + ended.stderr
    assert "(second opinions)" in printed
    assert "(measuring)" not in printed
    starts = [line[1] for line in toy.log(tmp_path) if line[0] == "start"]
    assert (starts.count("a"), starts.count("b"), starts.count("c")) == (2, 5, 5)
    assert found["i0"]["extra_runs"][0]["solver"] in ("b", "c")
    with Journal(tmp_path / "tailcut-run.db") as journal:
        project = Project(journal, PROJECT)
        assert project.selector.algorithms == ("b", "c")
        project.verify()
    toy.write_instances(tmp_path, {"j": A_IS_WRONG})
    (tmp_path / "solver.py").touch()  # not even when it has changed
    tailcut(tmp_path, *RUN)
    assert answers(tmp_path)["j"]["solver"] == "b"
    toy.write_instances(tmp_path, {"k": "a 0.01 yes", "l": "a 0.01 yes"})
    trusted = tailcut(tmp_path, *RUN, "--trust", "a")
    assert "set aside" not in trusted.stderr
    assert answers(tmp_path)["k"]["solver"] == "a"
    assert "no solver z to trust" in tailcut(tmp_path, *RUN, "--trust", "z", code=2).stderr


def test_two_that_disagree_are_disputed_and_checked_from_then_on(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    toy.write_instances(tmp_path, {"i0": "a 0.01 no\nb 0.01 yes"})
    tailcut(tmp_path, *RUN, "--second-opinion", "1")
    assert answers(tmp_path)["i0"]["disputed"] is True
    toy.write_instances(tmp_path, {"i1": "a 0.01 yes\nb 0.01 yes"})
    tailcut(tmp_path, *RUN, "--second-opinion", "1e-12")  # no sample, but both contradicted before
    assert [run["solver"] for run in answers(tmp_path)["i1"]["extra_runs"]] == ["b"]
    before = len(toy.log(tmp_path))
    tailcut(tmp_path, *RUN, "--second-opinion", "1")
    assert len(toy.log(tmp_path)) == before, "nobody is asked twice"


def test_a_solver_whose_answers_are_refuted_twice_is_put_aside(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    toy.write_instances(tmp_path, {f"i{n}": "a 0.01 wrong\nb 0.01 yes" for n in range(4)})
    ended = tailcut(tmp_path, *RUN)
    assert "WARNING: a is set aside: its answer was wrong on 2 instances" in ended.stderr
    assert {one["answer"] for one in answers(tmp_path).values()} == {"yes"}
    assert sum(line[:2] == ["start", "a"] for line in toy.log(tmp_path)) == 2


def test_objectives_that_differ_contradict(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    lines = ["[answers.optimal]", r"pattern = '^optimal (?P<objective>\S+)$'"]
    for name, value in (("near", "100.001"), ("far", "101"), ("exact", "100")):
        command = [sys.executable, "-I", "-S", "-c", f"print('optimal {value}')", "{instance}"]
        lines += [f"[solvers.{name}]", f"command = {command}"]
    (tmp_path / "portfolio.toml").write_text("\n".join(lines))
    toy.write_instances(tmp_path, {"one": ""})
    run = ("run", "portfolio.toml", "instances", "--cutoff", "5", "--selector", "round_robin")
    ended = tailcut(tmp_path, *run, "--measure-first", "1")
    found = answers(tmp_path)["one"]
    assert found["runs"][0]["objective"] == 100.001
    words = "near says optimal with objective 100.001, far says optimal with objective 101"
    assert f"one.toy: {words}, exact says optimal with objective 100" in ended.stderr


def test_a_seed_goes_into_the_command(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        "import sys; print('seed', sys.argv[2])",
        "{instance}",
        "{seed}",
    ]
    lines = [
        "[answers.seed]",
        r"pattern = '^seed (?P<objective>\d+)$'",
        "[solvers.a]",
        f"command = {command}",
    ]
    (tmp_path / "portfolio.toml").write_text("\n".join(lines))
    toy.write_instances(tmp_path, {"one": "", "two": ""})
    seeds = []
    for seed, state in ((1, "x.db"), (1, "y.db"), (2, "z.db")):
        tailcut(tmp_path, *RUN, "--seed", str(seed), "--state", state)
        found = answers(tmp_path, state.replace(".db", ".jsonl"))
        seeds.append([found[name]["runs"][0]["objective"] for name in ("one", "two")])
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 4


def test_a_solver_that_is_put_aside_while_it_measures_does_not_end_the_run(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    lines = {f"i{n}": f"a 0.01 yes\nb {1.5 if n < 2 else 0.01} wrong" for n in range(6)}
    toy.write_instances(tmp_path, lines)
    ended = tailcut(tmp_path, *RUN, "--measure-first", "6", "--jobs", "4")
    assert ended.returncode == 0, ended.stderr
    assert "WARNING: b is set aside" in ended.stderr
    assert {one["answer"] for one in answers(tmp_path).values()} == {"yes"}


def test_a_solver_that_run_set_aside_stays_aside_for_every_way_in(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), features=False, top="cutoff = 5")
    toy.write_instances(tmp_path, {f"i{n}": A_IS_WRONG for n in range(2)})
    tailcut(tmp_path, *RUN, "--second-opinion", "1", "--state", "s.db")
    toy.write_instances(tmp_path, {f"j{n}": A_IS_WRONG for n in range(3)})
    before = len(toy.log(tmp_path))
    call = ("--portfolio", "portfolio.toml", "--state", "s.db")
    try:
        for more in ((), (), ("--parallel", "3")):
            assert solve(tmp_path, *call, *more, "instances/j0.toy").stdout == b"answer yes\n"
        (tmp_path / "portfolio.toml").touch()  # it is read again
        assert solve(tmp_path, *call, "instances/j0.toy").stdout == b"answer yes\n"
    finally:
        end_daemons(tmp_path)
    live.run(
        tmp_path / "portfolio.toml",
        [tmp_path / "instances"],
        state=tmp_path / "s.db",
        parallel=2,
        selector="round_robin",
        measure_first=MeasureFirst(1),
    )
    assert "a" not in {line[1] for line in toy.log(tmp_path)[before:]}
    with Journal(tmp_path / "s.db") as journal:
        assert Project(journal, PROJECT).selector.algorithms == ("b", "c")


def is_free(state: Path) -> bool:
    """Return whether no process has a state file, not even one that is just ending."""
    try:
        Journal(state).close()
    except JournalError:
        return False
    return True


def test_a_decision_for_a_solver_that_was_set_aside_since_is_not_run(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), features=False, top="cutoff = 20")
    toy.write_instances(tmp_path, {"one": "a 1.5 no\nb 0.01 yes"})
    call = ("--portfolio", "portfolio.toml", "--state", "s.db", "--selector", "round_robin")
    running = begin(tmp_path, *call, "instances/one.toy")
    try:
        wait_for(lambda: toy.log(tmp_path) == [["start", "a", "one.toy"]])
        running.send_signal(signal.SIGSTOP)
        (daemon,) = daemons(tmp_path)
        os.kill(daemon, signal.SIGKILL)
        wait_for(lambda: is_free(tmp_path / "s.db"))
        with Journal(tmp_path / "s.db") as journal:
            project = Project(journal, PROJECT)
            solver = read_portfolio(tmp_path / "portfolio.toml").solvers["a"]
            aside = QuarantinedSolver("a", "caught", "it lied", signature(solver))
            project.remark({"aside": aside._asdict()})
            project.remove_algorithm("a")
        running.send_signal(signal.SIGCONT)
        assert running.communicate(timeout=60)[0] == b"answer yes\n"
        assert [line[:2] for line in toy.log(tmp_path)].count(["start", "a"]) == 1
    finally:
        running.kill()
        running.wait()
        end_daemons(tmp_path)


def test_the_seed_of_a_call_of_solve_goes_into_the_command(tmp_path: Path) -> None:
    lines = [
        "cutoff = 5",
        "features = false",
        "[solvers.a]",
        f"command = {[sys.executable, '-ISc', 'import sys; print(sys.argv[2])', '{instance}', '{seed}']}",
    ]
    (tmp_path / "portfolio.toml").write_text("\n".join(lines))
    toy.write_instances(tmp_path, {"one": ""})
    call = ("--portfolio", "portfolio.toml", "--state", "s.db", "instances/one.toy")
    try:
        of_state, again, other, first, last = (
            int(solve(tmp_path, *call, *more).stdout)
            for more in (("--seed", "7"), (), ("--seed", "8"), ("--seed", "7"), ("--seed", "0"))
        )
    finally:
        end_daemons(tmp_path)
    assert of_state == again == first, "without --seed it is that of the state file"
    assert len({of_state, other, last}) == 3
    assert of_state == run_seed(7, str(tmp_path / "instances" / "one.toy"), "a")


BOTH = {
    "unsat_then_model": "s UNSATISFIABLE\\ns SATISFIABLE\\nv 1 2 0",
    "model_then_unsat": "s SATISFIABLE\\nv 1 2 0\\ns UNSATISFIABLE",
}


@pytest.mark.parametrize("verdicts", list(BOTH))
@pytest.mark.parametrize("domain", ["domain = 'sat'", "features = false"])
def test_an_output_with_both_verdicts_is_a_wrong_answer(tmp_path: Path, verdicts: str, domain: str) -> None:
    says = (("a", BOTH[verdicts]), ("b", "s SATISFIABLE\\nv 1 2 0"))
    lines = ["cutoff = 5", domain, "instances = ['*.cnf']"]
    for answer in ("SATISFIABLE", "UNSATISFIABLE") if "domain" not in domain else ():
        lines += [f"[answers.{answer}]", f"pattern = '^s {answer}'"]
    for name, text in says:
        command = [sys.executable, "-ISc", f"print('{text}')", "{instance}"]
        lines += [f"[solvers.{name}]", f"command = {command}"]
    (tmp_path / "portfolio.toml").write_text("\n".join(lines))
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.cnf").write_text("p cnf 2 2\n1 -2 0\n2 0\n")
    call = ("--portfolio", "portfolio.toml", "--state", "s.db", "--selector", "round_robin")
    try:
        ended = solve(tmp_path, *call, "one.cnf")
    finally:
        end_daemons(tmp_path)
    assert (ended.stdout, ended.returncode) == (b"s SATISFIABLE\nv 1 2 0\n", 10), ended.stderr
    assert b"a: answer SATISFIABLE refuted: it says both SATISFIABLE and UNSATISFIABLE" in ended.stderr
    run = tailcut(tmp_path, "run", "portfolio.toml", "two.cnf", "three.cnf", *RUN[3:], "--state", "t.db")
    assert "a is set aside: its answer was wrong on 2 instances" in run.stderr
