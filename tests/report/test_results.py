"""Result files as they come: partial, failed, computed twice, old, with sweeps, empty or foreign."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tailcut.bench.benchmark import run_cells
from tailcut.bench.plan import Contender, plan
from tailcut.bench.store import Result, opened
from tailcut.errors import InputError
from tailcut.report.gather import Report, gather
from tailcut.report.reports import headline, left_out, write_results_page
from tailcut.report.results import load
from tailcut.scenarios import Scenario, bundled
from tests.report.conftest import fill, paragraphs


def _gathered(path: Path, scenarios_folder: Path | None = None) -> Report:
    with opened(path, read_only=True) as store:
        return gather(store, scenarios_folder)


def _changed(results: Path, tmp_path: Path, *statements: str) -> Path:
    path = tmp_path / "changed.db"
    shutil.copy(results, path)
    db = sqlite3.connect(path)
    with db:
        for statement in statements:
            db.execute(statement)
    db.close()
    return path


def test_one_scenario_and_one_seed(scenarios_folder: Path, tmp_path: Path) -> None:
    report = _gathered(fill(tmp_path / "r.db", scenarios_folder, ("BETA",), ("thompson", "sbs"), seeds=1))
    assert report.ranked is None
    assert report.results.missing() == []
    text = "\n".join(left_out(report))
    assert "No ranks" in text
    assert "no regret curves: there is no result of `oracle`" in text
    assert (
        paragraphs(headline(report.results, report.standings, None))[0]
        == "1 selector on 1 scenario, 1 seed each: 2 results."
    )


def test_one_selector_alone_is_compared_with_nothing(scenarios_folder: Path, tmp_path: Path) -> None:
    report = _gathered(fill(tmp_path / "r.db", scenarios_folder, ("BETA",), ("thompson",), seeds=1))
    page = write_results_page(report, tmp_path / "report", formats=["svg"]).read_text(encoding="utf-8")
    assert "1 seed each: 1 result." in page
    assert "<h2>Comparison</h2>" not in page
    assert "outlined: known only in hindsight" not in page
    assert "<code>tailcut bench --plan sensitivity</code>" in page


def test_the_bundled_scenario_needs_no_folder(tmp_path: Path) -> None:
    path = fill(tmp_path / "r.db", bundled.FOLDER, (bundled.SCENARIO.name,), ("random", "sbs"), seeds=1)
    for folder in (None, tmp_path):
        (part,) = _gathered(path, folder).scenarios
        assert part.survival
        assert not part.notes


def test_the_oracle_is_computed_from_the_scenario_where_the_file_lacks_it(
    scenarios_folder: Path, tmp_path: Path
) -> None:
    path = fill(tmp_path / "r.db", scenarios_folder, ("BETA",), ("thompson", "sbs"), seeds=2)
    whole = fill(tmp_path / "whole.db", scenarios_folder, ("BETA",), ("thompson", "sbs", "oracle"), seeds=2)
    curves, expected = (
        _gathered(path, scenarios_folder).scenarios[0].regret,
        _gathered(whole).scenarios[0].regret,
    )
    assert curves is not None
    assert expected is not None
    for name, (mean, _) in curves.bands.items():
        assert mean == pytest.approx(expected.bands[name][0])


def test_missing_cells_are_named(results: Path, tmp_path: Path) -> None:
    path = _changed(
        results,
        tmp_path,
        "DELETE FROM cells WHERE scenario = 'BETA' AND selector = 'thompson' AND seed = 1",
        "DELETE FROM cells WHERE scenario = 'GAMMA' AND selector = 'rand_bclinucb'",
    )
    report = _gathered(path)
    assert report.results.missing() == [("BETA", "thompson", [1]), ("GAMMA", "rand_bclinucb", [0, 1, 2])]
    text = left_out(report)
    assert "Missing: BETA, thompson: no result for seed 1." in text
    assert "Missing: GAMMA, rand_bclinucb: no result for seeds 0, 1, 2." in text
    assert any(line.startswith("Ranks leave out GAMMA") for line in text)
    assert report.ranked is not None
    assert report.ranked.scenarios == ("ALPHA", "BETA")


def test_failed_cells_are_named_with_their_reason(results: Path, tmp_path: Path) -> None:
    path = _changed(
        results,
        tmp_path,
        "UPDATE cells SET error = 'Traceback\n  somewhere\nValueError: no luck', par = NULL, losses = NULL "
        "WHERE scenario = 'ALPHA' AND selector = 'thompson' AND seed = 2",
    )
    report = _gathered(path)
    assert "Failed: ALPHA, thompson, seed 2: ValueError: no luck" in left_out(report)
    assert [cell["seed"] for cell in report.results.of("ALPHA", "thompson")] == [0, 1]


def test_of_results_computed_twice_the_later_counts(scenarios_folder: Path, tmp_path: Path) -> None:
    """As after a change of the code: the same cell under another hash, from a later run."""
    path = fill(tmp_path / "r.db", scenarios_folder, ("ALPHA",), ("thompson", "sbs", "oracle"), seeds=1)
    scenario = Scenario.read(scenarios_folder / "ALPHA")
    cell = plan([("ALPHA", scenario)], [Contender.of("thompson")], 1)[0]
    with opened(path) as store:
        choices, losses, seconds = store.trace(cell.hash)
        store.begin_run("later")
        again = Result("0" * 64, 1.0, None, 123.0, 0.5, 9.0, 1.0, 2.0, choices, losses, seconds)
        store.add(replace(cell, hash="0" * 64), again)
    report = _gathered(path)
    assert [one["par"] for one in report.results.of("ALPHA", "thompson")] == [123.0]
    assert report.results.superseded == 1
    assert any("1 results that a later run computed again" in line for line in left_out(report))


def test_files_without_the_newer_tables_still_give_a_report(results: Path, tmp_path: Path) -> None:
    path = _changed(results, tmp_path, "DROP TABLE runs", "DROP TABLE origins", "DROP TABLE scenarios")
    report = _gathered(path)
    known = report.scenarios[0].description
    with opened(results, read_only=True) as store:
        expected = store.scenarios()["ALPHA"]
    assert known["instances"] == expected["instances"] == 60
    assert known["cutoff"] == pytest.approx(expected["cutoff"]), (
        "read off the penalty of an unsolved instance"
    )
    assert known["algorithms"] == ["algorithm 1", "algorithm 2", "algorithm 3"]
    assert repr(report.standings) == repr(_gathered(results).standings)  # some are nan, which equals nothing


def test_sweeps_stand_apart_and_share_their_default(scenarios_folder: Path, tmp_path: Path) -> None:
    labels = tuple(f"bj_thompson_rev:noise_variance={value}" for value in (1.0, 2.0, 3.5))
    path = fill(
        tmp_path / "r.db",
        scenarios_folder,
        ("ALPHA",),
        (*labels, "thompson:noise_variance=3", "sbs", "oracle"),
        seeds=2,
    )
    report = _gathered(path)
    ((sweep, (panel,)),) = report.sweeps.items()
    assert (sweep.selector, sweep.parameter) == ("bj_thompson_rev", "noise_variance")
    assert panel.at.tolist() == [1.0, 2.0, 3.5]
    db = sqlite3.connect(path)
    for value, mean in zip(panel.at, panel.bands["bj_thompson_rev"][0], strict=True):
        query = "SELECT avg(par) FROM cells WHERE selector = ?"
        label = f"bj_thompson_rev:noise_variance={value}"
        assert mean == pytest.approx(db.execute(query, (label,)).fetchone()[0])
    db.close()
    assert report.results.selectors == ("bj_thompson_rev", "thompson:noise_variance=3.0", "oracle", "sbs")


def test_results_with_another_penalty_are_left_out_and_named(scenarios_folder: Path, tmp_path: Path) -> None:
    path = fill(tmp_path / "r.db", scenarios_folder, ("ALPHA",), ("thompson", "sbs", "oracle"), seeds=2)
    scenario = Scenario.read(scenarios_folder / "ALPHA")
    with opened(path) as store:
        run_cells(
            plan([(str(scenarios_folder / "ALPHA"), scenario)], [Contender.of("sbs")], 1, penalty=2.0), store
        )
    report = _gathered(path)
    assert report.results.par == "PAR10"
    assert "Left out: 1 results with PAR2; this report is about PAR10." in left_out(report)


def test_a_scenario_that_is_not_the_one_is_not_used(
    results: Path, scenarios_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(scenarios_folder / "BETA", tmp_path / "ALPHA")
    part = _gathered(results, tmp_path).scenarios[0]
    assert part.name == "ALPHA"
    assert part.survival == {}
    assert "is not the scenario these results were made with" in part.notes[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a result file"),
        (b"not a database at all, but longer than a header " * 4, "cannot be used as a result file"),
    ],
)
def test_empty_and_foreign_files_are_refused_and_left_alone(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message), opened(path, read_only=True):
        pass
    assert path.read_bytes() == content


def test_a_foreign_database_and_one_without_results_are_refused(results: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    db = sqlite3.connect(foreign)
    db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(InputError, match="not one of Tailcut's results"), opened(foreign, read_only=True):
        pass
    none = _changed(results, tmp_path, "DELETE FROM cells")
    with opened(none, read_only=True) as store, pytest.raises(InputError, match="holds no cells"):
        load(store)
    failed = _changed(results, tmp_path, "UPDATE cells SET error = 'x'")
    with opened(failed, read_only=True) as store, pytest.raises(InputError, match="only 54 failed cells"):
        load(store)


def test_results_under_conditions_that_are_gone_are_left_out(results: Path, tmp_path: Path) -> None:
    """0.2 could learn while idle, as in `thompson@learn-share=0.2`; its result files still open."""
    label = "thompson@learn-share=0.2"
    path = _changed(results, tmp_path, f"UPDATE cells SET selector = '{label}' WHERE selector = 'thompson'")
    with pytest.warns(UserWarning, match=f"left out: {label}"):
        report = _gathered(path)
    assert report.results.selectors[:3] == ("bj_thompson_rev", "rand_bclinucb", "epsilon_greedy")
    page = write_results_page(report, tmp_path / "report", formats=["svg"]).read_text(encoding="utf-8")
    assert "learn-share" not in page
