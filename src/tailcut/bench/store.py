"""The result store: one SQLite file, one row per cell, written as soon as the cell is done."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.plan import Cell
from tailcut.errors import InputError
from tailcut.types import Array

FORMAT = 1
_APPLICATION = 0x7A11C07  # written into the file's header, so that a foreign database is recognised

_SCHEMA = """
CREATE TABLE IF NOT EXISTS cells (
    hash TEXT PRIMARY KEY,
    scenario TEXT NOT NULL,
    selector TEXT NOT NULL,      -- name with changed hyperparameters
    settings TEXT NOT NULL,      -- all hyperparameters, JSON
    seed INTEGER NOT NULL,
    penalty REAL NOT NULL,
    error TEXT,                  -- why it failed; NULL if it is done
    par REAL,                    -- mean PARk, feature costs included
    unsolved REAL,               -- share of instances
    decision_us REAL,            -- mean time to select and learn
    vbs REAL, sbs REAL,          -- mean PARk of the hindsight lines
    seconds REAL NOT NULL,       -- how long the cell took
    choices BLOB, losses BLOB, step_seconds BLOB  -- per step; zlib of int16, float64, float32
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class Result:
    """What came of a cell: numbers and traces, or an error."""

    hash: str
    seconds: float
    error: str | None = None
    par: float | None = None
    unsolved: float | None = None
    decision_us: float | None = None
    vbs: float | None = None
    sbs: float | None = None
    choices: NDArray[np.int16] | None = None
    """Number of the algorithm chosen at each step, shape (n,)."""
    losses: Array | None = None
    """PARk paid at each step, shape (n,)."""
    step_seconds: NDArray[np.float32] | None = None
    """Time to select and learn at each step, shape (n,)."""


class Store:
    """The results in one file; a cell is there as a whole or not at all.

    Commits are durable against a killed process at once, against a power cut within moments
    (write-ahead log, synchronous NORMAL).
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._db = sqlite3.connect(self.path, timeout=60.0)
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path}: cannot be used as a result file: {error}") from None

    def _prepare(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and (tables or application):
            raise InputError(f"{self.path}: is a database, but not one of Tailcut's results")
        if version > FORMAT:
            raise InputError(f"{self.path}: result format {version} is newer than this Tailcut's {FORMAT}")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        with self._db:
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
            self._db.execute(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def done(self) -> set[str]:
        """Return the hashes of the cells that are done; failed ones are not."""
        return {row[0] for row in self._db.execute("SELECT hash FROM cells WHERE error IS NULL")}

    def add(self, cell: Cell, result: Result) -> None:
        """Write one cell, in place of an earlier failure of it."""
        columns = {
            "hash": cell.hash,
            "scenario": cell.scenario,
            "selector": cell.contender.label,
            "settings": json.dumps(cell.contender.settings(), sort_keys=True),
            "seed": cell.seed,
            "penalty": cell.penalty,
            "error": result.error,
            "par": result.par,
            "unsolved": result.unsolved,
            "decision_us": result.decision_us,
            "vbs": result.vbs,
            "sbs": result.sbs,
            "seconds": result.seconds,
            "choices": _squeeze(result.choices),
            "losses": _squeeze(result.losses),
            "step_seconds": _squeeze(result.step_seconds),
        }
        marks = ", ".join(f":{name}" for name in columns)
        with self._db:
            self._db.execute(f"REPLACE INTO cells ({', '.join(columns)}) VALUES ({marks})", columns)

    def rows(self, hashes: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return the cells without their traces, of the given hashes or all, ordered by name and seed."""
        query = (
            "SELECT hash, scenario, selector, settings, seed, penalty, error, par, unsolved, decision_us,"
            " vbs, sbs, seconds FROM cells ORDER BY scenario, selector, seed"
        )
        wanted = None if hashes is None else set(hashes)
        cursor = self._db.execute(query)
        names = [column[0] for column in cursor.description]
        rows = (dict(zip(names, values, strict=True)) for values in cursor)
        return [row for row in rows if wanted is None or row["hash"] in wanted]

    def trace(self, cell_hash: str) -> tuple[NDArray[np.int16], Array, NDArray[np.float32]]:
        """Return choices, losses and decision times per step of one cell, each of shape (n,)."""
        row = self._db.execute(
            "SELECT choices, losses, step_seconds FROM cells WHERE hash = ? AND error IS NULL", (cell_hash,)
        ).fetchone()
        if row is None:
            raise InputError(f"{self.path}: there is no finished cell {cell_hash}")
        choices, losses, seconds = (zlib.decompress(blob) for blob in row)
        return np.frombuffer(choices, "<i2"), np.frombuffer(losses, "<f8"), np.frombuffer(seconds, "<f4")


def _squeeze(array: NDArray[Any] | None) -> bytes | None:
    return None if array is None else zlib.compress(array.astype(array.dtype.newbyteorder("<")).tobytes(), 1)


@contextmanager
def opened(path: str | Path, *, must_exist: bool = False) -> Iterator[Store]:
    """Open a result file and close it again."""
    if must_exist and not Path(path).is_file():
        raise InputError(f"{path}: there is no such result file")
    store = Store(path)
    try:
        yield store
    finally:
        store.close()
