"""A scenario measured from Python: no command line, an observer that hears of each measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.live.instances import instances_in
from tailcut.live.measure import Measured, MeasureObserver, default_state, measure_scenario
from tailcut.live.portfolio import read_portfolio
from tailcut.scenarios import Scenario
from tests.live import toy


class Listener(MeasureObserver):
    def __init__(self) -> None:
        self.begun: tuple[int, int] | None = None
        self.heard: list[Measured] = []

    def started(self, done: int, total: int) -> None:
        self.begun = done, total

    def measured(self, one: Measured) -> None:
        self.heard.append(one)


def measure(folder: Path, out: Path) -> tuple[Scenario, Listener]:
    portfolio = read_portfolio(folder / "portfolio.toml")
    instances = list(instances_in([str(folder / "instances")], portfolio.instances))
    listener = Listener()
    return measure_scenario(portfolio, instances, out, cutoff=0.5, observer=listener), listener


def test_only_what_is_missing_is_measured(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"))
    toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 crash"})
    out = tmp_path / "TOYS"
    scenario, listener = measure(tmp_path, out)
    assert listener.begun == (0, 3)
    assert [(one["instance"], one.get("solver")) for one in listener.heard] == [
        ("one.toy", None),
        ("one.toy", "a"),
        ("one.toy", "b"),
    ]
    assert [one.get("problem") for one in listener.heard] == [None, None, "ended by SIGABRT"]
    assert scenario.solved.tolist() == [[True, False]]
    assert scenario.instances == ("one.toy",)
    assert Scenario.read(out, cache=False).name == "TOYS"
    assert default_state(out).exists()
    with pytest.raises(InputError, match="already holds a scenario"):
        measure(tmp_path, out)
    for file in out.iterdir():
        file.unlink()
    toy.write_instances(tmp_path, {"two": "a 0.02 yes\nb 0.02 yes"})
    scenario, listener = measure(tmp_path, out)
    assert listener.begun == (3, 6)
    assert {one["instance"] for one in listener.heard} == {"two.toy"}
    assert scenario.instances == ("one.toy", "two.toy")
    assert "2 instances, 2 solvers, cutoff 0.5 s" in (out / "readme.txt").read_text()


def test_instances_of_the_same_name_keep_their_paths(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    for folder in ("x", "y"):
        (tmp_path / "instances" / folder).mkdir(parents=True)
        (tmp_path / "instances" / folder / "one.toy").write_text("a 0.02 yes")
    scenario, _ = measure(tmp_path, tmp_path / "TOYS")
    assert [name.rpartition("instances")[2] for name in scenario.instances] == ["/x/one.toy", "/y/one.toy"]
