"""Recorded runs of a scenario or another state file, and how a project learns them: once, matched by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import InputError
from tailcut.journal.events import Event, EventKind, plain_json
from tailcut.journal.file import Journal
from tailcut.journal.instances import Instances, feature_table, time_table
from tailcut.journal.project import Project
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.scenarios import Scenario
from tailcut.types import Status

_PREFERRED = "run"
"""The default project of a state file with several: that of `tailcut run`."""
PIECE_BYTES = 4_000_000
"""The approximate maximum size of an event of recorded runs."""
PIECE_ROWS = 2_000


def read_past_runs(path: Path) -> RecordedRuns:
    """Return the runs of a scenario's folder, or of the project in a state file."""
    if path.is_dir():
        return RecordedRuns.of(Scenario.read(path))
    if not path.is_file():
        raise InputError(f"{path}: there is no such scenario and no such state file")
    with Journal(path, read_only=True) as journal, journal.as_of_now():
        descriptions = {name: journal.description(number) for name, number in journal.projects().items()}
        names = [name for name, description in descriptions.items() if "selector" in description]
        if _PREFERRED not in names and len(names) != 1:
            known = ", ".join(names) or "none"
            raise InputError(f"{path}: must hold one project with a selector to learn from; it has {known}")
        name = _PREFERRED if _PREFERRED in names else names[0]
        try:
            return runs_of_history(descriptions[name], journal.events(journal.projects()[name]))
        except InputError as error:
            raise InputError(f"{path}: {error}", field=error.field) from None


def runs_of_history(description: Mapping[str, Any], history: Iterable[Event]) -> RecordedRuns:
    """Return all runs in the events of a project, those learned by `fit` too: a row for each instance."""
    read = Instances(float(description["cutoff"]), schedules=True)
    read.take_all(history)
    instances = sorted([*read.instances.values(), *read.recorded], key=lambda instance: instance.event)
    if any(run.status is Status.RATED for instance in instances for run in instance.runs):
        raise InputError("its runs were judged by losses: only runtimes can be taken over", field="loss")
    given = [instance.features for instance in instances]
    columns, features = feature_table(given, description.get("feature_names"))
    names = tuple(name for name in columns if isinstance(name, str))
    if names and len(names) < len(columns):
        raise InputError("some features have names and others have none", field="features")
    rows: dict[object, int] = {}
    for row, instance in enumerate(instances):
        if instance.name is None:
            instance.name = f"decision {instance.runs[0].decision} of {instance.began:.3f}"
        # Identified by name and features, because a file may change.
        first = rows.setdefault((instance.name, features[row].tobytes()), row)
        instances[first].learn(instance.times)
    chosen = [row for row in rows.values() if instances[row].times]
    if not chosen:
        raise InputError("no run has an outcome: there is nothing to learn from")
    kept = [instances[row] for row in chosen]
    solvers = tuple(dict.fromkeys(solver for instance in kept for solver in instance.times))
    seconds, solved = time_table(kept, solvers)
    return RecordedRuns.of(
        RecordedRuns(
            algorithms=solvers,
            cutoff=read.longest_cutoff,
            feature_names=names or None,
            features=features[chosen],
            runtimes=seconds,
            solved=solved,
            known=None,
            instances=tuple(str(instance.name) for instance in kept),
            watched=np.where(solved, np.nan, seconds),
            feature_cost=np.array([instance.feature_cost for instance in kept]),
        )
    )


@dataclass(frozen=True)
class WarmStart:
    source: str
    runs: int
    instances: int = 0
    earlier: bool = False
    """Whether everything had been learned before; then the other fields are empty."""
    solvers_without_runs: tuple[str, ...] = ()
    solvers_left_over: tuple[str, ...] = ()
    features_not_recorded: tuple[str, ...] = ()
    features_left_over: tuple[str, ...] = ()
    recorded_cutoff: float | None = None
    cutoff: float | None = None
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def describe(self) -> list[str]:
        if self.earlier:
            return [f"warm start: {self.source} was learned before ({self.runs} runs)"]
        lines = [f"{self.runs} runs on {self.instances} instances learned from {self.source}"]
        for names, meaning in (
            (self.solvers_without_runs, "without recorded runs: {}"),
            (self.solvers_left_over, "recorded solvers that are not here: {}"),
            (self.features_not_recorded, "features that are not recorded, missing there: {}"),
            (self.features_left_over, "recorded features that are not here: {}"),
        ):
            if names:
                lines.append(meaning.format(_some(names)))
        recorded, own = self.recorded_cutoff or 0.0, self.cutoff or 0.0
        if recorded != own:
            meaning = "what took longer than that counts as unsolved"
            if recorded < own:
                meaning = "what was unsolved then needs longer than that, more is not known"
            lines.append(f"runs were recorded for {recorded:g} s, not {own:g} s: {meaning}")
        lines += [self.problem] if self.problem else []
        return [f"warm start: {line}" for line in lines]


def learn_past_runs(
    project: Project,
    source: str,
    read: Callable[[], RecordedRuns],
    feature_names: Callable[[], Sequence[str] | None],
) -> WarmStart:
    """Let a project learn recorded runs, once for each `source`; repeated, the call learns what is missing.

    `feature_names` returns which features the project will see; None: all recorded ones.
    """
    before = _learned_before(project, source)
    count = sum(body["runs"] for body in before)
    if before and len(before) == before[0]["note"]["pieces"]:
        return WarmStart(source, count, earlier=True)
    runs, report = _matched(project, source, read(), feature_names)
    digest = hashlib.sha256(plain_json(runs.to_dict()).encode()).hexdigest()
    if any(body["note"]["digest"] != digest for body in before):
        problem = "it has changed since a part of it was learned, so the rest is left out"
        return replace(report, runs=count, problem=problem)
    pieces = list(runs.bounded_pieces(PIECE_BYTES, PIECE_ROWS))
    count = 0
    for number, piece in enumerate(pieces):
        note = {"source": source, "piece": number, "pieces": len(pieces), "digest": digest}
        count += project.fit(piece, known=piece.known, key=_key(source, number), note=note)
    return replace(report, runs=count)


def _key(source: str, piece: int) -> str:
    return f"warm start {hashlib.sha256(source.encode()).hexdigest()[:32]} {piece}"


def _learned_before(project: Project, source: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while event := project.journal.by_keys(project.number, EventKind.FIT, [_key(source, len(found))]):
        found += [one.body for one in event.values()]  # they are learned in order
    return found


def _matched(
    project: Project, source: str, runs: RecordedRuns, feature_names: Callable[[], Sequence[str] | None]
) -> tuple[RecordedRuns, WarmStart]:
    """Return the runs that a project can learn, and a report on mismatches."""
    selector = project.selector
    known = runs.solved | ~np.isnan(runs.runtimes)
    recorded = [name for column, name in enumerate(runs.algorithms) if known[:, column].any()]
    common = [name for name in recorded if name in selector.algorithms]
    if not common:
        words = f"it has runs of {_some(recorded)}, and none of {_some(selector.algorithms)}"
        raise InputError(f"{source}: nothing can be learned: {words}", field="algorithms")
    wanted = feature_names() if selector.needs_features else ()
    theirs = runs.feature_names
    runs = _with_solvers(runs, known, common)
    report = WarmStart(
        source,
        0,
        len(runs.features),
        solvers_without_runs=tuple(name for name in selector.algorithms if name not in common),
        solvers_left_over=tuple(name for name in recorded if name not in common),
        recorded_cutoff=runs.cutoff,
        cutoff=selector.cutoff,
    )
    if wanted is None or (theirs is None and wanted and runs.features.shape[1]):
        return runs, report  # features without names are matched by their number, when they are learned
    runs = _with_features(source, runs, wanted)
    if not selector.needs_features:
        return runs, report
    lacking = tuple(name for name in wanted if name not in (theirs or ()))
    left_over = tuple(name for name in theirs or () if name not in wanted)
    return runs, replace(report, features_not_recorded=lacking, features_left_over=left_over)


def _with_solvers(runs: RecordedRuns, known: NDArray[np.bool_], names: Sequence[str]) -> RecordedRuns:
    """Return the runs of some of the solvers, without instances that have none left."""
    columns = [runs.algorithms.index(name) for name in names]
    rows = np.flatnonzero(known[:, columns].any(axis=1))
    return replace(
        runs,
        algorithms=tuple(names),
        features=runs.features[rows],
        runtimes=runs.runtimes[:, columns][rows],
        solved=runs.solved[:, columns][rows],
        instances=None if runs.instances is None else tuple(runs.instances[row] for row in rows),
        watched=None if runs.watched is None else runs.watched[:, columns][rows],
        feature_cost=None if runs.feature_cost is None else runs.feature_cost[rows],
    )


def _with_features(source: str, runs: RecordedRuns, wanted: Sequence[str]) -> RecordedRuns:
    """Return the runs with these features, in this order; those not recorded are missing."""
    theirs = runs.feature_names or ()
    if wanted and theirs and not set(wanted).intersection(theirs):
        words = f"it has the features {_some(theirs)}, and none of {_some(wanted)}"
        raise InputError(f"{source}: nothing can be learned: {words}", field="feature_names")
    if not set(wanted).intersection(theirs):
        return replace(runs, feature_names=None, features=np.empty((len(runs.features), 0)))
    features = np.full((len(runs.features), len(wanted)), np.nan)
    for column, name in enumerate(wanted):
        if name in theirs:
            features[:, column] = runs.features[:, theirs.index(name)]
    return replace(runs, feature_names=tuple(wanted), features=features)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return (", ".join(names[:10]) or "none") + more
