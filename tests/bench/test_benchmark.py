"""A benchmark called from Python, as the command calls it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tailcut.bench.benchmark import BenchProgress, benchmark
from tailcut.bench.plan import Cell, Contender
from tailcut.bench.store import Result, opened
from tailcut.errors import InputError


class Heard(BenchProgress):
    def __init__(self) -> None:
        self.left_out: list[tuple[str, str]] = []
        self.planned: list[tuple[int, int]] = []
        self.cells: list[str] = []

    def scenario_left_out(self, name: str, reason: str) -> None:
        self.left_out.append((name, reason))

    def cells_planned(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        self.planned.append((len(cells), len(done)))

    def cell_done(self, cell: Cell, result: Result) -> None:
        assert result.hash == cell.hash
        self.cells.append(cell.hash)


def test_it_runs_what_is_missing_and_returns_the_rows_in_order(generated: Path, tmp_path: Path) -> None:
    names = ("sbs", "thompson", "random")
    contenders = [Contender.of(name) for name in names]
    heard = Heard()
    first = benchmark(generated, scenarios=["BETA"], contenders=contenders[:2], seeds=2)
    assert first.run(tmp_path / "r.db", progress=heard).failed == []
    planned = benchmark(generated, scenarios=["BETA", "ALPHA"], contenders=contenders, seeds=2)
    outcome = planned.run(tmp_path / "r.db", command="of this test", progress=heard)
    assert heard.planned == [(4, 0), (12, 4)]
    assert len(heard.cells) == len(set(heard.cells)) == 12
    expected = [(scenario, name) for scenario in ("ALPHA", "BETA") for name in names]
    assert [(row["scenario"], row["selector"]) for row in outcome.rows] == expected
    with opened(tmp_path / "r.db", read_only=True) as store:
        assert set(store.scenarios()) == {"ALPHA", "BETA"}
        assert [run["command"] for run in store.runs().values()] == ["", "of this test"]


def test_a_plan_names_its_scenarios_unless_the_whole_folder_is_wanted(generated: Path) -> None:
    heard = Heard()
    assert benchmark(generated, plan_name="sensitivity", seeds=1, progress=heard).cells == ()
    assert ("CPMP-2015", f"CPMP-2015 is not in {generated}") in heard.left_out
    whole = benchmark(generated, plan_name="sensitivity", whole_folder=True, seeds=1)
    assert {cell.scenario for cell in whole.cells} == {"ALPHA", "BETA", "GAMMA"}
    with pytest.raises(InputError, match="unknown plan 'nope'; known: default"):
        benchmark(generated, plan_name="nope")
