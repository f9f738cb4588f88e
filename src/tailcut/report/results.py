"""The content of a result file: valid, failed, missing and outdated cells."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tailcut.bench.labels import default_of, is_schedule, name_of
from tailcut.bench.plan import Contender
from tailcut.bench.store import Store
from tailcut.bench.sweeps import DEFAULT, SWEEPS, Sweep
from tailcut.catalogue import BASELINES, find
from tailcut.errors import InputError
from tailcut.types import PENALTY

FEWEST_SWEEP_VALUES = 3
"""From this many values of one hyperparameter on, they form a sweep instead of separate contenders."""


CellRow = dict[str, Any]
"""A row of `Store.rows`, its settings parsed; its selector names only hyperparameters off their defaults."""


@dataclass(frozen=True)
class Results:
    """The cells that a report is about, and notes about the others."""

    penalty: float
    cells: tuple[CellRow, ...]
    """Finished cells of the comparison, one per scenario, selector and seed."""
    sweeps: dict[Sweep, tuple[CellRow, ...]]
    """Finished cells of the sensitivity analysis."""
    failed: tuple[CellRow, ...]
    """Cells that ended in an error and have no finished twin."""
    superseded: int
    """Finished cells left out because a later run computed the same again."""
    other_penalties: dict[float, int]
    """Cells left out because they count timeouts with another factor: factor -> how many."""
    described: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the file knows about its scenarios (`Store.scenarios`)."""
    runs: tuple[dict[str, Any], ...] = ()
    """What the file knows about the runs that made it (`Store.runs`)."""

    @property
    def par(self) -> str:
        """The name of the loss.

        >>> Results(10.0, (), {}, (), 0, {}).par
        'PAR10'
        """
        return f"PAR{self.penalty:g}"

    @cached_property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios that are compared on, in alphabetical order."""
        return tuple(sorted({cell["scenario"] for cell in self.cells}))

    @cached_property
    def selectors(self) -> tuple[str, ...]:
        """All selectors, those of the published table first, then schedules, the hindsight baselines last."""
        return tuple(sorted({cell["selector"] for cell in self.cells}, key=_rank))

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        return tuple(sorted({cell["seed"] for cell in self.cells}))

    def of(self, scenario: str, selector: str) -> list[CellRow]:
        """Return the finished cells of one pair, by seed."""
        return self._by_pair.get((scenario, selector), [])

    @cached_property
    def _by_pair(self) -> dict[tuple[str, str], list[CellRow]]:
        index: dict[tuple[str, str], list[CellRow]] = {}
        for cell in sorted(self.cells, key=lambda cell: cell["seed"]):
            index.setdefault((cell["scenario"], cell["selector"]), []).append(cell)
        return index

    def missing(self) -> list[tuple[str, str, list[int]]]:
        """Return the scenarios and selectors that lack some of the seeds, and which."""
        lacking = []
        for scenario in self.scenarios:
            for selector in self.selectors:
                present = {cell["seed"] for cell in self.of(scenario, selector)}
                if seeds := [seed for seed in self.seeds if seed not in present]:
                    lacking.append((scenario, selector, seeds))
        return lacking


def _rank(name: str) -> tuple[int, str]:
    """Return where a selector stands in tables: our own, as published, by name, schedules, baselines."""
    base = name_of(name)
    name = re.sub(r"\d+", lambda number: number[0].zfill(6), name)  # 25 before 100
    if base in BASELINES:
        return 1000 + list(BASELINES).index(base), name
    if is_schedule(base):
        return (800 if base.startswith("tailcut") else 801), name
    if base in DEFAULT:
        return 100 + DEFAULT.index(base), name
    return (50 if base.startswith("tailcut") else 500), name


def load(store: Store, hashes: Collection[str] | None = None) -> Results:
    """Return the content of a result file (of the given hashes, or all); raise if it is empty."""
    rows = [_cell(row) for row in store.rows(hashes)]
    finished = [row for row in rows if row["error"] is None]
    if not finished:
        what = f"only {len(rows)} failed cells" if rows else "no cells"
        raise InputError(f"{store.path}: holds {what}, so there is nothing to report; run `tailcut bench`")
    penalties = Counter(row["penalty"] for row in finished)
    penalty = max(penalties, key=lambda value: (penalties[value], value == PENALTY))
    finished = [row for row in finished if row["penalty"] == penalty]
    origins = store.origins()
    latest: dict[tuple[str, str, int], CellRow] = {}
    for cell in finished:
        kept = latest.get(_place(cell))
        if kept is None or origins.get(cell["hash"], 0) > origins.get(kept["hash"], 0):
            latest[_place(cell)] = cell
    sweeps = {sweep: cells for sweep in SWEEPS if (cells := _cells_of(sweep, latest.values(), penalty))}
    swept = {cell["hash"] for cells in sweeps.values() for cell in cells if ":" in cell["selector"]}
    failed = [row for row in rows if row["error"] is not None and row["penalty"] == penalty]
    return Results(
        penalty=penalty,
        cells=tuple(cell for cell in latest.values() if cell["hash"] not in swept),
        sweeps=sweeps,
        failed=tuple(row for row in failed if _place(row) not in latest),
        superseded=len(finished) - len(latest),
        other_penalties={value: count for value, count in penalties.items() if value != penalty},
        described=store.scenarios(),
        runs=tuple(store.runs().values()),
    )


def _place(cell: CellRow) -> tuple[str, str, int]:
    return cell["scenario"], cell["selector"], cell["seed"]


def _cell(row: dict[str, Any]) -> CellRow:
    settings = json.loads(row["settings"])
    return {**row, "settings": settings, "selector": _canonical(row["selector"], settings, row["penalty"])}


def _canonical(label: str, settings: dict[str, Any], penalty: float = PENALTY) -> str:
    """Return the plain name if a label only spells out defaults.

    A cell is stored once under the first label it was asked for, so the point of a sweep that has the
    default value is also the selector of the comparison.

    >>> _canonical("thompson:noise_variance=1.0", find("thompson").settings({}))
    'thompson'
    """
    known = find(name_of(label)) is not None
    return (
        default_of(label) if known and Contender.of(name_of(label)).settings(penalty) == settings else label
    )


def _cells_of(sweep: Sweep, cells: Iterable[CellRow], penalty: float) -> tuple[CellRow, ...]:
    """Return the cells of a sweep, or none if there are too few values."""
    wanted = [contender.settings(penalty) for contender in sweep.contenders()]
    own = [cell for cell in cells if default_of(cell["selector"]) == sweep.selector]
    swept = tuple(cell for cell in own if cell["settings"] in wanted)
    values = {cell["settings"][sweep.parameter] for cell in swept}
    return swept if len(values) >= FEWEST_SWEEP_VALUES else ()
