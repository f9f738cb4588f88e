"""Everything a report shows is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailcut.bench.ranks import rank
from tailcut.bench.store import Store, opened
from tailcut.report.numbers import gather as gathering
from tailcut.report.numbers import standings
from tailcut.report.numbers.complement import complement
from tailcut.report.numbers.gather import gather
from tailcut.report.numbers.standings import METRICS
from tailcut.report.numbers.stream_curves import regret, solved_by
from tailcut.report.pages.results_page import write_results_page
from tailcut.report.pages.scenario_page import write_scenario_page
from tailcut.report.progress import ReportProgress
from tailcut.scenarios import Scenario


def test_grids_ranks_and_traces_are_computed_once(
    results: Path, scenarios_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[tuple[str, Any]] = Counter()

    def counted(name: str, function: Callable[..., Any], key: int) -> Callable[..., Any]:
        def wrapper(*given: Any, **named: Any) -> Any:
            calls[name, given[key] if isinstance(given[key], str) else ""] += 1
            return function(*given, **named)

        return wrapper

    monkeypatch.setattr(standings, "grid", counted("grid", standings.grid, 1))
    monkeypatch.setattr(standings, "rank", counted("rank", rank, 0))
    monkeypatch.setattr(gathering, "regret", counted("regret", regret, 0))
    monkeypatch.setattr(gathering, "solved_by", counted("solved_by", solved_by, 0))
    monkeypatch.setattr(Store, "trace", counted("trace", Store.trace, 1))
    with opened(results, read_only=True) as store:
        report = gather(store, scenarios_folder)
    write_results_page(report, tmp_path / "report", formats=["svg"])
    assert {metric for name, metric in calls if name == "grid"} == set(METRICS)
    assert {name for name, _ in calls} == {"grid", "rank", "regret", "solved_by", "trace"}
    assert set(calls.values()) == {1}


def test_the_page_on_one_scenario_reads_no_trace_again(
    results: Path, scenarios_folder: Path, tmp_path: Path
) -> None:
    """The store is closed before the page is written, so all there is must be in the report."""
    scenario = Scenario.read(scenarios_folder / "ALPHA")
    with opened(results, read_only=True) as store:
        hashes = {row["hash"] for row in store.rows() if row["scenario"] == "ALPHA"}
        report = gather(store, scenario=scenario, hashes=hashes)
    (part,) = report.scenarios
    assert {one.selector for one in part.learning} == set(report.results.selectors)
    page = write_scenario_page(report, scenario, complement(scenario), tmp_path, formats=["svg"])
    assert "How fast each selector learns" in page.read_text(encoding="utf-8")


def test_progress_hears_of_every_scenario_and_figure(
    results: Path, scenarios_folder: Path, tmp_path: Path
) -> None:
    heard = Heard()
    with opened(results, read_only=True) as store:
        report = gather(store, scenarios_folder, progress=heard)
    write_results_page(report, tmp_path, formats=["svg"], progress=heard)
    assert heard.scenarios == ["ALPHA", "BETA", "GAMMA"]
    assert heard.planned == len(heard.figures) == len(list((tmp_path / "figures").glob("*.svg")))


class Heard(ReportProgress):
    def __init__(self) -> None:
        self.scenarios: list[str] = []
        self.planned = 0
        self.figures: list[str] = []

    def scenario_gathered(self, name: str) -> None:
        self.scenarios.append(name)

    def figures_planned(self, count: int) -> None:
        self.planned += count

    def figure_drawn(self, name: str) -> None:
        self.figures.append(name)
