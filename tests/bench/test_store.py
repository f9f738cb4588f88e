"""The result file: exact, all or nothing, and only ours."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailcut.bench.benchmark import compute
from tailcut.bench.store import Result, Store, opened
from tailcut.errors import InputError
from tests.bench.result_files import small_cells


def test_traces_come_back_as_they_were(generated: Path, tmp_path: Path) -> None:
    cell = small_cells(generated)[0]
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
        opened(tmp_path / "absent.db", read_only=True),
    ):
        pass
    assert not (tmp_path / "absent.db").exists()


@pytest.mark.parametrize(
    ("version", "why"), [(99, "is newer"), (0, "does not exist"), (-1, "does not exist")]
)
def test_another_format_is_refused(tmp_path: Path, version: int, why: str) -> None:
    Store(tmp_path / "r.db").close()
    db = sqlite3.connect(tmp_path / "r.db")
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with pytest.raises(InputError, match=f"result format {version} {why}"):
        Store(tmp_path / "r.db")


def test_a_result_is_all_or_nothing(generated: Path, tmp_path: Path) -> None:
    cell = small_cells(generated)[0]
    with opened(tmp_path / "r.db") as store, pytest.raises(InputError, match="NOT NULL"):
        store.add(replace(cell, seed=None), Result(cell.hash, 1.0))  # type: ignore[arg-type]
    with opened(tmp_path / "r.db") as store:
        assert store.rows() == []


def test_a_file_from_before_extra_cpu_time_is_read_and_added_to(generated: Path, tmp_path: Path) -> None:
    path, (first, second) = tmp_path / "r.db", small_cells(generated)[:2]
    with opened(path) as store:
        store.add(first, compute(first))
    db = sqlite3.connect(path)
    for column in ("answer_cpu", "extra_cpu", "sbs_train"):
        db.execute(f"ALTER TABLE cells DROP COLUMN {column}")
    db.commit()
    db.close()
    with opened(path, read_only=True) as store:
        assert [row["extra_cpu"] for row in store.rows()] == [None]
    with opened(path) as store:
        store.add(second, compute(second))
        assert sorted(row["extra_cpu"] is None for row in store.rows()) == [False, True]


def test_cells_under_a_condition_that_is_gone_are_left_out(generated: Path, tmp_path: Path) -> None:
    path, (first, second) = tmp_path / "r.db", small_cells(generated)[:2]
    with opened(path) as store:
        for cell in (first, second):
            store.add(cell, compute(cell))
    db = sqlite3.connect(path)
    db.execute("UPDATE cells SET selector = 'tailcut@learn-share=0.2' WHERE hash = ?", (first.hash,))
    db.commit()
    db.close()
    with opened(path, read_only=True) as store:
        with pytest.warns(UserWarning, match="left out: tailcut@learn-share=0.2, whose conditions"):
            assert [row["hash"] for row in store.rows()] == [second.hash]
        assert store.trace(first.hash)[1].size
    report = ["report", str(path), "--out", str(tmp_path / "report"), "--format", "svg"]
    main = [sys.executable, "-c", "from tailcut.cli import main; main()", *report]
    done = subprocess.run(main, capture_output=True, text=True, check=True)
    assert f"tailcut: {path}: left out: tailcut@learn-share=0.2, whose conditions" in done.stderr
