"""Values show themselves in a line, as an HTML table and as a data frame."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tailcut import Scenario, Selector, bench
from tailcut.errors import MissingExtraError
from tailcut.scenarios import bundled


class _Cells(HTMLParser):
    """Collects what stands in the cells of a table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.feed(text)

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.read(bundled.SCENARIO)


def test_a_scenario_is_one_line_and_one_table(scenario: Scenario) -> None:
    assert repr(scenario) == str(scenario)
    assert len(repr(scenario)) < 150
    assert scenario.name in repr(scenario)
    assert set(scenario.algorithms) <= set(_Cells(scenario._repr_html_()).cells)


def test_the_runs_of_a_scenario_as_a_frame(scenario: Scenario) -> None:
    frame = scenario.to_frame()
    assert len(frame) == scenario.runtimes.size
    again = frame.pivot(index="instance", columns="algorithm", values="runtime")
    assert (again.to_numpy() == scenario.runtimes).all()
    assert ((frame["status"] == "ok").sum()) >= scenario.solved.sum()


def test_decisions_and_explanations_are_short(scenario: Scenario) -> None:
    selector = Selector("thompson", scenario.algorithms, scenario.cutoff)
    decision = selector.select(scenario.features[0], instance="<i1>")
    assert len(repr(decision)) < 150
    assert decision.algorithm in repr(decision)
    shown = decision._repr_html_()
    assert "<i1>" not in shown
    assert set(scenario.algorithms) <= set(_Cells(shown).cells)
    explanation = decision.explain()
    assert len(repr(explanation)) < 200
    assert set(scenario.algorithms) <= set(_Cells(explanation._repr_html_()).cells)
    assert list(explanation.to_frame()["name"]) == list(scenario.algorithms)


def test_one_import_replays_scenarios_in_memory(tmp_path: Path) -> None:
    runs: dict[str, list[object]] = {
        "instance": ["i1", "i1", "i2", "i2"],
        "algorithm": ["a", "b", "a", "b"],
        "runtime": [1.0, 60.0, 60.0, 8.0],
        "status": ["ok", "timeout", "timeout", "ok"],
    }
    features: dict[str, list[object]] = {"instance": ["i1", "i2"], "size": [10.0, 200.0]}
    scenarios = [Scenario.from_frames(runs, features, cutoff=60.0, name=name) for name in ("x", "y")]
    outcome = bench.run(["thompson", "random", "sbs"], scenarios, seeds=2, out=tmp_path / "r.db")
    frame = outcome.to_frame()
    assert set(frame["scenario"]) == {"x", "y"}
    assert (frame[frame["selector"] == "sbs"]["npar10"] == 1.0).all()
    assert "thompson" in _Cells(outcome._repr_html_()).cells
    (group,) = bench.compare(outcome)
    assert set(group.ranking.selectors) == {"thompson", "random"}
    assert repr(outcome) == "BenchOutcome(2 scenarios, 3 selectors, 0 cells failed)"


def test_without_pandas_the_extra_is_named(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"tailcut\[notebook\]"):
        scenario.to_frame()
