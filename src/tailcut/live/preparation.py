"""Preparing a stream: recorded runs are learned, and the instances to measure are chosen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tailcut.errors import InputError
from tailcut.journal.past_runs import learn_past_runs, read_past_runs
from tailcut.live.content import FileContent
from tailcut.live.engine import Engine
from tailcut.live.instance_record import InstanceRecord
from tailcut.live.instances import Instance
from tailcut.live.measure_first import MeasureChoice, MeasureFirst, in_random_order, most_diverse
from tailcut.live.observer import StreamObserver
from tailcut.live.tags import with_tags
from tailcut.live.workflows import WideWorkflow

_TRIES = 5
"""The maximum number of instances whose features are computed to find the features' names."""


class Wanted(NamedTuple):
    """An instance to run, and the seconds for each extra solver on it; None: no extra runs."""

    instance: Instance
    measure_cutoff: float | None = None


def new_record(instance: Instance, before: InstanceRecord | None = None) -> InstanceRecord:
    """Return the record of an instance that starts, or starts again."""
    record = InstanceRecord(instance.name, FileContent.of(instance.path))
    record.follows(before)
    return record


class Preparation:
    """Prepares a stream; what it computes is in the instances' records and in the journal."""

    def __init__(
        self,
        engine: Engine,
        records: dict[str, InstanceRecord],
        run: Callable[[Iterator[WideWorkflow[InstanceRecord]]], None],
    ) -> None:
        self.engine, self.records, self.run = engine, records, run

    def learn_past(
        self, source: Path, instances: Iterable[Instance], observer: StreamObserver
    ) -> Iterable[Instance]:
        """Learn recorded runs, unless that was done before; return all instances."""
        looked_at: list[Instance] = []
        upcoming = iter(instances)

        def names() -> list[str] | None:
            return self._feature_names(upcoming, looked_at)

        project = self.engine.project
        report = learn_past_runs(project, str(source.resolve()), lambda: read_past_runs(source), names)
        observer.warm_started(report)
        return instances if isinstance(instances, list) else itertools.chain(looked_at, upcoming)

    def _feature_names(self, upcoming: Iterator[Instance], looked_at: list[Instance]) -> list[str] | None:
        """Return the names of the features, from the first instance that has them, or None."""
        program, known = self.engine.portfolio.features, self.engine.project.selector.feature_names
        if known is not None or program is None:
            return list(known or ())
        for instance in itertools.islice(upcoming, _TRIES):
            looked_at.append(instance)
            self._compute([instance])
            found = self.records[instance.name].computed
            if found is not None and found.values:
                return list(with_tags(found.values, instance.tags, None, always=self.engine.portfolio.tags))
        return None

    def _compute(self, instances: Iterable[Instance]) -> None:
        """Compute the features of instances that have not started."""
        program = self.engine.portfolio.features
        assert program is not None

        def lacking() -> Iterator[WideWorkflow[InstanceRecord]]:
            for instance in instances:
                record = self.records.get(instance.name)
                if record is None or (not record.begun and not _is_current(instance, record)):
                    yield self.engine.compute_features(instance, new_record(instance), program)

        self.run(lacking())

    def to_measure(
        self, plan: MeasureFirst | None, instances: Iterable[Instance], cutoff: float, seed: int
    ) -> Iterable[Wanted]:
        """Return the instances in the order in which they run, those to measure first."""
        if plan is None:
            return map(Wanted, instances)
        limit = plan.limit(cutoff)
        left = plan.count - sum(record.measure is not None for record in self.records.values())
        if not isinstance(instances, list):
            if plan.choice is not MeasureChoice.FIRST:
                raise InputError(
                    f"the {plan.choice} instances to be measured are chosen among all: "
                    "give files or folders, not a list that may grow"
                )
            return self._first(instances, left, limit)
        new = {one.name: one for one in instances if self._is_new(one)}
        chosen = dict.fromkeys(self._chosen(plan, list(new.values()), max(left, 0), seed))
        under_way = [one for one in instances if self._is_under_way(one)]
        first = {one.name for one in under_way} | set(chosen)
        return [
            *map(Wanted, under_way),
            *(Wanted(new[name], limit) for name in chosen),
            *(Wanted(one) for one in instances if one.name not in first),
        ]

    def _first(self, instances: Iterable[Instance], left: int, limit: float) -> Iterator[Wanted]:
        for instance in instances:
            if left > 0 and self._is_new(instance):
                left -= 1
                yield Wanted(instance, limit)
            else:
                yield Wanted(instance)

    def _chosen(self, plan: MeasureFirst, new: list[Instance], count: int, seed: int) -> list[str]:
        names = [one.name for one in new]
        if plan.choice is MeasureChoice.FIRST or not count:
            return names[:count]
        if plan.choice is MeasureChoice.RANDOM:
            return in_random_order(names, seed)[:count]
        if self.engine.portfolio.features is None:
            raise InputError(
                f"diverse instances are chosen by features, and {self.engine.portfolio.file} has none"
            )
        self._compute(new)
        measured = [name for name, record in self.records.items() if record.measure is not None]
        values = {name: self.records[name].features or {} for name in measured}
        for name in names:
            found = self.records[name].computed
            values[name] = {} if found is None else found.values
        return most_diverse(values, measured, count)

    def _is_new(self, instance: Instance) -> bool:
        record = self.records.get(instance.name)
        return record is None or not record.begun

    def _is_under_way(self, instance: Instance) -> bool:
        record = self.records.get(instance.name)
        return record is not None and record.begun and not record.complete


def _is_current(instance: Instance, record: InstanceRecord) -> bool:
    """Return whether the features in a record are those of the current file."""
    return record.computed is not None and (record.content is None or record.content.is_in(instance.path))
