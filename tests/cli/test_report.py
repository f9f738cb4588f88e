"""The command as a user runs it: what it writes, what it says, and that it leaves the results alone."""

from __future__ import annotations

import csv
import html
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tailcut.bench.store import opened
from tailcut.report.curves import complement
from tailcut.scenarios import Scenario
from tests.bench.conftest import write_scenario
from tests.report.conftest import command, fill


def test_it_writes_tables_figures_and_the_page(written: Path) -> None:
    keys = {"summary", "par10", "npar10", "repar10", "unsolved", "decision", "scenarios", "wilcoxon"}
    tables = {path.name for path in (written / "tables").iterdir()}
    assert tables == {f"{key}.{ending}" for key in keys for ending in ("md", "tex", "csv", "html")}
    assert len(list((written / "figures").glob("*.svg"))) == 23
    assert list((written / "figures").glob("*.pdf")) == []


def test_the_tables_hold_what_the_file_holds(written: Path, results: Path) -> None:
    db = sqlite3.connect(results)
    with (written / "tables" / "par10.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["scenario"] != "average rank"]
    assert [row["scenario"] for row in rows] == ["ALPHA", "BETA", "GAMMA"]
    for row in rows:
        query = "SELECT selector, avg(par) FROM cells WHERE scenario = ? GROUP BY selector"
        for selector, par in db.execute(query, (row["scenario"],)):
            assert float(row[selector]) == pytest.approx(par, rel=1e-12)
    db.close()


def test_the_page_says_what_is_in_it_and_how_it_came_about(written: Path) -> None:
    page = (written / "index.html").read_text(encoding="utf-8")
    assert "4 selectors on 3 scenarios, 3 seeds each: 54 results." in page
    assert "has the lowest mean nPAR10" in page
    assert "beats the single best solver on" in page
    assert "$ tailcut bench --of-this-test" in page
    assert "numpy: " in page
    assert "No sensitivity analysis" in page
    for name in ("ALPHA", "BETA", "GAMMA"):
        assert f'<details id="scenario-{name}">' in page


def test_the_result_file_is_only_read(results: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    shutil.copy(results, path)
    before = path.read_bytes()
    done = command(path, "--out", tmp_path / "out", "--format", "svg", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no result file: name one that `tailcut bench` wrote"),
        (("nowhere.db",), "nowhere.db: there is no such result file or state file"),
        (("empty.db",), "empty.db: is empty; expected a result file"),
        (("text.db",), "text.db: cannot be used as a result file"),
        (("r.db", "--format", "gif"), "unknown figure format 'gif'; known: svg, pdf, png"),
        (("r.db", "--out", "text.db"), "--out text.db: cannot be a folder"),
        (("r.db", "--paper", "--scenario-dir", "x"), "exclude each other"),
        (("r.db", "--selector", "thompson"), "--selector goes with --scenario-dir"),
        (("r.db", "--aslib", "nowhere"), "--aslib nowhere: no such folder"),
        (("r.db", "--paper"), "no ASlib folder"),
        (("--scenario-dir", "nowhere"), "nowhere"),
    ],
)
def test_wrong_calls_are_one_line_and_code_2(
    tmp_path: Path,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(results, tmp_path / "r.db")
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("a,b\n1,2\n" * 100)
    done = command(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_without_its_extra_the_command_says_what_to_install(results: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['matplotlib'] = None\nfrom tailcut.cli import main\nmain()\n"
    given = [sys.executable, "-c", code, "report", str(results), "--out", str(tmp_path / "out")]
    done = subprocess.run(given, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "tailcut: figures need the extra 'report': pip install 'tailcut[report]'\n"


@pytest.mark.slow
def test_paper_runs_what_is_missing_and_shows_the_five_sweeps(tmp_path: Path) -> None:
    """On one tiny scenario that bears the name of one the paper's sensitivity analysis uses."""
    write_scenario(tmp_path / "aslib", "QBF-2011", n_instances=10)
    path, out = tmp_path / "r.db", tmp_path / "out"
    given = (path, "--paper", "--aslib", tmp_path / "aslib", "--seeds", "1", "--jobs", "1", "--format", "svg")
    done = command(*given, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "left out: CPMP-2015 is not in" in done.stderr
    assert "Left out: CPMP-2015 is not in" in (out / "index.html").read_text(encoding="utf-8")
    names = {found.stem for found in (out / "figures").glob("sensitivity-*.svg")}
    swept = [
        ("bj_thompson_rev", ("noise_variance", "ridge")),
        ("rand_bclinucb_rev", ("noise", "alpha", "rand_sigma")),
    ]
    assert names == {f"sensitivity-{name}-{key}" for name, keys in swept for key in keys}
    with opened(path, read_only=True) as store:
        held, runs = store.done(), store.runs()
        assert store.scenarios()["QBF-2011"]["instances"] == len(
            Scenario.read(tmp_path / "aslib" / "QBF-2011").instances
        )
    assert command(*given, "--out", out).returncode == 0
    with opened(path, read_only=True) as store:
        assert (store.done(), store.runs()) == (held, runs)
    with (out / "tables" / "par10.csv").open(newline="") as file:
        columns = next(csv.reader(file))
    assert not any(":" in name for name in columns), "points of sweeps are no contenders"
    assert "bj_thompson_rev" in columns


def test_odd_names_reach_every_part_and_break_none(results: Path, tmp_path: Path) -> None:
    odd, place = '<b>$x_1$ & "q" \\ü', "50%/of <it>"
    path = tmp_path / "r.db"
    shutil.copy(results, path)
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE cells SET selector = ? WHERE selector = 'thompson'", (odd,))
        db.execute("UPDATE cells SET scenario = ? WHERE scenario = 'BETA'", (place,))
    db.close()
    done = command(path, "--out", tmp_path / "out", "--format", "svg", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert odd not in page
    assert odd in html.unescape(page)
    assert place in html.unescape(page)
    with (tmp_path / "out" / "tables" / "par10.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert odd in rows[0]
    assert place in [row["scenario"] for row in rows]


@pytest.mark.slow
def test_a_scenario_that_leaves_nothing_to_choose(tmp_path: Path) -> None:
    """One algorithm that solves everything: no gap, no cutoff to be seen, nothing to rank."""
    runs: dict[str, list[Any]] = {
        "instance": ["i1", "i2"],
        "algorithm": ["only", "only"],
        "runtime": [1.0, 2.0],
    }
    features: dict[str, list[Any]] = {"instance": ["i1", "i2"], "f": [1.0, 2.0]}
    scenario = Scenario.from_frames(runs, features, cutoff=9.0, name="easy")
    scenario.write(tmp_path / "aslib" / "easy")
    path = fill(tmp_path / "r.db", tmp_path / "aslib", ("easy",), ("thompson", "oracle", "sbs"), seeds=1)
    for number, extra in enumerate(((), ("--aslib", tmp_path / "aslib"))):
        out = tmp_path / f"out{number}"
        done = command(path, "--out", out, "--format", "svg", "--jobs", "1", *extra)
        assert done.returncode == 0, done.stderr
        page = (out / "index.html").read_text(encoding="utf-8")
        assert "No selector has an nPAR10: the single best solver is perfect, so there is no gap" in page
        shown = re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.DOTALL)
        assert not re.search(r"\bnan\b", shown, re.IGNORECASE)
    given = ("--scenario-dir", tmp_path / "aslib" / "easy", "--out", tmp_path / "practice", "--seeds", "1")
    done = command(*given, "--selector", "thompson", "--format", "svg", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "practice" / "index.html").read_text(encoding="utf-8")
    assert "there is nothing to choose" in page


def test_the_command_reports_on_one_scenario(scenarios_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given: list[str | Path] = [
        "--scenario-dir",
        scenarios_folder / "BETA",
        "--out",
        out,
        "--seeds",
        "2",
        "--jobs",
        "1",
        "--format",
        "svg",
    ]
    done = command(*given, "--selector", "thompson", "--selector", "epsilon_greedy")
    assert done.returncode == 0, done.stderr
    page = (out / "index.html").read_text(encoding="utf-8")
    best = complement(Scenario.read(scenarios_folder / "BETA")).solvers[0].name
    assert f"Always running {best}, the single best of 3 solvers" in page
    for key in ("learning", "solvers", "pairs", "scenarios"):
        assert f'id="table-{key}"' in page
        assert (out / "tables" / f"{key}.tex").is_file()
    with opened(out / "results.db", read_only=True) as store:
        assert len(store.rows()) == 8
    again = command(*given, "--selector", "thompson", "--selector", "epsilon_greedy")
    assert again.returncode == 0
    with opened(out / "results.db", read_only=True) as store:
        assert len(store.runs()) == 1, "nothing was missing the second time"


@pytest.mark.aslib
def test_the_command_reports_on_a_real_scenario(aslib: Path, tmp_path: Path) -> None:
    given = ("--scenario-dir", aslib / "CPMP-2015", "--out", tmp_path, "--seeds", "1", "--jobs", "1")
    done = command(*given, "--selector", "thompson", "--format", "svg")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    # four algorithms and 527 instances: as in the published overview (published_scenarios.csv)
    assert "the single best of 4 solvers" in page
    assert "of 527 instances unsolved" in page
    unsolved = int((~Scenario.read(aslib / "CPMP-2015").solved.any(axis=1)).sum())
    assert unsolved == 0
    assert "every one is solved by some solver" in page
