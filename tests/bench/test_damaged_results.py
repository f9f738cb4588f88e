"""Result files that were damaged: whatever reads them gives a clear error, or what is still there."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tailcut.bench.benchmark import run_cells
from tailcut.bench.plan import Contender, plan
from tailcut.bench.store import opened
from tailcut.bench.summary import summarise
from tailcut.errors import InputError
from tailcut.report.results import load
from tests.bench.conftest import write_scenario


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    scenario = write_scenario(folder, "ONE")
    contenders = [Contender.of(name) for name in ("thompson", "random", "sbs", "oracle")]
    with opened(folder / "whole.db") as store:
        run_cells(plan([(str(folder / "ONE"), scenario)], contenders, 2), store)
    with sqlite3.connect(folder / "whole.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return folder / "whole.db"


def _read(path: Path) -> None:
    with opened(path, read_only=True) as store:
        rows = store.rows()
        summarise(rows)
        load(store)
        store.runs()
        store.scenarios()
        for row in rows:
            store.trace(row["hash"])


def test_the_whole_file_is_read(whole: Path) -> None:
    _read(whole)


def test_damaged_bytes_are_an_error_or_do_not_matter(whole: Path, tmp_path: Path) -> None:
    """200 files with some bytes changed, or cut short."""
    original, damaged = whole.read_bytes(), tmp_path / "damaged.db"
    refused: list[str] = []
    for seed in range(200):
        rng = random.Random(seed)
        data = bytearray(original)
        if seed % 10 == 0:
            del data[rng.randrange(len(data)) :]
        for _ in range(rng.choice((1, 8, 64))):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        damaged.write_bytes(data)
        try:
            _read(damaged)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(str(damaged) in message for message in refused)


COLUMNS = ("scenario", "selector", "settings", "seed", "penalty", "error", "par", "unsolved", "vbs", "sbs")
TRACES = ("choices", "losses", "step_seconds")
VALUES = (None, "x", "{", "[1]", -1, 1e308, b"\x00\xff", b"", 2**62)


def test_damaged_values_are_an_error_or_do_not_matter(whole: Path, tmp_path: Path) -> None:
    """100 files in which one value of one cell was replaced, whatever the schema would say."""
    damaged, refused = tmp_path / "damaged.db", []
    for seed in range(100):
        rng = random.Random(seed)
        shutil.copy(whole, damaged)
        with closing(sqlite3.connect(damaged)) as db, db:
            (digest,) = rng.choice(db.execute("SELECT hash FROM cells ORDER BY hash").fetchall())
            column, value = rng.choice((*COLUMNS, *TRACES)), rng.choice(VALUES)
            try:
                db.execute(f"UPDATE cells SET {column} = ? WHERE hash = ?", (value, digest))
            except sqlite3.IntegrityError:
                continue
        try:
            _read(damaged)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(str(damaged) in message for message in refused)
