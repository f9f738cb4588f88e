"""A stream run from Python: no terminal, no command line, an observer that hears everything."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.journal import Journal
from tailcut.live.instance_record import InstanceRecord, RunRecord
from tailcut.live.instances import instances_in
from tailcut.live.monitor import followed_run
from tailcut.live.observer import StreamObserver, Totals
from tailcut.live.portfolio import read_portfolio
from tailcut.live.stream import StreamSettings, run_stream
from tests.live import toy


class Listener(StreamObserver):
    """Writes down what it hears."""

    def __init__(self, answers: Path) -> None:
        self.heard: list[str] = []
        self.answers = answers
        self.totals: Totals | None = None

    def solver_added(self, solver: str) -> None:
        self.heard.append(f"added {solver}")

    def solver_removed(self, solver: str) -> None:
        self.heard.append(f"removed {solver}")

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        self.totals = totals
        self.heard.append(f"started {totals.over} of {n_instances}")

    def features_started(self, record: InstanceRecord) -> None:
        assert self.totals is not None
        assert (record.instance, None) in self.totals.current
        self.heard.append("features")

    def run_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        assert self.totals is not None
        assert self.totals.current[record.instance, solver][0] == budget
        self.heard.append(f"run {solver}")

    def run_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        self.heard.append(f"ended {run['solver']} {run['ending']}")

    def instance_over(self, record: InstanceRecord) -> None:
        line = json.loads(self.answers.read_text().splitlines()[-1])
        assert line == record.as_dict(), "it is written before it is announced"
        self.heard.append(f"over {Path(record.instance).stem} {record.answer}")


def run(folder: Path, *, selector: str = "round_robin", listed: bool = True) -> tuple[Totals, list[str]]:
    portfolio = read_portfolio(folder / "portfolio.toml")
    instances = instances_in([str(folder / "instances")], portfolio.instances)
    answers = folder / "answers.jsonl"
    listener = Listener(answers)
    settings = StreamSettings(selector, cutoff=0.5)
    with Journal(folder / "run.db") as journal:
        given = list(instances) if listed else instances
        outputs = folder / "out" / "puts"
        totals = run_stream(journal, portfolio, settings, given, answers, outputs=outputs, observer=listener)
    return totals, listener.heard


def test_the_observer_hears_every_step_in_order(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",))
    toy.write_instances(tmp_path, {"one": "a 0.02 yes", "two": "a 0.02 crash"})
    totals, heard = run(tmp_path, selector="tailcut")
    steps = ["features", "run a", "ended a finished", "over one yes"]
    assert heard == ["started 0 of 2", *steps, "features", "run a", "ended a crashed", "over two None"]
    assert (totals.solved, totals.unsolved, totals.over) == (1, 1, 2)
    assert totals.solvers["a"].runs == 2
    assert totals.solvers["a"].solved == 1
    assert totals.current == {}
    assert "two.toy: a: ended by SIGABRT" in totals.problems[0]
    assert len(list((tmp_path / "out" / "puts").iterdir())) == 1
    with closing(followed_run(tmp_path / "run.db")) as followed:
        cost = followed.look()
    assert (cost.over, cost.solved) == (2, 1)
    assert cost.par10 is not None
    assert cost.par10 > 2.5  # one unsolved, ten times the cutoff, halved
    assert cost.seconds == pytest.approx(totals.seconds)


def test_a_stream_is_continued_with_a_changed_portfolio(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 yes"})
    run(tmp_path)
    toy.write_portfolio(tmp_path, ("a", "c"), features=False)
    toy.write_instances(tmp_path, {"two": "a 0.02 yes\nc 0.02 yes"})
    totals, heard = run(tmp_path, listed=False)
    assert heard[:3] == ["added c", "removed b", "started 1 of None"]
    assert heard[-1] == "over two yes"
    assert totals.over == 2
    assert run(tmp_path)[1] == ["started 2 of 2"]


def test_a_selector_that_needs_features_is_refused_without_them(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.02 yes"})
    with pytest.raises(InputError, match="thompson_rev cannot choose without features"):
        run(tmp_path, selector="thompson_rev")


def test_nothing_of_the_command_line_is_needed() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('typer', 'rich', 'dask', 'distributed')))\n"
        "import tailcut.live.stream, tailcut.live.measure, tailcut.live.check"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
