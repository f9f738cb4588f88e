"""Selectors from outside: a module of one's own, or a package that offers them, on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
from dataclasses import replace

from tailcut import CATALOGUE, register

BOLD = replace(CATALOGUE["thompson"], name="bold_thompson", summary="Thompson sampling, but bold")
"""


def _tailcut(folder: Path, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command as it is installed: the current folder is not on its path by itself."""
    main = "from tailcut.cli import main; import sys; sys.path.remove(''); main()"
    done = subprocess.run(
        [sys.executable, "-c", main, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def _bench(generated: Path, jobs: int = 2) -> list[str | Path]:
    options = ["--scenario", "ALPHA", "--seeds", "2", "--jobs", str(jobs), "--json"]
    return ["bench", "--aslib", generated, "--selector", "bold_thompson", "--selector", "thompson", *options]


@pytest.mark.parametrize("executor", [["--jobs", "2"], ["--executor", "inline"]])
def test_a_module_of_the_folder_is_benchmarked(generated: Path, folder: Path, executor: list[str]) -> None:
    (folder / "mine.py").write_text(f"{MODULE}\nregister(BOLD)\n")
    done = _tailcut(folder, *_bench(generated), "--import", "mine", *executor)
    rows = {row["selector"]: row for row in json.loads(done.stdout)}
    assert set(rows) == {"bold_thompson", "thompson"}
    assert rows["bold_thompson"]["par10_mean"] == rows["thompson"]["par10_mean"], "the same parts and seeds"


def _benched_with_a_schedule(generated: Path, folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from dataclasses import replace\nfrom tailcut import CATALOGUE, register\n"
        "register(replace(CATALOGUE['round_robin'], name='my_rounds'))\n"
    )
    names = ("my_rounds", "round_robin", "random", "epsilon_greedy")
    chosen = [word for name in names for word in ("--selector", name)]
    options = ["--seeds", "2", "--jobs", "1", "--out", "r.db", "--import", "mine"]
    _tailcut(folder, "bench", "--aslib", generated, *options, *chosen)


def test_compare_knows_that_it_is_a_schedule(generated: Path, folder: Path) -> None:
    """Without --import it counts as one pick: the result file does not say what it is."""
    _benched_with_a_schedule(generated, folder)

    def ranked(*more: str) -> tuple[set[str], set[str]]:
        found = json.loads(_tailcut(folder, "compare", "r.db", "--json", *more).stdout)
        return set(found["selectors"]), set((found["schedules"] or {"selectors": []})["selectors"])

    assert ranked("--import", "mine") == ({"random", "epsilon_greedy"}, {"my_rounds", "round_robin"})
    assert "my_rounds" in ranked()[0]


@pytest.mark.slow
def test_so_does_report(generated: Path, folder: Path) -> None:
    _benched_with_a_schedule(generated, folder)
    options = ["--format", "svg", "--jobs", "2", "--import", "mine"]
    _tailcut(folder, "report", "r.db", "--out", "all", *options)
    columns = (folder / "all" / "tables" / "par10.csv").read_text().splitlines()[0].split(",")
    assert "my_rounds (schedule)" in columns
    one = ["--scenario-dir", str(generated / "ALPHA"), "--selector", "my_rounds", "--seeds", "1"]
    _tailcut(folder, "report", *one, "--out", "one", *options)
    assert "my_rounds (schedule)" in (folder / "one" / "index.html").read_text()


def test_an_installed_package_offers_its_selector(generated: Path, folder: Path) -> None:
    """As `pip install` leaves it: a package, and a folder of metadata with its entry points."""
    installed = folder.parent / "site"
    (installed / "bold-1.0.dist-info").mkdir(parents=True)
    (installed / "bold-1.0.dist-info" / "METADATA").write_text("Name: bold\nVersion: 1.0\n")
    (installed / "bold-1.0.dist-info" / "entry_points.txt").write_text(
        "[tailcut.selectors]\nbold_thompson = bold_rows:BOLD\nbroken = bold_rows:NOTHING\n"
    )
    (installed / "bold_rows.py").write_text(MODULE)
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        rows = json.loads(_tailcut(folder, *_bench(generated)).stdout)
        assert {row["selector"] for row in rows} == {"bold_thompson", "thompson"}
        said = _tailcut(folder, "bench", "--selector", "broken", code=2).stderr
        assert "the entry point 'broken' of 'tailcut.selectors' cannot be loaded: AttributeError" in said
        said = _tailcut(folder, "bench", "--selector", "bold_tompson", code=2).stderr
        assert "did you mean 'bold_thompson'?" in said
        listed = _tailcut(folder, "selectors", "--json")
        kinds = {row["name"]: row["kind"] for row in json.loads(listed.stdout)}
        assert (kinds["bold_thompson"], kinds["broken"]) == ("online", "broken")
        (said,) = listed.stderr.splitlines()
        assert said.startswith("left out: the entry point 'broken' of 'tailcut.selectors' cannot be loaded")
        shown = _tailcut(folder, "selectors").stdout
        assert "bold_thompson" in shown
        assert "broken" not in shown


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nowhere", "", "there is no module nowhere in "),
        ("mine.py", "", "leave out .py"),
        ("mine", "import nonsense", "module mine needs nonsense, which is not installed"),
        ("mine", "1 / 0", "module mine cannot be imported: ZeroDivisionError: division by zero"),
        ("mine", "", "unknown selector 'bold_thompson'"),
    ],
)
def test_what_cannot_be_imported_is_named(
    generated: Path, folder: Path, name: str, content: str, message: str
) -> None:
    (folder / "mine.py").write_text(content)
    done = _tailcut(folder, *_bench(generated), "--import", name, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
