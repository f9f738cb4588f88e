"""The result store: one SQLite file, one row per cell, written as soon as the cell is done.

Beside the cells it keeps what a report says of them: the runs that made them and the scenarios' sizes.
Files written before these tables existed have none of it, and can still be read.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sqlite3
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.baselines import oracle, single_best
from tailcut.bench.labels import Conditions, conditions_of
from tailcut.bench.plan import Cell, version_of
from tailcut.errors import InputError
from tailcut.scenarios import Scenario
from tailcut.types import PENALTY, Array

FORMAT = 1
_APPLICATION = 0x7A11C07  # written into the file's header, so that a foreign database is recognised

_LATER = ("answer_cpu", "extra_cpu", "sbs_train")
"""Columns of cells that were added since; files written before lack them, and can still be read."""


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
    answer_cpu: float | None = None
    """CPU seconds of all answers."""
    extra_cpu: float | None = None
    """CPU seconds of all other runs."""
    sbs_train: float | None = None
    """Mean PARk of the single best solver of the training folds; None without cross-validation."""


class Store:
    """The results in one file; a cell is there as a whole or not at all.

    Commits are durable against a killed process at once, against a power cut within moments
    (write-ahead log, synchronous NORMAL).
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._run: int | None = None
        address = f"{self.path.absolute().as_uri()}{'?mode=ro' if read_only else ''}"
        try:
            self._db = sqlite3.connect(address, uri=True, timeout=60.0)
            try:
                self._check(must_be_ours=read_only)
                if not read_only:
                    self._prepare()
            except BaseException:
                self._db.close()
                raise
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: cannot be used as a result file: {error}") from None

    def _check(self, *, must_be_ours: bool) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if must_be_ours and not (tables or application):
            raise InputError(f"{self.path}: is empty; expected a result file of `tailcut bench`")
        if application != _APPLICATION and (tables or application):
            raise InputError(f"{self.path}: is a database, but not one of Tailcut's results")
        if version < 1 and tables:
            raise InputError(f"{self.path}: result format {version} does not exist; formats begin with 1")
        if version > FORMAT:
            raise InputError(f"{self.path}: result format {version} is newer than this Tailcut's {FORMAT}")

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        with self._db:
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
            self._db.executescript((files(__package__) / "results.sql").read_text("utf-8"))
            present = {row[1] for row in self._read("PRAGMA table_info(cells)")}
            for name in _LATER:
                if name not in present:
                    self._db.execute(f"ALTER TABLE cells ADD COLUMN {name} REAL")

    def close(self) -> None:
        self._db.close()

    def done(self) -> set[str]:
        """Return the hashes of the cells that are done; failed ones are not."""
        return {row[0] for row in self._read("SELECT hash FROM cells WHERE error IS NULL")}

    def add(self, cell: Cell, result: Result) -> None:
        """Write one cell, in place of an earlier failure of it."""
        arrays = {name: _squeeze(getattr(result, name)) for name in ("choices", "losses", "step_seconds")}
        settings = json.dumps(cell.contender.settings(cell.penalty), sort_keys=True)
        made = {"scenario": cell.scenario, "selector": cell.contender.label, "settings": settings}
        row = {**vars(result), **arrays, **made, "seed": cell.seed, "penalty": cell.penalty}
        with self._changing():
            self._replace("cells", row)
            if self._run is not None:
                self._replace("origins", {"hash": cell.hash, "run": self._run})

    def add_quality(self, cell: Cell, result: Result) -> dict[str, Any]:
        """Write one cell of a scenario of solution quality, and return its row."""
        named = (cell.hash, cell.scenario, cell.contender.label, cell.seed)
        numbers = (result.par, result.vbs, result.sbs, result.decision_us)
        row = dict(zip(QUALITY_COLUMNS, named + numbers, strict=True))
        with self._changing():
            self._replace("quality_cells", row)
        return row

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            with self._db:
                yield
        except sqlite3.Error as error:
            reason = f"cannot be written: {error}; completed cells are kept"
            raise InputError(f"{self.path}: {reason}") from None

    def _replace(self, table: str, row: Mapping[str, Any]) -> None:
        marks = ", ".join(f":{name}" for name in row)
        self._db.execute(f"REPLACE INTO {table} ({', '.join(row)}) VALUES ({marks})", row)

    def quality_rows(self) -> dict[str, dict[str, Any]]:
        """Return the cells of scenarios of solution quality, by hash."""
        rows = self._context("quality_cells", ", ".join(QUALITY_COLUMNS))
        cells = (dict(zip(QUALITY_COLUMNS, values, strict=True)) for values in rows)
        return {cell["hash"]: self._checked(cell, QUALITY_COLUMNS) for cell in cells}

    def begin_run(self, command: str) -> None:
        """Note what is about to add cells: command, versions, machine; cells added next belong to it."""
        description = {
            "command": command,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            **{name: version_of(name) for name in ("tailcut", "numpy", "scipy")},
            "system": f"{platform.system()} {platform.release()}",
            "processor": _processor(),
            "cores": os.cpu_count() or 1,
        }
        with self._changing():
            text = json.dumps(description, sort_keys=True)
            self._run = self._db.execute("INSERT INTO runs (description) VALUES (?)", (text,)).lastrowid

    def runs(self) -> dict[int, dict[str, Any]]:
        """Return what `begin_run` noted, by number, in order of time."""
        rows = self._context("runs", "number, description")
        return {number: self._values(text, f"run {number}") for number, text in rows}

    def origins(self) -> dict[str, int]:
        """Return the number of the run that made each cell, by the cell's hash, as far as it is known."""
        return dict(self._context("origins", "hash, run"))

    def describe_scenario(self, name: str, description: dict[str, Any]) -> None:
        with self._changing():
            self._replace("scenarios", {"name": name, "description": json.dumps(description)})

    def scenarios(self) -> dict[str, dict[str, Any]]:
        rows = self._context("scenarios", "name, description")
        return {name: self._values(text, f"scenario {name}") for name, text in rows}

    def _values(self, text: Any, what: str) -> dict[str, Any]:
        try:
            values = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.path}: {what}: is damaged: {error}") from None
        if not isinstance(values, dict):
            raise InputError(f"{self.path}: {what}: is damaged: expected an object")
        return values

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: cannot be read: {error}") from None

    def _context(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table that files written before it existed lack."""
        present = self._read("SELECT 1 FROM sqlite_master WHERE name = ?", table)
        return self._read(f"SELECT {columns} FROM {table} ORDER BY 1") if present else []

    def rows(self, hashes: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return the cells without their traces, of the given hashes or all, ordered by name and seed.

        Those judged under conditions that this version does not know are left out, with a warning.
        """
        present = {row[1] for row in self._read("PRAGMA table_info(cells)")}
        columns = ", ".join(name if name in present or name not in _LATER else "NULL" for name in _COLUMNS)
        query = f"SELECT {columns} FROM cells ORDER BY scenario, selector, seed"
        wanted = None if hashes is None else set(hashes)
        rows = [dict(zip(_COLUMNS, values, strict=True)) for values in self._read(query)]
        rows = [self._checked(row, _COLUMNS) for row in rows if wanted is None or row["hash"] in wanted]
        known = {label: self._known(label) for label in dict.fromkeys(row["selector"] for row in rows)}
        return [row for row in rows if known[row["selector"]]]

    def _known(self, label: str) -> bool:
        try:
            Conditions.parse(conditions_of(label))
        except InputError:
            reason = f"left out: {label}, whose conditions this version does not know"
            warnings.warn(f"{self.path}: {reason}", stacklevel=3)
            return False
        return True

    def _checked(self, row: dict[str, Any], columns: Mapping[str, _Kind]) -> dict[str, Any]:
        failed = row.get("error") is not None
        for name, kind in columns.items():
            value = row[name]
            fine = isinstance(value, kind) or (value is None and (failed or name in ("error", *_LATER)))
            if not fine or (isinstance(value, float) and not math.isfinite(value)):
                raise InputError(f"{self.path}: cell {row['hash']!r:.20}: {name} is damaged: {value!r:.50}")
        if "settings" in row:
            self._values(row["settings"], f"cell {row['hash']:.20}: settings")
        return row

    def trace(self, cell_hash: str) -> tuple[NDArray[np.int16], Array, NDArray[np.float32]]:
        """Return choices, losses and decision times per step of one cell, each of shape (n,)."""
        query = "SELECT choices, losses, step_seconds FROM cells WHERE hash = ? AND error IS NULL"
        rows = self._read(query, cell_hash)
        if not rows:
            raise InputError(f"{self.path}: there is no finished cell {cell_hash}")
        try:
            choices, losses, seconds = (zlib.decompress(blob) for blob in rows[0])
            return np.frombuffer(choices, "<i2"), np.frombuffer(losses, "<f8"), np.frombuffer(seconds, "<f4")
        except (TypeError, ValueError, zlib.error) as error:
            raise InputError(f"{self.path}: cell {cell_hash:.20}: its steps are damaged: {error}") from None


_Kind = type | tuple[type, ...]
_NUMBER = (int, float)
QUALITY_COLUMNS: dict[str, _Kind] = {
    **dict.fromkeys(("hash", "scenario", "selector"), str),
    "seed": int,
    **dict.fromkeys(("loss", "best", "single", "decision_us"), _NUMBER),
}
"""The columns of a cell of a scenario of solution quality, and what they hold."""
_COLUMNS: dict[str, _Kind] = {
    **dict.fromkeys(("hash", "scenario", "selector", "settings"), str),
    "seed": int,
    "penalty": _NUMBER,
    "error": str,
    **dict.fromkeys(("par", "unsolved", "decision_us", "vbs", "sbs", "seconds", *_LATER), _NUMBER),
}
"""The columns of a cell without its traces, and what they hold."""


def _squeeze(array: NDArray[Any] | None) -> bytes | None:
    return None if array is None else zlib.compress(array.astype(array.dtype.newbyteorder("<")).tobytes(), 1)


def opened(path: str | Path, *, read_only: bool = False) -> AbstractContextManager[Store]:
    """Open a result file and close it again at the end of the block; one that is only read must be there."""
    if read_only and not Path(path).is_file():
        raise InputError(f"{path}: there is no such result file")
    return closing(Store(path, read_only=read_only))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def describe_scenario(scenario: Scenario, penalty: float = PENALTY) -> dict[str, Any]:
    """Return the size of a scenario, its timeouts and its hindsight baselines, as plain values."""
    losses = scenario.losses(penalty)
    rows = np.arange(len(losses))
    shares = scenario.timeout_shares()
    best = single_best(losses)
    return {
        "name": scenario.name,
        "instances": len(scenario.instances),
        "features": len(scenario.feature_names),
        "algorithms": list(scenario.algorithms),
        "cutoff": scenario.cutoff,
        "timeouts_mean": float(shares.mean()),
        "timeouts_median": float(np.median(shares)),
        "timeouts_min": float(shares.min()),
        "timeouts_max": float(shares.max()),
        "sbs": scenario.algorithms[int(best[0])],
        "sbs_par": float(losses[rows, best].mean()),
        "vbs_par": float(losses[rows, oracle(losses)].mean()),
        "penalty": penalty,
        "feature_cost_mean": float(scenario.feature_cost.mean()),
    }
