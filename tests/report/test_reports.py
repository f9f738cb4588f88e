"""The report on one scenario, called from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailcut.bench.plan import Cell
from tailcut.bench.store import Result, opened
from tailcut.report.gather import ReportProgress
from tailcut.report.reports import report_scenario


class Heard(ReportProgress):
    def __init__(self) -> None:
        self.planned: list[tuple[int, int]] = []
        self.cells = 0

    def cells_planned(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        self.planned.append((len(cells), len(done)))

    def cell_done(self, cell: Cell, result: Result) -> None:
        self.cells += result.error is None


def test_what_is_missing_is_run_once_and_noted_once(scenarios_folder: Path, tmp_path: Path) -> None:
    source, heard = tmp_path / "r.db", Heard()
    for _ in range(2):
        page = report_scenario(
            scenarios_folder / "ALPHA",
            source,
            tmp_path / "out",
            selectors=["thompson"],
            seeds=2,
            formats=["svg"],
            command="of this test",
            progress=heard,
        )
    assert "is it worth choosing?" in page.read_text(encoding="utf-8")
    assert heard.planned == [(6, 0), (6, 6)]
    assert heard.cells == 6
    assert {"learning", "growth", "regret-ALPHA"} <= {
        file.stem for file in (tmp_path / "out" / "figures").iterdir()
    }
    with opened(source, read_only=True) as store:
        assert [run["command"] for run in store.runs().values()] == ["of this test"]
