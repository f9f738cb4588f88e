"""Everything a report shows is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailcut.bench.ranks import rank
from tailcut.bench.store import Store, opened
from tailcut.report import curves, standings
from tailcut.report.gather import ReportProgress, gather
from tailcut.report.reports import write_results_page, write_scenario_page
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

    monkeypatch.setattr(standings, "grids_of", counted("grids", standings.grids_of, 0))
    monkeypatch.setattr(standings, "rank", counted("rank", rank, 0))
    monkeypatch.setattr(curves, "regret", counted("regret", curves.regret, 0))
    monkeypatch.setattr(curves, "solved_by", counted("solved_by", curves.solved_by, 0))
    monkeypatch.setattr(Store, "trace", counted("trace", Store.trace, 1))
    with opened(results, read_only=True) as store:
        report = gather(store, scenarios_folder)
    write_results_page(report, tmp_path / "report", formats=["svg"])
    assert {name for name, _ in calls} == {"grids", "rank", "regret", "solved_by", "trace"}
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
    page = write_scenario_page(report, scenario, tmp_path, formats=["svg"])
    assert "How fast each selector learns" in page.read_text(encoding="utf-8")


def test_progress_hears_of_every_scenario_and_figure(
    results: Path, scenarios_folder: Path, tmp_path: Path
) -> None:
    heard = Heard()
    with opened(results, read_only=True) as store:
        report = gather(store, scenarios_folder, progress=heard)
    write_results_page(report, tmp_path, formats=["svg"], progress=heard)
    drawn = len(list((tmp_path / "figures").glob("*.svg")))
    assert heard.steps == [
        *(("scenarios gathered", number, 3) for number in (1, 2, 3)),
        *(("figures drawn", number, drawn) for number in range(1, drawn + 1)),
    ]


class Heard(ReportProgress):
    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int]] = []

    def proceeded(self, what: str, done: int, total: int) -> None:
        self.steps.append((what, done, total))
