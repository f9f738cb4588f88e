"""Running plans: resumable, the same on one process and on several, and robust against broken cells."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.run import compute, run
from tailcut.bench.store import Result, Store, opened
from tailcut.errors import InputError
from tailcut.scenarios import Scenario
from tests.bench.conftest import write_scenario

SELECTORS = ("thompson", "bj_thompson_rev", "rand_bclinucb", "sbs")


def _cells(generated: Path, seeds: int = 2) -> list[Cell]:
    scenarios = [(str(folder), Scenario.read(folder)) for folder in sorted(generated.iterdir())]
    return plan(scenarios, [Contender.of(name) for name in SELECTORS], seeds)


def _content(path: Path) -> dict[str, Any]:
    """Everything in a result file that must not depend on how it came about: all but times."""
    with opened(path) as store:
        found = {}
        for row in store.rows():
            choices, losses, _ = store.trace(row["hash"])
            kept = {key: row[key] for key in row if key not in ("seconds", "decision_us")}
            found[row["hash"]] = (kept, choices.tolist(), losses.tolist())
        return found


def test_several_processes_give_the_same_file_as_one(generated: Path, tmp_path: Path) -> None:
    for jobs in (1, 2):
        with opened(tmp_path / f"{jobs}.db") as store:
            run(_cells(generated), store, jobs=jobs)
    assert _content(tmp_path / "1.db") == _content(tmp_path / "2.db")
    assert len(_content(tmp_path / "1.db")) == 24


def test_a_second_run_does_only_what_is_missing(generated: Path, tmp_path: Path) -> None:
    cells, ran = _cells(generated), []
    with opened(tmp_path / "r.db") as store:
        run(cells[:5], store)
        run(cells, store, on_cell=lambda cell, _: ran.append(cell.hash))
        assert ran == [cell.hash for cell in cells[5:]]
        run(cells, store, on_cell=lambda *_: pytest.fail("nothing was missing"))


def test_a_broken_cell_is_recorded_and_tried_again_and_does_not_stop_the_rest(
    generated: Path, tmp_path: Path
) -> None:
    good = _cells(generated)[:2]
    broken = replace(good[0], folder=str(tmp_path / "nowhere"), hash="broken")
    with opened(tmp_path / "r.db") as store:
        run([broken, *good], store)
        failed = [row for row in store.rows() if row["error"]]
        assert [row["hash"] for row in failed] == ["broken"]
        assert "nowhere" in failed[0]["error"]
        assert store.done() == {cell.hash for cell in good}
        again = []
        run([replace(broken, folder=good[0].folder)], store, on_cell=lambda *both: again.append(both))
        assert len(again) == 1
        assert "broken" in store.done()


def test_traces_come_back_as_they_were(generated: Path, tmp_path: Path) -> None:
    cell = _cells(generated)[0]
    result = compute(cell)
    assert result.losses is not None
    with opened(tmp_path / "r.db") as store:
        store.add(cell, result)
        choices, losses, seconds = store.trace(cell.hash)
    np.testing.assert_array_equal(choices, result.choices)
    np.testing.assert_array_equal(losses, result.losses)
    np.testing.assert_array_equal(seconds, result.step_seconds)
    assert result.par == pytest.approx(losses.mean())


def test_foreign_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("not a database, certainly not, however long one looks at it")
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE mine (x)")
    db.commit()
    db.close()
    before = other.read_bytes()
    with pytest.raises(InputError, match=r"text\.db: cannot be used"):
        Store(text)
    with pytest.raises(InputError, match=r"other\.db: is a database, but not one of Tailcut's"):
        Store(other)
    assert other.read_bytes() == before
    with (
        pytest.raises(InputError, match="no such result file"),
        opened(tmp_path / "absent.db", must_exist=True),
    ):
        pass
    assert not (tmp_path / "absent.db").exists()


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "r.db").close()
    db = sqlite3.connect(tmp_path / "r.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(InputError, match="newer"):
        Store(tmp_path / "r.db")


def test_a_result_is_all_or_nothing(generated: Path, tmp_path: Path) -> None:
    cell = _cells(generated)[0]
    with opened(tmp_path / "r.db") as store, pytest.raises(sqlite3.Error):
        store.add(replace(cell, seed=None), Result(cell.hash, 1.0))  # type: ignore[arg-type]
    with opened(tmp_path / "r.db") as store:
        assert store.rows() == []


def _bench(generated: Path, out: Path, *more: str) -> list[str]:
    options = [option for name in SELECTORS for option in ("--selector", name)]
    command = [sys.executable, "-m", "tailcut.cli", "bench", "--aslib", str(generated), "--out", str(out)]
    return [*command, *options, "--seeds", "6", "--jobs", "2", "--json", *more]


def test_killed_five_times_the_file_equals_an_undisturbed_one(generated: Path, tmp_path: Path) -> None:
    write_scenario(generated, "LONG", n_instances=600, seed=9)
    straight, disturbed = tmp_path / "straight.db", tmp_path / "disturbed.db"
    subprocess.run(_bench(generated, straight), check=True, capture_output=True, timeout=300)
    kept = 0
    for attempt in range(1, 6):
        process = subprocess.Popen(
            _bench(generated, disturbed),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for_cells(disturbed, more_than=kept + 2 * attempt, process=process)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with opened(disturbed) as store:
            assert len(store.done()) >= kept, "a finished cell was lost"
            kept = len(store.done())
    assert kept < 96, "the kills must come before the end"
    subprocess.run(_bench(generated, disturbed), check=True, capture_output=True, timeout=300)
    assert _content(disturbed) == _content(straight)


def _wait_for_cells(path: Path, more_than: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the file holds more than so many cells, or the process has ended."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists():
            try:
                db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
                (count,) = db.execute("SELECT count(*) FROM cells").fetchone()
                db.close()
                if count > more_than:
                    return
            except sqlite3.Error:
                pass  # not yet set up
        time.sleep(0.01)


def test_ctrl_c_ends_at_once_and_keeps_what_is_done(generated: Path, tmp_path: Path) -> None:
    write_scenario(generated, "LONG", n_instances=3000, seed=9)
    out = tmp_path / "r.db"
    process = subprocess.Popen(
        _bench(generated, out),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_for_cells(out, more_than=3, process=process)  # type: ignore[arg-type]
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "again" in errors
    with opened(out) as store:
        assert len(store.done()) > 3


def test_the_command_prints_one_object_per_scenario_and_selector(generated: Path, tmp_path: Path) -> None:
    result = subprocess.run(_bench(generated, tmp_path / "r.db"), capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    assert len(rows) == 12
    assert set(rows[0]) == {
        "scenario",
        "selector",
        "kind",
        "seeds",
        "par10_mean",
        "par10_std",
        "repar10",
        "npar10",
        "unsolved",
        "decision_us",
    }
    sbs = [row for row in rows if row["selector"] == "sbs"]
    assert all(row["npar10"] == pytest.approx(1.0) and row["par10_std"] < 1e-9 for row in sbs)
    table = subprocess.run(
        [part for part in _bench(generated, tmp_path / "r.db") if part != "--json"],
        capture_output=True,
        text=True,
    )
    assert "72 cells in" in table.stdout
    assert "ALPHA" in table.stdout
    comparison = subprocess.run(
        [sys.executable, "-m", "tailcut.cli", "compare", str(tmp_path / "r.db"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(comparison.stdout)["selectors"]) == set(SELECTORS) - {"sbs"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenario", "NOPE"], "holds no scenario NOPE; it holds: ALPHA, BETA, GAMMA"),
        (["--selector", "nope"], "unknown selector 'nope'"),
        (["--plan", "nope"], "unknown plan 'nope'"),
        (["--aslib", "/nonexistent"], "no such folder"),
    ],
)
def test_wrong_calls_are_named(generated: Path, tmp_path: Path, options: list[str], message: str) -> None:
    result = subprocess.run(
        _bench(generated, tmp_path / "r.db", *options), capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_cell_stored_under_another_label_is_shown_as_asked_for(generated: Path, tmp_path: Path) -> None:
    """`thompson` and `thompson:sigma=1.0` are one cell: 1.0 is the default."""
    out = tmp_path / "r.db"
    command = [sys.executable, "-m", "tailcut.cli", "bench", "--aslib", str(generated), "--out", str(out)]
    command += ["--scenario", "ALPHA", "--seeds", "1", "--jobs", "1", "--json"]
    for label in ("thompson", "thompson:sigma=1.0"):
        result = subprocess.run([*command, "--selector", label], capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        assert [row["selector"] for row in json.loads(result.stdout)] == [label]
    with opened(out) as store:
        assert len(store.rows()) == 1
