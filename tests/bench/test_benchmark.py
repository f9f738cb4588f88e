"""A benchmark called from Python, as the command calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.bench.benchmark import benchmark
from tailcut.bench.plan import Contender
from tailcut.bench.store import opened
from tailcut.errors import InputError
from tests.bench.result_files import Heard


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
