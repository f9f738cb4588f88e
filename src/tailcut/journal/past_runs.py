"""Recorded runs for a warm start: from an ASlib scenario or another state file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tailcut.errors import InputError
from tailcut.journal.events import Event, EventKind
from tailcut.journal.file import Journal
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.scenarios import Scenario
from tailcut.types import Array, Outcome, Status

_PREFERRED = "run"
"""The default project of a state file with several: that of `tailcut run`."""


def read_past_runs(path: Path) -> RecordedRuns:
    """Return the runs of a scenario's folder, or of the project in a state file."""
    if path.is_dir():
        return RecordedRuns.of(Scenario.read(path))
    if not path.is_file():
        raise InputError(f"{path}: there is no such scenario and no such state file")
    with Journal(path, read_only=True) as journal, journal.as_of_now():
        numbers = {name: number for name, number in journal.projects().items() if _chooses(journal, number)}
        name = _PREFERRED if _PREFERRED in numbers else next(iter(numbers), None)
        if name is None or (name != _PREFERRED and len(numbers) > 1):
            known = ", ".join(numbers) or "none"
            raise InputError(f"{path}: must hold one project with a selector to learn from; it has {known}")
        number = numbers[name]
        try:
            return runs_of_history(journal.description(number), journal.events(number))
        except InputError as error:
            raise InputError(f"{path}: {error}", field=error.field) from None


def _chooses(journal: Journal, number: int) -> bool:
    return "selector" in journal.description(number)


def runs_of_history(description: Mapping[str, Any], history: Iterable[Event]) -> RecordedRuns:
    """Return all runs in the events of a project, including those learned by `fit`.

    Each instance is one row. Of several slices of one solver, the most informative counts: the solved one, or
    the longest.
    """
    gathered = _Gathering(description)
    for event in history:
        gathered.take(event)
    return gathered.runs()


class _Cell(NamedTuple):
    """What is known about one solver on one instance."""

    seconds: float
    """The runtime, or how long it was watched."""
    solved: bool

    def or_better(self, other: _Cell | None) -> _Cell:
        if other is None or (self.solved, self.seconds) > (other.solved, other.seconds):
            return self
        return other


_Values = dict[str | int, float]
"""Features by name or, without names, by position; missing ones are left out."""


class _Row(NamedTuple):
    instance: str
    features: _Values
    feature_cost: float
    """The seconds that computing them took, nan where unknown."""
    cells: dict[str, _Cell]

    def add(self, solver: str, cell: _Cell) -> None:
        self.cells[solver] = cell.or_better(self.cells.get(solver))


class _Run(NamedTuple):
    """A decision that waits for its outcome, or whose instance may continue."""

    row: _Row
    solver: str
    cutoff: float


class _Gathering:
    """Reads events one by one."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._names: list[str] | None = description.get("feature_names")
        self._cutoff = float(description["cutoff"])
        self._order: dict[str | int, None] = {}
        """The features in the order of their first appearance."""
        self._rows: dict[object, _Row] = {}
        """An instance is identified by name and features, because a file may change."""
        self._runs: dict[int, _Run] = {}

    def take(self, event: Event) -> None:
        body = event.body
        match event.kind:
            case EventKind.SELECT:
                decision = body["decision"]
                name = body["instance"] or f"decision {decision['id']} of {event.at:.3f}"
                row = self._row(name, self._values(body["features"]), body["feature_cost"])
                self._decided(row, decision)
            case EventKind.OBSERVE:
                run = self._runs.get(body["decision"])
                if run is not None:  # the decision may be gone: projects are compacted
                    self._observed(run, event.outcome())
            case EventKind.PROCEED:
                before = self._runs.pop(body["after"], None)
                if before is not None and body["decision"] is not None:
                    self._decided(before.row, body["decision"])
            case EventKind.FIT:
                self._fitted(RecordedRuns.from_dict(body), event.number)

    def _decided(self, row: _Row, decision: Mapping[str, Any]) -> None:
        self._runs[decision["id"]] = _Run(row, decision["algorithm"], decision["cutoff"])

    def _observed(self, run: _Run, outcome: Outcome) -> None:
        if outcome.loss is not None:
            raise InputError("its runs were judged by losses: only runtimes can be taken over", field="loss")
        # A failed run counts as censored at the cutoff.
        seconds = run.cutoff if outcome.time is None else outcome.time
        run.row.add(run.solver, _Cell(seconds, outcome.status is Status.SOLVED))

    def _fitted(self, runs: RecordedRuns, event: int) -> None:
        self._cutoff = max(self._cutoff, runs.cutoff)
        known = runs.solved | ~np.isnan(runs.runtimes)
        if runs.known is not None:
            known &= runs.known
        watched = np.full(known.shape, runs.cutoff)
        if runs.watched is not None:
            watched = np.fmin(runs.watched, runs.cutoff)
        names, costs = runs.feature_names, runs.feature_cost
        for number in range(len(runs.features)):
            called = f"row {number} of event {event}" if runs.instances is None else runs.instances[number]
            values = runs.features[number].tolist()
            features = self._values(dict(zip(names, values, strict=True)) if names else values)
            row = self._row(called, features, np.nan if costs is None else float(costs[number]))
            for column in np.flatnonzero(known[number]).tolist():
                solved = bool(runs.solved[number, column])
                seconds = (runs.runtimes if solved else watched)[number, column]
                row.add(runs.algorithms[column], _Cell(float(seconds), solved))

    def _values(self, given: Mapping[str, float | None] | list[float | None] | None) -> _Values:
        if given is None:
            return {}
        if isinstance(given, list):
            keys: Iterable[str | int] = self._names or range(len(given))
            pairs: Iterable[tuple[str | int, float | None]] = zip(keys, given, strict=True)
        else:
            pairs = given.items()
        found: _Values = {}
        for key, value in pairs:
            self._order[key] = None
            if value is not None and value == value:
                found[key] = value
        return found

    def _row(self, instance: str, features: _Values, feature_cost: float) -> _Row:
        key = (instance, frozenset(features.items()))
        return self._rows.setdefault(key, _Row(instance, features, feature_cost, {}))

    def runs(self) -> RecordedRuns:
        """Return the checked result."""
        rows = [row for row in self._rows.values() if row.cells]
        if not rows:
            raise InputError("no run has an outcome: there is nothing to learn from")
        solvers = list(dict.fromkeys(solver for row in rows for solver in row.cells))
        shape = (len(rows), len(solvers))
        runtimes, watched, solved = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, bool)
        for number, row in enumerate(rows):
            for column, solver in enumerate(solvers):
                cell = row.cells.get(solver)
                if cell is not None:
                    runtimes[number, column], solved[number, column] = cell.seconds, cell.solved
                    if not cell.solved:
                        watched[number, column] = cell.seconds
        gathered = RecordedRuns(
            algorithms=tuple(solvers),
            cutoff=self._cutoff,
            feature_names=self._feature_names(),
            features=self._features(rows),
            runtimes=runtimes,
            solved=solved,
            known=None,
            instances=tuple(row.instance for row in rows),
            watched=watched,
            feature_cost=np.array([row.feature_cost for row in rows]),
        )
        return RecordedRuns.of(gathered)

    def _feature_names(self) -> tuple[str, ...] | None:
        names = tuple(name for name in self._order if isinstance(name, str))
        if names and len(names) < len(self._order):
            raise InputError("some features have names and others have none", field="features")
        return names or None

    def _features(self, rows: list[_Row]) -> Array:
        return np.array(
            [[row.features.get(name, np.nan) for name in self._order] for row in rows], dtype=np.float64
        ).reshape(len(rows), len(self._order))
