"""Schedules in a report: a table of their own, a mark wherever they stand beside others, no common ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.bench.store import opened
from tailcut.report.gather import Report, gather
from tailcut.report.reports import headline, results_tables
from tests.report.conftest import command, fill, paragraphs

SELECTORS = ("thompson", "epsilon_greedy", "round_robin", "oracle", "sbs", "sbs_pair", "sbs_schedule")


@pytest.fixture(scope="module")
def results(scenarios_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("schedules") / "r.db", scenarios_folder, selectors=SELECTORS, seeds=2)


@pytest.fixture(scope="module")
def report(results: Path, scenarios_folder: Path) -> Report:
    with opened(results, read_only=True) as store:
        return gather(store, scenarios_folder)


def test_they_compete_with_nobody_who_picks_once(report: Report) -> None:
    assert report.results.selectors[:3] == ("thompson", "epsilon_greedy", "round_robin")
    assert report.grids["par"].contends[:3] == (True, True, False)
    assert report.ranked is not None
    assert set(report.ranked.selectors) == {"thompson", "epsilon_greedy"}
    placed = report.grids["par"].placed(0)
    assert placed[0] | placed[1] == {0, 1}


def test_they_have_a_table_of_their_own_and_a_mark_in_the_others(report: Report) -> None:
    tables = {table.key: table for table in results_tables(report)}
    first_column = {key: [row[0] for row in table.rows] for key, table in tables.items()}
    assert set(first_column["summary"]) == {"thompson", "epsilon_greedy", "oracle", "sbs"}
    assert set(first_column["schedules"]) == {
        "round_robin (schedule)",
        "sbs_pair (schedule)",
        "sbs_schedule (schedule)",
    }
    assert "round_robin (schedule)" in tables["par10"].columns
    assert "do not compete" in tables["par10"].note


def test_they_are_told_apart_in_words_and_figures(report: Report) -> None:
    words = paragraphs(headline(report.results, report.standings, report.ranked))
    assert "listed separately: round_robin (schedule) has a mean nPAR10 of" in words[-1]
    assert not any("round_robin" in paragraph for paragraph in words[:-1])
    assert report.featured[-4] == "round_robin"
    assert set(report.featured[-3:]) == {"oracle", "sbs", "sbs_schedule"}
    assert {one.selector for one in report.scenarios[0].shares} >= {"round_robin", "oracle"}
    assert not {one.selector for one in report.scenarios[0].shares} & {"sbs", "sbs_pair", "sbs_schedule"}


def test_the_page_shows_them_marked(results: Path, scenarios_folder: Path, tmp_path: Path) -> None:
    done = command(results, "--out", tmp_path, "--aslib", scenarios_folder, "--format", "svg", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'id="schedules"' in page
    assert (tmp_path / "tables" / "schedules.tex").is_file()
    for kind in ("regret", "solved", "choices"):
        drawn = (tmp_path / "figures" / f"{kind}-ALPHA.svg").read_text(encoding="utf-8")
        assert "round_robin (schedule)" in drawn, kind


def test_a_file_of_schedules_alone_is_reported(scenarios_folder: Path, tmp_path: Path) -> None:
    path = fill(tmp_path / "r.db", scenarios_folder, ("ALPHA",), ("round_robin", "oracle", "sbs"), seeds=1)
    with opened(path, read_only=True) as store:
        report = gather(store, scenarios_folder)
    words = paragraphs(headline(report.results, report.standings, report.ranked))
    assert words[0].startswith("1 selector on 1 scenario")
    assert "round_robin (schedule)" in words[1]
