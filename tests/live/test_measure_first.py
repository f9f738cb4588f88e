"""`tailcut run --measure-first` with real processes: full rows, answers that do not wait, kill -9."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.journal import EventKind, Journal, Project
from tailcut.live.instance_record import PROJECT, InstanceRecord, instance_records
from tailcut.live.instances import instances_in
from tailcut.live.monitor import followed_run
from tailcut.live.portfolio import read_portfolio
from tailcut.live.preparation import MeasureChoice, MeasureFirst
from tailcut.live.stream import StreamSettings, run_stream
from tests.live import toy
from tests.live.commands import TAILCUT, answers, tailcut, wait_for

RUN = ("run", "portfolio.toml", "instances", "--cutoff", "0.5")


def records(folder: Path, name: str = "tailcut-run.db") -> dict[str, InstanceRecord]:
    """Return how far each instance has come, after making sure that the history can be repeated."""
    with Journal(folder / name) as journal:
        project = Project(journal, PROJECT)
        project.verify()
        found = instance_records(project)
    return {Path(name).stem: record for name, record in found.items()}


def measured(folder: Path, name: str = "tailcut-run.db") -> dict[str, set[str]]:
    """Return the instances that were measured, each with all solvers that were run on it."""
    return {
        instance: {run["solver"] for run in record.runs} | set(record.extra)
        for instance, record in records(folder, name).items()
        if record.measure is not None
    }


@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule", "epsilon_greedy"])
def test_the_first_are_run_with_every_solver(tmp_path: Path, selector: str) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top=f'selector = "{selector}"')
    texts = {f"i{n}": "a 0.02 yes\nb 0.05 yes" for n in range(4)}
    toy.write_instances(tmp_path, texts)
    ended = tailcut(tmp_path, *RUN, "--measure-first", "2", "--jobs", "2", "--measure-cutoff", "0.2")
    assert measured(tmp_path) == {"i0": set("abc"), "i1": set("abc")}
    found = records(tmp_path)
    for name in ("i0", "i1"):
        assert found[name].complete
        assert found[name].answer == "yes"
        for run in found[name].extra.values():
            assert run["budget"] == 0.2
            assert (run["answer"] == "yes") == (run["solver"] in "ab")
    assert {record["answer"] for record in answers(tmp_path).values()} == {"yes"}
    extra = sum(run["seconds"] for record in found.values() for run in record.extra.values())
    assert f"{extra:.1f} s extra to measure 2 of them" in ended.stdout
    with Journal(tmp_path / "tailcut-run.db", read_only=True) as journal:
        project = Project(journal, PROJECT)
        events = [event for event in project.history() if event.kind is EventKind.FIT]
    assert all(event.body["runs"] == 1 for event in events)
    assert len(events) == sum(len(record.extra) for record in found.values())
    with closing(followed_run(tmp_path / "tailcut-run.db")) as followed:
        seconds = followed.look().seconds
    assert seconds == pytest.approx(sum(record.seconds for record in found.values()))
    censored = [event.body for event in events if event.body["note"]["measured"] == "c"]
    assert all(body["watched"] == [[0.2]] and body["solved"] == [[False]] for body in censored)
    assert {body["instances"][0] for body in censored} <= {"instances/i0.toy", "instances/i1.toy"}
    # Once more: nothing is left to do.
    before = toy.log(tmp_path)
    again = tailcut(tmp_path, *RUN, "--measure-first", "2", "--json", "--measure-cutoff", "0.2")
    assert toy.log(tmp_path) == before
    said = json.loads(again.stdout)["measured"]
    assert said["instances"] == 2
    assert said["extra_seconds"] == pytest.approx(extra)


def test_an_answer_does_not_wait_for_slower_solvers(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("slow", "quick"))
    toy.write_instances(tmp_path, {"one": "quick 0.02 yes", "two": "quick 0.02 yes\nslow 0.02 yes"})
    command = [*TAILCUT, *RUN[:3], "--cutoff", "6", "--measure-first", "1", "--jobs", "2", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        lines = [json.loads(running.stdout.readline()) for _ in range(2)]
        assert running.poll() is None, "the slow solver still measures"
        assert ["answer", "slow", "one.toy"] not in toy.log(tmp_path)
        rest = running.stdout.read()
    assert running.returncode == 0
    assert {Path(line["instance"]).stem for line in lines} == {"one", "two"}
    one = next(line for line in lines if line["instance"].endswith("one.toy"))
    assert (one["answer"], one["solver"]) == ("yes", "quick")
    assert ["start", "slow", "one.toy"] in toy.log(tmp_path)
    summary = json.loads(rest)["measured"]
    assert summary["extra_runs"] == 1
    assert measured(tmp_path) == {"one": {"slow", "quick"}}


def run_here(folder: Path, plan: MeasureFirst, name: str, *, listed: bool = True, seed: int = 0) -> set[str]:
    """Run a stream in this process, and return which instances were measured."""
    portfolio = read_portfolio(folder / "portfolio.toml")
    given = instances_in([str(folder / "instances")], portfolio.instances)
    settings = StreamSettings("tailcut", cutoff=0.5, seed=seed)
    with Journal(folder / f"{name}.db") as journal:
        instances = list(given) if listed else given
        answered = folder / f"{name}.jsonl"
        run_stream(journal, portfolio, settings, instances, answered, jobs=2, measure_first=plan)
    return set(measured(folder, f"{name}.db"))


def test_a_random_and_a_diverse_choice(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    # Features: the number of lines, and the first number. One instance is unlike all others.
    texts = {f"i{n}": f"a 0.0{n + 1} yes\nb 0.02 yes" for n in range(5)}
    texts["far"] = "x 900 no\n" * 40 + "a 0.02 yes\nb 0.02 yes"
    toy.write_instances(tmp_path, texts)
    diverse = MeasureFirst(2, MeasureChoice.DIVERSE)
    chosen = run_here(tmp_path, diverse, "diverse")
    assert len(chosen) == 2
    assert "far" in chosen
    with Journal(tmp_path / "diverse.db", read_only=True) as journal:
        kinds = [event.kind for event in Project(journal, PROJECT).history()]
    assert kinds[:6] == [EventKind.FEATURES] * 6, "computed once, before anything is decided"
    assert kinds.count(EventKind.FEATURES) == 6
    at_random = MeasureFirst(2, MeasureChoice.RANDOM)
    picked = [run_here(tmp_path, at_random, f"random{n}", seed=seed) for n, seed in enumerate((1, 1, 5))]
    assert picked[0] == picked[1]
    assert all(len(one) == 2 for one in picked)
    assert run_here(tmp_path, MeasureFirst(2), "listed", listed=False) == {"far", "i0"}
    with pytest.raises(InputError, match="not a list that may grow"):
        run_here(tmp_path, at_random, "grows", listed=False)
    with pytest.raises(InputError, match="measure_cutoff 9 s is longer than the cutoff"):
        run_here(tmp_path, MeasureFirst(1, cutoff=9.0), "long")
    toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    with pytest.raises(InputError, match="diverse instances are chosen by features"):
        run_here(tmp_path, diverse, "none")


def test_contradictions_are_reported_and_a_solver_taken_out_measures_no_more(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 no", "two": "a 0.02 yes"})
    for _ in range(2):
        ended = tailcut(tmp_path, *RUN, "--measure-first", "1")
        assert "solvers disagree, so at least one is wrong: instances/one.toy:" in ended.stderr
    toy.write_portfolio(tmp_path, ("a", "c"))
    toy.write_instances(tmp_path, {"three": "a 0.02 yes"})
    tailcut(tmp_path, *RUN, "--measure-first", "2")
    assert measured(tmp_path) == {"one": set("ab"), "three": set("ac")}
    assert set(answers(tmp_path)) == {"one", "two", "three"}


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule"])
def test_kill_9_while_measuring_loses_nothing_and_learns_nothing_twice(tmp_path: Path, selector: str) -> None:
    toy.write_portfolio(tmp_path, ("a", "b", "c"), top=f'selector = "{selector}"')
    chance = random.Random(selector)
    names = [f"i{n:02}" for n in range(10)]
    toy.write_instances(
        tmp_path, {name: f"{chance.choice('abc')} {chance.uniform(0.02, 0.08)} yes" for name in names}
    )
    command = (*RUN, "--measure-first", "5", "--measure-choice", "diverse", "--jobs", "2")
    extra: set[tuple[str, str]] = set()
    for _ in range(4):
        logged = len(toy.log(tmp_path))
        with subprocess.Popen([*TAILCUT, *command], cwd=tmp_path, stderr=subprocess.DEVNULL) as running:
            wait_for(lambda: len(toy.log(tmp_path)) > logged or running.poll() is not None)  # noqa: B023
            time.sleep(chance.uniform(0.1, 0.6))
            running.kill()
        done = {(name, solver) for name, record in records(tmp_path).items() for solver in record.extra}
        assert extra <= done, "a run that had ended was lost"
        again = {(line[2].removesuffix(".toy"), line[1]) for line in toy.log(tmp_path)[logged:]}
        assert not again & extra, "a run that had ended was made again"
        extra = done
    tailcut(tmp_path, *command)
    assert set(answers(tmp_path)) == set(names)
    found = measured(tmp_path)
    assert len(found) == 5
    assert all(solvers == set("abc") for solvers in found.values())
    with Journal(tmp_path / "tailcut-run.db", read_only=True) as journal:
        events = list(Project(journal, PROJECT).history())
    learned = Counter(event.key for event in events if event.kind is EventKind.FIT)
    selected = Counter(event.body["instance"] for event in events if event.kind is EventKind.SELECT)
    assert set(learned.values()) == set(selected.values()) == {1}
