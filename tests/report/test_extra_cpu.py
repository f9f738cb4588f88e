"""Extra CPU time in the report: the curves, the table and the figure, from a real result file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailcut.bench.benchmark import benchmark
from tailcut.bench.plan import Contender
from tailcut.bench.ranks import ranked_groups
from tailcut.bench.store import opened
from tailcut.report.gather import Report, gather
from tailcut.report.reports import comparison_drawings, results_tables, write_results_page
from tailcut.report.standings import cpu_curves

LABELS = (
    *("thompson", "thompson@measure-first=5", "thompson@measure-first=20"),
    *("round_robin", "round_robin@measure-first=5"),
    *("thompson@cv,folds=3", "oracle", "sbs"),
)


@pytest.fixture(scope="module")
def report(scenarios_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("extra") / "r.db"
    contenders = [Contender.parse_label(label) for label in LABELS]
    rows = benchmark(scenarios_folder, contenders=contenders, seeds=2).run(path).rows
    by_pair = {(row["scenario"], row["selector"]): row for row in rows}
    assert by_pair["ALPHA", "thompson@cv,folds=3"]["npar10_train"] is not None
    with opened(path, read_only=True) as store:
        return gather(store)


def test_a_curve_starts_where_nothing_is_measured(report: Report) -> None:
    curves = cpu_curves(report.standings)
    assert set(curves) == {
        ("thompson", "measured first"),
        ("round_robin", "measured first"),
    }
    measured = curves["thompson", "measured first"]
    assert [*measured] == [0, 5, 20]
    assert [one.scenarios for one in measured.values()] == [3] * 3
    extra = [one.extra_cpu for one in measured.values()]
    assert extra == sorted(extra)
    assert extra[0] == 0.0
    assert [one.selector for one in measured.values()] == [*LABELS[:3]]


def test_the_table_says_what_it_costs_and_saves(report: Report) -> None:
    (table,) = [table for table in results_tables(report) if table.key == "extra-cpu"]
    assert len(table.rows) == 3 * 3
    grids = report.grids
    place = {label: j for j, label in enumerate(grids["par"].selectors)}
    for row in table.rows:
        i, label = grids["par"].scenarios.index(str(row[0])), str(row[3]).partition(" ")[0]
        own, without = (grids["par"].mean[i, place[one]] for one in (label, label.partition("@")[0]))
        assert row[5] == pytest.approx(1.0 - own / without)
        assert (row[1], row[2]) == (60, 3)


def test_command_comparison_and_report_compute_the_share_alike(
    scenarios_folder: Path, tmp_path: Path
) -> None:
    """All extra seconds over all answers' seconds: not the mean of what the seeds have each."""
    label, path = "thompson@measure-first=20", tmp_path / "r.db"
    contenders = [Contender.parse_label(one) for one in (label, "thompson", "sbs")]
    rows = benchmark(scenarios_folder, contenders=contenders, seeds=3).run(path).rows
    with opened(path, read_only=True) as store:
        cells = [cell for cell in store.rows() if cell["selector"] == label]
        found = gather(store)
    grid = found.grids["extra_cpu"]
    shares = {}
    for i, scenario in enumerate(grid.scenarios):
        own = [cell for cell in cells if cell["scenario"] == scenario]
        shares[scenario] = sum(cell["extra_cpu"] for cell in own) / sum(cell["answer_cpu"] for cell in own)
        assert shares[scenario] != np.mean([cell["extra_cpu"] / cell["answer_cpu"] for cell in own])
        assert grid.mean[i, grid.selectors.index(label)] == shares[scenario]
    printed = {row["scenario"]: row["extra_cpu"] for row in rows if row["selector"] == label}
    assert printed == shares
    (compared,) = ranked_groups(rows)
    (standing,) = [one for one in found.standings if one.selector == label]
    assert compared.mean_extra_cpu[label] == standing.extra_cpu == np.mean(list(shares.values()))


def test_the_page_has_figure_and_table(report: Report, tmp_path: Path) -> None:
    assert "extra-cpu" in comparison_drawings(report)
    page = write_results_page(report, tmp_path, formats=["svg"]).read_text(encoding="utf-8")
    assert "Extra CPU time" in page
    svg = (tmp_path / "figures" / "extra-cpu.svg").read_text(encoding="utf-8")
    assert "thompson, measured first" in svg
    assert "mean nPAR10 of the answers" in svg
