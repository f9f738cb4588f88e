"""The content of a result file: valid, failed, missing and outdated cells."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tailcut.bench.labels import ContenderKind, default_of, is_schedule, kind_of, name_of
from tailcut.bench.plan import DEFAULT
from tailcut.bench.store import Store
from tailcut.bench.sweeps import SWEEPS, Sweep
from tailcut.catalogue import BASELINES, find
from tailcut.errors import InputError
from tailcut.types import PENALTY

FEWEST_SWEEP_VALUES = 3
"""From this many values of one hyperparameter on, they form a sweep instead of separate contenders."""


@dataclass(frozen=True)
class CellRow:
    """One finished or failed cell, without its traces."""

    hash: str
    scenario: str
    selector: str
    """Name, with those hyperparameters that differ from the defaults."""
    settings: dict[str, Any]
    seed: int
    penalty: float
    error: str | None
    par: float
    unsolved: float
    decision_us: float
    vbs: float
    sbs: float
    seconds: float
    answer_cpu: float | None = None
    """CPU seconds of all answers; None where the file is from before they were counted."""
    extra_cpu: float | None = None
    """CPU seconds of all other runs."""
    sbs_train: float | None = None
    """Mean PARk of the single best solver of the training folds; None without cross-validation."""

    @property
    def extra_share(self) -> float:
        """CPU time of other runs as a share of that of the answers."""
        return (self.extra_cpu or 0.0) / self.answer_cpu if self.answer_cpu else 0.0


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
    ambiguous: int
    """Those of them of which the file does not say which is the later."""
    other_penalties: dict[float, int]
    """Cells left out because they count timeouts with another factor: factor -> how many."""
    described: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the file knows about its scenarios (`Store.scenarios`)."""
    runs: tuple[dict[str, Any], ...] = ()
    """What the file knows about the runs that made it (`Store.runs`)."""
    unattributed: int = 0
    """Cells of which the file does not know the run."""

    @property
    def par(self) -> str:
        """The name of the loss.

        >>> Results(10.0, (), {}, (), 0, 0, {}).par
        'PAR10'
        """
        return f"PAR{self.penalty:g}"

    @cached_property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios that are compared on, in alphabetical order."""
        return tuple(sorted({cell.scenario for cell in self.cells}))

    @cached_property
    def selectors(self) -> tuple[str, ...]:
        """All selectors, those of the published table first, then schedules, the hindsight baselines last."""
        return tuple(sorted({cell.selector for cell in self.cells}, key=_rank))

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """Selectors that pick once, without hindsight: these can be best or second best."""
        return self._of_kind(ContenderKind.ONE_PICK)

    @cached_property
    def schedules(self) -> tuple[str, ...]:
        """Schedules; they compete in a separate group."""
        return self._of_kind(ContenderKind.SCHEDULE)

    def _of_kind(self, kind: ContenderKind) -> tuple[str, ...]:
        return tuple(name for name in self.selectors if kind_of(name) == kind)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """All seeds that occur."""
        return tuple(sorted({cell.seed for cell in self.cells}))

    def of(self, scenario: str, selector: str) -> tuple[CellRow, ...]:
        """Return the finished cells of one pair, by seed."""
        return self._by_pair.get((scenario, selector), ())

    @cached_property
    def _by_pair(self) -> dict[tuple[str, str], tuple[CellRow, ...]]:
        index: dict[tuple[str, str], tuple[CellRow, ...]] = {}
        for cell in sorted(self.cells, key=lambda cell: cell.seed):
            pair = (cell.scenario, cell.selector)
            index[pair] = (*index.get(pair, ()), cell)
        return index

    def missing(self) -> list[tuple[str, str, list[int]]]:
        """Return the scenarios and selectors that lack some of the seeds, and which."""
        found = []
        for scenario in self.scenarios:
            for selector in self.selectors:
                have = {cell.seed for cell in self.of(scenario, selector)}
                if lacking := [seed for seed in self.seeds if seed not in have]:
                    found.append((scenario, selector, lacking))
        return found


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
    finished = [row for row in rows if row.error is None]
    if not finished:
        what = f"only {len(rows)} failed cells" if rows else "no cells"
        raise InputError(f"{store.path}: holds {what}, so there is nothing to report; run `tailcut bench`")
    penalties = Counter(row.penalty for row in finished)
    penalty = max(penalties, key=lambda value: (penalties[value], value == PENALTY))
    finished = [row for row in finished if row.penalty == penalty]
    origins = store.origins()
    latest, superseded, ambiguous = _latest(finished, origins)
    sweeps = {sweep: _cells_of(sweep, latest) for sweep in SWEEPS}
    sweeps = {sweep: cells for sweep, cells in sweeps.items() if cells}
    swept = {cell.hash for cells in sweeps.values() for cell in cells if ":" in cell.selector}
    have = {(cell.scenario, cell.selector, cell.seed) for cell in latest}
    failed = [row for row in rows if row.error is not None and row.penalty == penalty]
    return Results(
        penalty=penalty,
        cells=tuple(cell for cell in latest if cell.hash not in swept),
        sweeps=sweeps,
        failed=tuple(row for row in failed if (row.scenario, row.selector, row.seed) not in have),
        superseded=superseded,
        ambiguous=ambiguous,
        other_penalties={value: count for value, count in penalties.items() if value != penalty},
        described=store.scenarios(),
        runs=tuple(store.runs().values()),
        unattributed=sum(cell.hash not in origins for cell in latest),
    )


def _cell(row: dict[str, Any]) -> CellRow:
    cell = CellRow(**{**row, "settings": json.loads(row["settings"])})
    return replace(cell, selector=_canonical(cell.selector, cell.settings))


def _canonical(label: str, settings: dict[str, Any]) -> str:
    """Return the plain name if a label only spells out defaults.

    A cell is stored once under the first label it was asked for, so the point of a sweep that has the
    default value is also the selector of the comparison.

    >>> _canonical("thompson:noise_variance=1.0", find("thompson").settings({}))
    'thompson'
    """
    row = find(name_of(label))
    return default_of(label) if row is not None and row.settings({}) == settings else label


def _latest(cells: Iterable[CellRow], origins: dict[str, int]) -> tuple[list[CellRow], int, int]:
    """Return one cell per scenario, selector and seed, and how many others there were."""
    kept: dict[tuple[str, str, int], CellRow] = {}
    superseded = ambiguous = 0
    for cell in cells:
        key = (cell.scenario, cell.selector, cell.seed)
        if key in kept:
            superseded += 1
            ambiguous += origins.get(cell.hash) == origins.get(kept[key].hash)
        if key not in kept or origins.get(cell.hash, 0) > origins.get(kept[key].hash, 0):
            kept[key] = cell
    return list(kept.values()), superseded, ambiguous


def _cells_of(sweep: Sweep, cells: Iterable[CellRow]) -> tuple[CellRow, ...]:
    """Return the cells of a sweep, or none if there are too few values."""
    wanted = [contender.settings() for contender in sweep.contenders()]
    own = [cell for cell in cells if default_of(cell.selector) == sweep.selector]
    found = tuple(cell for cell in own if cell.settings in wanted)
    values = {cell.settings[sweep.parameter] for cell in found}
    return found if len(values) >= FEWEST_SWEEP_VALUES else ()
