"""What precedes a stream: recorded runs to learn, instances to measure or to run again."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tailcut.errors import InputError
from tailcut.journal.instances import feature_table
from tailcut.journal.past_runs import learn_past_runs, read_past_runs
from tailcut.live.instance_record import AT_A_LIMIT, InstanceRecord, new_record
from tailcut.live.instances import FileContent, Instance, shuffled, with_tags
from tailcut.live.observer import Totals
from tailcut.live.portfolio import Program
from tailcut.live.serving import Serving, Work
from tailcut.types import Array, check_seconds

_TRIES = 5
"""The maximum number of instances whose features are computed to find the features' names."""

RETRIES = ("unsolved", "failed")
"""Which instances are run again on request: all without an answer, or only those with a run that did not end
at a time limit."""


@dataclass(frozen=True)
class Retry:
    kind: str
    cutoff: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in RETRIES:
            raise InputError(f"--retry must be one of {', '.join(RETRIES)}, got {self.kind!r}")

    def chosen(self, records: Mapping[str, InstanceRecord]) -> list[str]:
        """Return the instances to run again, such that repeating the request continues it."""
        open_ = {name: one for name, one in records.items() if one.over and one.answer is None}
        if self.kind == "failed":
            open_ = {
                name: one
                for name, one in open_.items()
                if any(run["answer"] is None and run["ending"] not in AT_A_LIMIT for run in one.runs)
            }
        if self.cutoff is not None:
            return [name for name, one in open_.items() if (one.cutoff or 0.0) < self.cutoff]
        least = min((one.attempt for one in open_.values()), default=0)
        return [name for name, one in open_.items() if one.attempt == least]


def served_again(
    records: Mapping[str, InstanceRecord], solvers: Collection[str], retry: Retry | None
) -> dict[str, str]:
    """Return the instances to run again, and why; `solvers` are those that can be chosen."""
    wanted = {} if retry is None else dict.fromkeys(retry.chosen(records), "as wanted")
    for name, record in records.items():
        mended = sorted(record.void.intersection(solvers))
        if mended and not record.open_runs and record.answer is None:
            wanted[name] = f"{', '.join(mended)} did not work then"
    return wanted


class MeasureChoice(enum.StrEnum):
    """How the instances to measure are chosen."""

    FIRST = "first"
    RANDOM = "random"
    DIVERSE = "diverse"
    """Each as different from the earlier ones as possible, by its features."""

    @classmethod
    def _missing_(cls, value: object) -> MeasureChoice:
        raise InputError(
            f"measure_choice must be one of {', '.join(cls)}, got {value!r}", field="measure_choice"
        )


@dataclass(frozen=True)
class MeasureFirst:
    count: int
    choice: MeasureChoice = MeasureChoice.FIRST
    cutoff: float | None = None
    """Seconds for each extra run; None: the stream's cutoff."""

    def limit(self, cutoff: float) -> float:
        if self.cutoff is None:
            return cutoff
        limit = check_seconds("measure_cutoff", self.cutoff, above_zero=True)
        if limit > cutoff:
            raise InputError(
                f"measure_cutoff {limit:g} s is longer than the cutoff, {cutoff:g} s", field="measure_cutoff"
            )
        return limit


def most_diverse(features: Mapping[str, Mapping[str, float]], chosen: Sequence[str], count: int) -> list[str]:
    """Return `count` names, each the farthest from those chosen before it, the first next to the middle.

    Features are standardised after a signed logarithm, and missing values count as the mean. Names in
    `chosen` are already chosen and are not returned. Names without features come last.

    >>> features = {"a": {"x": 1.0}, "b": {"x": 2.0}, "c": {"x": 2.1}, "d": {"x": 1000.0}, "e": {}}
    >>> most_diverse(features, [], 3)
    ['c', 'd', 'a']
    >>> most_diverse(features, ["c", "d"], 1)
    ['a']
    """
    names = list(features)
    points = _standardised(feature_table([features[name] for name in names])[1])
    with_features = np.array([bool(features[name]) for name in names], dtype=bool)
    distance = np.full(len(names), np.inf)
    taken: list[int] = []

    def take(number: int) -> None:
        taken.append(number)
        away = np.linalg.norm(points - points[number], axis=1)
        np.minimum(distance, away, out=distance)

    for name in chosen:
        if name in features:
            take(names.index(name))
    before = len(taken)
    while len(taken) < min(before + count, len(names)):
        worth = distance if taken else -np.linalg.norm(points, axis=1)
        worth = np.where(with_features, worth, -np.finfo(float).max)
        worth[taken] = -np.inf
        take(int(np.argmax(worth)))
    return [names[number] for number in taken[before:]]


def _standardised(values: Array) -> Array:
    values = values[:, ~np.isnan(values).all(axis=0)]
    values = np.copysign(np.log1p(np.abs(values)), values)
    spread = np.nanstd(values, axis=0)
    scaled: Array = (values - np.nanmean(values, axis=0)) / np.where(spread > 1e-9, spread, 1.0)
    return np.nan_to_num(scaled)


def has_changed(instance: Instance, record: InstanceRecord) -> bool:
    """Return whether a file has changed; an instance in progress continues regardless."""
    idle = record.over or not record.begun
    return idle and record.content is not None and not record.content.is_in(instance.path)


class Preparation:
    """Prepares a stream; what it computes is in the instances' records and in the journal.

    `before` has the records of earlier calls, `records` those whose files have not changed.
    """

    def __init__(
        self,
        serving: Serving,
        before: Mapping[str, InstanceRecord],
        records: dict[str, InstanceRecord],
        totals: Totals,
        run: Callable[[Iterator[Work]], None],
    ) -> None:
        self._serving, self._project = serving, serving.decider.project
        self._before, self._records, self._totals, self._run = before, records, totals, run
        self._portfolio = serving.portfolio

    def learn_past(self, source: Path, instances: Iterable[Instance]) -> Iterable[Instance]:
        """Learn recorded runs, unless that was done before; return all instances."""
        looked_at: list[Instance] = []
        upcoming = iter(instances)
        program, known = self._portfolio.features, self._project.selector.feature_names

        def names() -> list[str] | None:
            """Return the names of the features, from the first instance that has them, or None."""
            if known is not None or program is None:
                return list(known or ())
            for instance in itertools.islice(upcoming, _TRIES):
                looked_at.append(instance)
                self._compute([instance])
                found = self._records[instance.name].computed
                if found is not None and found.values:
                    return list(with_tags(found.values, instance.tags, None, always=self._portfolio.tags))
            return None

        report = learn_past_runs(self._project, str(source.resolve()), lambda: read_past_runs(source), names)
        for observer in self._serving.observers:
            observer.warm_started(report)
        return instances if isinstance(instances, list) else itertools.chain(looked_at, upcoming)

    def _compute(self, instances: Iterable[Instance]) -> None:
        program = self._portfolio.features
        assert program is not None

        def lacking() -> Iterator[Work]:
            for instance in instances:
                record = self._records.get(instance.name)
                if record is None or (
                    not record.begun and (record.computed is None or has_changed(instance, record))
                ):
                    yield partial(self._features, instance, self.new_record(instance), program)

        self._run(lacking())

    async def _features(self, instance: Instance, record: InstanceRecord, program: Program) -> InstanceRecord:
        serving = self._serving
        record.computed = await serving.compute_features(instance, record, program, serving.cutoff)
        self._project.keep_features(record.computed.body(instance))
        for observer in serving.observers:
            observer.features_ended(record)
        return record

    def to_measure(
        self, plan: MeasureFirst | None, instances: Iterable[Instance], seed: int
    ) -> Iterable[Instance]:
        """Return the instances in the order in which they run, those to measure first."""
        if plan is None:
            return instances
        limit = plan.limit(self._serving.cutoff)
        left = max(plan.count - sum(record.measure is not None for record in self._records.values()), 0)
        if not isinstance(instances, list):
            if plan.choice is not MeasureChoice.FIRST:
                raise InputError(
                    f"the {plan.choice} instances to be measured are chosen among all: "
                    "give files or folders, not a list that may grow"
                )
            return self._first(instances, left, limit)
        chosen = self._chosen(plan, [one for one in instances if self._is_new(one)], left, seed)
        ranks = {name: rank for rank, name in enumerate(chosen)}

        def rank(instance: Instance) -> int:
            record = self._records.get(instance.name)
            under_way = record is not None and record.begun and not record.complete
            return -1 if under_way else ranks.get(instance.name, len(ranks))

        return [
            one._replace(measure=limit) if one.name in ranks else one for one in sorted(instances, key=rank)
        ]

    def _first(self, instances: Iterable[Instance], left: int, limit: float) -> Iterator[Instance]:
        for instance in instances:
            measured = left > 0 and self._is_new(instance)
            left -= measured
            yield instance._replace(measure=limit) if measured else instance

    def _chosen(self, plan: MeasureFirst, new: list[Instance], count: int, seed: int) -> list[str]:
        names = [one.name for one in new]
        if plan.choice is MeasureChoice.FIRST or not count:
            return names[:count]
        if plan.choice is MeasureChoice.RANDOM:
            return [one.name for one in shuffled(new, seed)][:count]
        if self._portfolio.features is None:
            raise InputError(f"diverse instances are chosen by features, and {self._portfolio.file} has none")
        self._compute(new)
        measured = [name for name, record in self._records.items() if record.measure is not None]
        values = {name: self._records[name].features or {} for name in measured}
        for name in names:
            found = self._records[name].computed
            values[name] = {} if found is None else found.values
        return most_diverse(values, measured, count)

    def _is_new(self, instance: Instance) -> bool:
        record = self._records.get(instance.name)
        return record is None or not record.begun

    def remaining(self, wanted: Iterable[Instance], retry: Retry | None) -> Iterator[Work]:
        """Yield what is left to do; an instance in progress that is no longer wanted stays as it is."""
        serving, again = self._serving, served_again(self._records, self._project.selector.algorithms, retry)
        for instance in wanted:
            record = self._records.get(instance.name)
            if record is not None and instance.name in again:
                words = again.pop(instance.name)
                if record.over:
                    self._totals.add_instance(record, -1)  # its runs still count
                for observer in serving.observers:
                    observer.noted(f"{instance.name} is run again: {words}")
                record = None
                if retry is not None and retry.cutoff is not None:
                    instance = instance._replace(cutoff=retry.cutoff)
            if record is None or has_changed(instance, record):
                record = self.new_record(instance)
            asks = serving.quarantine is not None and serving.quarantine.next_to_ask(record) is not None
            if record.complete and not asks:
                self._totals.skipped += 1
            else:
                yield partial(serving.serve, instance, record, may_put_off=True)

    def new_record(self, instance: Instance) -> InstanceRecord:
        return new_record(instance.name, FileContent.of(instance.path), self._before.get(instance.name))
