"""A stream of instances through a portfolio, chosen online and kept in a state file: run or continued.

portfolio = read_portfolio("portfolio.toml")
with Journal("run.db") as journal:
settings = StreamSettings("tailcut", cutoff=300)
totals = run_stream(journal, portfolio, settings, instances, Path("run.jsonl"))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailcut.catalogue import recipe
from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.journal.project_description import NEEDS_HISTORY
from tailcut.live.answers_file import AnswersFile
from tailcut.live.engine import Engine
from tailcut.live.idle_lessons import IdleLessons, LearnIdle
from tailcut.live.instance_record import InstanceRecord, read_records
from tailcut.live.instances import Instance
from tailcut.live.local_executor import LocalProgramExecutor
from tailcut.live.measure_first import MeasureFirst
from tailcut.live.measurement import contradictions
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio
from tailcut.live.preparation import Preparation, Wanted, new_record
from tailcut.live.totals import Totals
from tailcut.live.workflows import ProgramExecutor, Workflow, run_workflows

PROJECT = "run"
"""The name of the project in a state file of `tailcut run`."""


@dataclass(frozen=True)
class StreamSettings:
    """Which selector chooses, and how it is made."""

    selector: str
    cutoff: float
    seed: int = 0
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)


def run_stream(
    journal: Journal,
    portfolio: Portfolio,
    settings: StreamSettings,
    instances: Iterable[Instance],
    answers: Path,
    *,
    outputs: Path | None = None,
    executor: ProgramExecutor | None = None,
    jobs: int = 1,
    observer: StreamObserver | None = None,
    warm_start: Path | None = None,
    measure_first: MeasureFirst | None = None,
    learn_idle: LearnIdle | None = None,
) -> Totals:
    """Serve what is left of a stream, `jobs` instances at a time; return the totals, those before included.

    `answers` gets a JSON line for each instance that is over, the folder `outputs` what the answering solver
    printed. Programs run where `executor` says; without, on this machine. `warm_start` is the folder of a
    scenario or another state file, to be learned once before the stream begins. `measure_first` says which
    instances are run with every solver, before the others are begun; `learn_idle`, when solvers are run on
    instances that are over, on this machine.
    """
    heard = StreamObserver() if observer is None else observer
    if measure_first is not None:
        measure_first.limit(settings.cutoff)  # raises if it is too long, before anything is written
    if learn_idle is not None:
        learn_idle.check(portfolio)
    _check_warm_start(journal, warm_start)
    project = open_project(journal, portfolio, settings, heard)
    before = instance_records(project)
    records = _unchanged(before, instances, heard)
    totals = Totals.of(records.values())
    if outputs is not None:
        outputs.mkdir(parents=True, exist_ok=True)
    engine = Engine(portfolio, project, cutoff=settings.cutoff, outputs=outputs, observers=(totals, heard))
    with (
        AnswersFile(answers, before.values()) as written,
        nullcontext(executor) if executor is not None else LocalProgramExecutor.of(portfolio, jobs) as place,
    ):
        for record in records.values():
            record.announced = record.over

        def note(record: InstanceRecord) -> None:
            records[record.instance] = record
            if record.over and not record.announced:
                record.announced = True
                written.add(record)
                totals.instance_over(record)
                heard.instance_over(record)

        def run(workflows: Iterator[Workflow[InstanceRecord]], spare: IdleLessons | None = None) -> None:
            run_workflows(workflows, place, at_once=jobs, on_result=note, urgent=engine.urgent, spare=spare)

        preparation = Preparation(engine, records, run)
        if warm_start is not None:
            instances = preparation.learn_past(warm_start, instances, heard)
        wanted = preparation.to_measure(measure_first, instances, settings.cutoff, settings.seed)
        heard.stream_started(totals, _count(instances, records))
        if outputs is not None and (without := _without_output(records)):
            heard.outputs_missing(without, outputs)
        lessons = None if learn_idle is None else IdleLessons(learn_idle, engine, records, totals)
        run(_remaining(engine, wanted, records, totals, lessons), lessons)
        run(
            engine.serve(one.instance, new_record(one.instance), measure_cutoff=one.measure_cutoff)
            for one in list(engine.put_off)
        )
    totals.problems += [
        f"solvers disagree, so at least one is wrong: {words}"
        for words in contradictions({name: record.answers for name, record in records.items()})
    ]
    project.keep()
    return totals


def _without_output(records: Mapping[str, InstanceRecord]) -> int:
    """Return how many instances have an answer, but not what the solver printed: it is gone."""
    return sum(
        record.answering is not None and "output" not in record.answering for record in records.values()
    )


def _check_warm_start(journal: Journal, source: Path | None) -> None:
    if source is not None and source.exists() and source.samefile(journal.path):
        raise InputError(f"{source}: is the state file of this run, not one to begin with")


def open_project(
    journal: Journal, portfolio: Portfolio, settings: StreamSettings, observer: StreamObserver
) -> Project:
    """Return the project of a state file, begun or continued with the solvers of the portfolio."""
    row = recipe(settings.selector)
    hyperparameters = row.settings(dict(settings.hyperparameters))
    by_features = hyperparameters.get("representation", "none") != "none"
    if portfolio.features is None and by_features and row.feature_budget(hyperparameters) is None:
        raise InputError(
            f"{settings.selector} cannot choose without features, and {portfolio.file} has no [features]"
            + (f" ({portfolio.without})" if portfolio.without else "")
        )
    description = {
        "selector": settings.selector,
        "algorithms": list(portfolio.solvers),
        "cutoff": settings.cutoff,
        "seed": settings.seed,
        "hyperparameters": hyperparameters,
        "clock": portfolio.clock.value,
        NEEDS_HISTORY: True,  # which instances are over is read off the events
    }
    if PROJECT not in journal.projects():
        return Project.create(journal, PROJECT, description)
    project = Project(journal, PROJECT)
    for name, value in description.items():
        before = project.description.get(name)
        if name != "algorithms" and before != value:
            raise InputError(
                f"{journal.path} was begun with {name} {before}, not {value}: "
                "continue with that, or give another state file"
            )
    _update_solvers(project, list(portfolio.solvers), observer)
    return project


def _update_solvers(project: Project, solvers: list[str], observer: StreamObserver) -> None:
    """Add and remove solvers as the portfolio file has changed."""
    before = project.selector.algorithms
    for name in solvers:
        if name not in before:
            project.add_algorithm(name)
            observer.solver_added(name)
    for name in before:
        if name not in solvers:
            project.remove_algorithm(name)
            observer.solver_removed(name)


def instance_records(project: Project) -> dict[str, InstanceRecord]:
    """Return how far each instance of a project has come, by its name."""
    return read_records(project.history(), schedules=project.selector.schedules)


def _unchanged(
    records: Mapping[str, InstanceRecord], instances: Iterable[Instance], observer: StreamObserver
) -> dict[str, InstanceRecord]:
    """Return the records without those that are over and whose files, among those at hand, have changed."""
    kept = dict(records)
    for instance in instances if isinstance(instances, list) else []:
        record = records.get(instance.name)
        if record is not None and _has_changed(instance, record):
            del kept[instance.name]
            if record.over:
                observer.instance_changed(instance.name)
    return kept


def _has_changed(instance: Instance, record: InstanceRecord) -> bool:
    """Return whether a file has changed, unless its instance is under way: that continues."""
    idle = record.over or not record.begun
    return idle and record.content is not None and not record.content.is_in(instance.path)


def _remaining(
    engine: Engine,
    wanted: Iterable[Wanted],
    records: Mapping[str, InstanceRecord],
    totals: Totals,
    lessons: IdleLessons | None,
) -> Iterator[Workflow[InstanceRecord]]:
    """Yield what is left to do: new instances are begun, those under way continue.

    An instance under way that is not among those wanted, because the command was changed, stays as it is.
    """
    for instance, measure_cutoff in wanted:
        record = records.get(instance.name)
        if record is None or _has_changed(instance, record):
            record = new_record(instance)
        if lessons is not None:
            lessons.seen(instance)
        if record.complete:
            totals.skipped += 1
        else:
            yield engine.serve(instance, record, may_put_off=True, measure_cutoff=measure_cutoff)


def _count(instances: Iterable[Instance], records: Mapping[str, InstanceRecord]) -> int | None:
    """Return how many instances there will be, those over from before included; None if that is open."""
    if not isinstance(instances, list):
        return None
    names = {instance.name for instance in instances}
    return len(names.union(name for name, record in records.items() if record.over))
