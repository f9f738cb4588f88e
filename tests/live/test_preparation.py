"""`tailcut run --warm-start` with real processes: every kind of source, what is left over, kill -9."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.errors import JournalError
from tailcut.journal import EventKind, Journal, Project
from tailcut.live.instance_record import PROJECT
from tests.live import toy
from tests.live.commands import answers, tailcut, wait_for

RUN = ("run", "portfolio.toml", "instances", "--cutoff", "0.5")


def instances(folder: Path, solvers: str = "ab", count: int = 3) -> None:
    """Write instances that the first solver solves, and the others do not."""
    toy.write_instances(folder, {f"i{n}": f"{solvers[0]} 0.0{n + 1} yes" for n in range(count)})


def solvers_run(folder: Path, name: str = "tailcut-run.jsonl") -> int:
    """Return how many pairs of an instance and a solver were run, however often."""
    return sum(len({run["solver"] for run in line["runs"]}) for line in answers(folder, name).values())


def fits(folder: Path, name: str = "tailcut-run.db") -> list[dict[str, object]]:
    """Return the notes of what was learned by fit, after making sure that it can be repeated."""
    with Journal(folder / name, read_only=True) as journal:
        project = Project(journal, PROJECT)
        project.verify()
        return [event.body["note"] for event in project.history() if event.kind is EventKind.FIT]


def test_every_kind_of_source_is_learned_once(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    instances(tmp_path)
    tailcut(tmp_path, "measure", *RUN[1:], "--out", "MEASURED", "--jobs", "2")
    said = tailcut(tmp_path, *RUN, "--warm-start", "MEASURED").stderr
    assert "warm start: 6 runs on 3 instances learned from" in said
    assert all(line["solver"] == "a" for line in answers(tmp_path).values()), "it knew from the first on"
    assert len(fits(tmp_path)) == 1
    again = tailcut(tmp_path, *RUN, "--warm-start", "MEASURED").stderr
    assert "MEASURED was learned before (6 runs)" in again
    assert len(fits(tmp_path)) == 1

    # The name of a scenario, as `scenario info` finds it, and another state file
    found = tailcut(tmp_path, *RUN, "--state", "n.db", "--warm-start", "MEASURED", "--aslib", ".", "--json")
    report = json.loads(found.stdout.splitlines()[0])["warm_start"]
    assert (report["runs"], report["solvers_without_runs"], report["earlier"]) == (6, [], False)
    other = ("--state", "other.db", "--warm-start", "tailcut-run.db")
    # Scenarios call their instances by their file names, so these are others than those of the stream.
    own = solvers_run(tmp_path)
    assert f"{6 + own} runs on 6 instances" in tailcut(tmp_path, *RUN, *other).stderr
    (note,) = fits(tmp_path, "other.db")
    assert str(note["source"]).endswith("tailcut-run.db")
    # Another source for a state file that there is: learned, too, and said.
    own = solvers_run(tmp_path, "n.jsonl")
    assert f"{6 + own} runs on 6 instances" in tailcut(tmp_path, *RUN, "--warm-start", "n.db").stderr
    assert len(fits(tmp_path)) == 2


def test_what_does_not_match_is_said(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "old"))
    instances(tmp_path)
    tailcut(tmp_path, "measure", "portfolio.toml", "instances", "--cutoff", "0.3", "--out", "M")
    toy.write_portfolio(tmp_path, ("a", "new"))
    features = (tmp_path / "features.py").read_text()
    (tmp_path / "features.py").write_text(features.replace('"first"', '"other"'))
    ended = tailcut(tmp_path, *RUN, "--warm-start", "M", "--json")
    report = json.loads(ended.stdout.splitlines()[0])["warm_start"]
    assert report["solvers_without_runs"] == ["new"]
    assert report["solvers_left_over"] == ["old"]
    assert report["features_not_recorded"] == ["other"]
    assert report["features_left_over"] == ["first"]
    for word in ("without recorded runs: new", "not here: old", "recorded for 0.3 s, not 0.5 s"):
        assert word in ended.stderr
    assert set(answers(tmp_path)) == {"i0", "i1", "i2"}
    fits(tmp_path)


def test_where_nothing_can_be_learned_it_ends_before_anything_runs(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("x", "y"))
    instances(tmp_path, "xy", count=1)
    tailcut(tmp_path, "measure", *RUN[1:], "--out", "M")
    toy.write_portfolio(tmp_path, ("a", "b"))
    instances(tmp_path, count=1)
    started = len(toy.log(tmp_path))
    for source, word in (
        ("M", "nothing can be learned: it has runs of x, y, and none of a, b"),
        ("nowhere", "nowhere"),
        ("tailcut-run.db", "is the state file of this run"),
    ):
        ended = tailcut(tmp_path, *RUN, "--warm-start", source, code=2)
        assert word in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1
    assert len(toy.log(tmp_path)) == started
    # Other features altogether
    toy.write_portfolio(tmp_path, ("x", "y"))
    text = (tmp_path / "features.py").read_text()
    (tmp_path / "features.py").write_text(text.replace('"first"', '"u"').replace('"size"', '"v"'))
    ended = tailcut(tmp_path, *RUN, "--state", "f.db", "--warm-start", "M", code=2)
    assert "nothing can be learned: it has the features" in ended.stderr


@pytest.mark.slow
def test_kill_9_in_the_middle_of_the_pieces(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    instances(tmp_path, count=8)
    tailcut(tmp_path, "measure", *RUN[1:], "--out", "M", "--jobs", "2")
    small = "import tailcut.journal.past_runs as w; w.PIECE_ROWS = 1"
    slow = (
        f"{small}\nimport time; from tailcut.journal import Project\nfit = Project.fit\n"
        "def slowly(*given, **more):\n    found = fit(*given, **more)\n    time.sleep(1)\n    return found\n"
        "Project.fit = slowly\n"
    )
    command = (*RUN, "--warm-start", "M")
    code = f"{slow}\nfrom tailcut.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *command], cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as running:
        wait_for(lambda: _learned(tmp_path) >= 3)
        running.kill()
    killed = len(fits(tmp_path))
    assert 3 <= killed < 8
    assert "16 runs on 8 instances" in tailcut(tmp_path, *command, before=small).stderr
    assert [note["piece"] for note in fits(tmp_path)] == list(range(8))
    assert len(answers(tmp_path)) == 8
    tailcut(tmp_path, *RUN, "--state", "whole.db", "--warm-start", "M", before=small)
    first = []
    for name in ("tailcut-run.db", "whole.db"):
        with Journal(tmp_path / name, read_only=True) as journal:
            history = list(Project(journal, PROJECT).history())
        bodies = [{**event.body, "note": None} for event in history if event.kind is EventKind.FIT]
        first.append(bodies)
    assert first[0] == first[1]


def _learned(folder: Path) -> int:
    try:
        with Journal(folder / "tailcut-run.db", read_only=True) as journal:
            number = journal.projects().get(PROJECT)
            return 0 if number is None else len(journal.page(number, kinds=[EventKind.FIT]))
    except JournalError:  # it is just being made
        return 0


def test_a_list_that_grows_loses_no_instance_to_a_warm_start(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    instances(tmp_path)
    tailcut(tmp_path, "measure", *RUN[1:], "--out", "M")
    listed = "".join(f"instances/i{n}.toy\n" for n in range(3))
    command = [sys.executable, "-c", "from tailcut.cli import main; main()", "run", "portfolio.toml", "-"]
    subprocess.run(
        [*command, "--cutoff", "0.5", "--warm-start", "M"], cwd=tmp_path, input=listed, text=True, check=True
    )
    assert set(answers(tmp_path)) == {"i0", "i1", "i2"}
    solved = [line[2] for line in toy.log(tmp_path) if line[:2] == ["answer", "a"]]
    assert sorted(solved) == sorted(2 * ["i0.toy", "i1.toy", "i2.toy"]), "once measured, once in the stream"


@pytest.mark.parametrize("selector", ["tailcut", "tailcut_schedule"])
def test_state_fit_teaches_a_project_offline(tmp_path: Path, selector: str) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    instances(tmp_path)
    tailcut(tmp_path, "measure", *RUN[1:], "--out", "M")
    settings = {"selector": selector, "algorithms": ["a", "c"], "cutoff": 0.5}
    with Journal(tmp_path / "farm.db") as journal:
        Project.create(journal, "farm", settings)
    for expected in (False, True):
        ended = tailcut(tmp_path, "state", "fit", "farm.db", "farm", "M", "--json")
        report = json.loads(ended.stdout)
        assert (report["runs"], report["earlier"]) == (3, expected)
    tailcut(tmp_path, "state", "verify", "farm.db")
    assert "no project" in tailcut(tmp_path, "state", "fit", "farm.db", "x", "M", code=2).stderr
    assert "no such state file" in tailcut(tmp_path, "state", "fit", "x.db", "x", "M", code=2).stderr
