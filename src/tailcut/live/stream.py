"""Runs or continues a stream of instances through a portfolio, kept in a state file.

portfolio = read_portfolio("portfolio.toml")
with Journal("run.db") as journal:
settings = StreamSettings("tailcut", cutoff=300)
totals = run_stream(journal, portfolio, settings, instances, Path("run.jsonl"))
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.catalogue import DEFAULT_SELECTOR, find_all, recipe
from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.journal.replay import NEEDS_HISTORY
from tailcut.live.answers_file import AnswersFile
from tailcut.live.aside import AsideSolvers, read_aside, still_aside
from tailcut.live.attempts import Retry, served_again
from tailcut.live.engine import Engine
from tailcut.live.instance_record import InstanceRecord, read_records
from tailcut.live.instances import Instance
from tailcut.live.local_executor import LocalProgramExecutor
from tailcut.live.measure_first import MeasureFirst
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio
from tailcut.live.preparation import Preparation, Wanted, new_record
from tailcut.live.runnable import check_runnable
from tailcut.live.totals import Totals
from tailcut.live.trust import Trust, contradictions_in
from tailcut.live.workflows import ProgramExecutor, WideWorkflow, run_workflows
from tailcut.types import check_whole_number

DEFAULT = "tailcut_schedule"
"""The default selector of a stream."""
PROJECT = "run"
"""The name of the project in a state file of `tailcut run`."""


@dataclass(frozen=True)
class StreamSettings:
    """Which selector chooses, and its settings."""

    selector: str | None
    """None: that of the state file or, for a new one, `DEFAULT`."""
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
    retry: Retry | None = None,
    trust: Collection[str] = (),
    second_opinion: float = 0.0,
    parallel: int = 1,
) -> Totals:
    """Run what is left of a stream, `jobs` instances at a time; return the totals, earlier ones included.

    Up to `parallel` solvers run at once on each instance, and the first answer wins: on this machine only.

    `answers` gets a JSON line for each completed instance, the folder `outputs` the output of the answering
    solver. Programs run on the `executor`, by default on this machine. `warm_start` is the folder of a
    scenario or another state file, to be learned once before the stream begins. `measure_first` says which
    instances are run with every solver, before the others start. `retry` says which instances without an
    answer are served again, and `trust` which solvers that were set aside are used again. `second_opinion` is
    the share of answers on which another solver is asked, besides those of solvers that contradicted another
    before.
    """
    heard = StreamObserver() if observer is None else observer
    if measure_first is not None:
        measure_first.limit(settings.cutoff)  # raises if it is too long, before anything is written
    _check_warm_start(journal, warm_start)
    if portfolio.objective is not None and (warm_start or measure_first or second_opinion or parallel > 1):
        raise InputError(
            f"{portfolio.file}: [objective] judges one run per instance by its answer: leave out "
            "--warm-start, --measure-first, --second-opinion and --parallel"
        )
    check_runnable(portfolio, executor)
    if outputs is not None:
        _make_folder(outputs)
    project = open_project(journal, portfolio, settings, heard, trust)
    before = instance_records(project)
    records = _unchanged(before, instances, heard)
    totals = Totals.of(records.values())
    aside = AsideSolvers(portfolio, project, read_aside(project.history()), (totals, heard))
    aside.take(records.values())
    judge = Trust(portfolio, aside, share=second_opinion, seed=settings.seed)
    judge.take(records.values())
    again = served_again(records, project.selector.algorithms, retry)
    engine = Engine(
        portfolio,
        project,
        cutoff=settings.cutoff,
        outputs=outputs,
        observers=(totals, heard),
        aside=aside,
        trust=judge,
        parallel=check_whole_number("parallel", parallel, at_least=1),
    )
    with (
        AnswersFile(answers, before.values()) as written,
        nullcontext(executor)
        if executor is not None
        else LocalProgramExecutor.of(portfolio, jobs * parallel) as place,
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

        def run(workflows: Iterator[WideWorkflow[InstanceRecord]]) -> None:
            run_workflows(workflows, place, at_once=jobs, on_result=note, urgent=engine.urgent)

        preparation = Preparation(engine, records, run)
        if warm_start is not None:
            instances = preparation.learn_past(warm_start, instances, heard)
        wanted = preparation.to_measure(measure_first, instances, settings.cutoff, settings.seed)
        heard.stream_started(totals, _count(instances, records))
        if outputs is not None and (without := _without_output(records)):
            heard.outputs_missing(without, outputs)
        remaining = _Remaining(engine, before, records, again, retry, totals, heard)
        run(remaining.workflows(wanted))
        run(
            engine.serve(
                one.instance,
                new_record(one.instance, before.get(one.instance.name)),
                measure_cutoff=one.measure_cutoff,
            )
            for one in list(engine.put_off)
        )
    totals.problems += [
        f"solvers disagree, so at least one is wrong: {words}"
        for words in contradictions_in(records.values())
    ]
    project.keep()
    return totals


def _without_output(records: Mapping[str, InstanceRecord]) -> int:
    """Return how many instances have an answer whose output was not kept."""
    return sum(
        record.answering is not None and "output" not in record.answering for record in records.values()
    )


def _check_warm_start(journal: Journal, source: Path | None) -> None:
    if source is not None and source.exists() and source.samefile(journal.path):
        raise InputError(f"{source}: is the state file of this run, not one to begin with")


class BegunStream(NamedTuple):
    """What a state file says about a stream."""

    cutoff: float
    unsolved: list[str]
    """The completed instances without an answer whose files still exist."""


def begun_stream(state: Path) -> BegunStream:
    """Return the cutoff of a state file and its instances without an answer; nothing is changed."""
    if not state.exists():
        raise InputError(f"{state}: there is no such state file, so there is nothing to retry")
    with Journal(state, read_only=True) as journal:
        if PROJECT not in journal.projects():
            raise InputError(f"{state}: holds no run, so there is nothing to retry")
        project = Project(journal, PROJECT)
        records = instance_records(project)
        over = [name for name, one in records.items() if one.over and one.answer is None]
        unsolved = [name for name in over if Path(name).is_file()]
        return BegunStream(project.description["cutoff"], unsolved)


def _make_folder(outputs: Path) -> None:
    try:
        outputs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{outputs}: cannot be a folder for outputs: {error.strerror}", field="outputs"
        ) from None


def open_project(
    journal: Journal,
    portfolio: Portfolio,
    settings: StreamSettings,
    observer: StreamObserver,
    trust: Collection[str] = (),
) -> Project:
    """Return the project of a state file, new or continued, with the solvers of the portfolio."""
    begun = journal.description(journal.projects()[PROJECT]) if PROJECT in journal.projects() else None
    selector, hyperparameters = _selector(portfolio, settings, begun)
    row = recipe(selector)
    if portfolio.objective is not None and not row.takes_losses:
        able = ", ".join(one.name for one in find_all() if one.takes_losses)
        raise InputError(f"{selector} cannot minimise the loss of [objective]; these can: {able}")
    by_features = hyperparameters.get("representation", "none") != "none"
    if portfolio.features is None and by_features and row.feature_budget(hyperparameters) is None:
        raise InputError(
            f"{selector} cannot choose without features, and {portfolio.file} has no [features]"
            + (f" ({portfolio.without})" if portfolio.without else "")
        )
    description = {
        "selector": selector,
        "algorithms": list(portfolio.solvers),
        "cutoff": settings.cutoff,
        "seed": settings.seed,
        "hyperparameters": hyperparameters,
        "clock": portfolio.clock.value,
        NEEDS_HISTORY: True,  # the events show which instances are completed
    }
    if begun is None:
        return Project.create(journal, PROJECT, description)
    project = Project(journal, PROJECT)
    for name, value in description.items():
        before = project.description.get(name)
        if name != "algorithms" and before != value:
            raise InputError(
                f"{journal.path} was created with {name} {before}, not {value}: use "
                "that, or give another state file"
            )
    aside = still_aside(portfolio, project, trust, observer)
    update_solvers(project, [name for name in portfolio.solvers if name not in aside], observer)
    return project


def _selector(
    portfolio: Portfolio, settings: StreamSettings, begun: Mapping[str, Any] | None
) -> tuple[str, dict[str, Any]]:
    """Return the selector of a stream with its hyperparameters; by default those of the state file."""
    own = {} if begun is None else dict(begun["hyperparameters"])
    if settings.selector is None and begun is not None:
        return begun["selector"], own
    name = settings.selector or (DEFAULT if portfolio.objective is None else DEFAULT_SELECTOR)
    row = recipe(name)
    given = dict(settings.hyperparameters)
    if portfolio.favourite is not None and (begun is None or "favourite" in own):
        given.setdefault("favourite", portfolio.favourite)
    if "fail_over" in row.options and (begun is None or "fail_over" in own):
        given.setdefault("fail_over", own.get("fail_over", 1))
    return name, row.settings(given)


def update_solvers(project: Project, solvers: list[str], observer: StreamObserver) -> None:
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
    """Return the record of each instance of a project, by its name."""
    return read_records(project.history(), schedules=project.selector.schedules)


def _unchanged(
    records: Mapping[str, InstanceRecord], instances: Iterable[Instance], observer: StreamObserver
) -> dict[str, InstanceRecord]:
    """Return the records without completed ones whose files have changed."""
    kept = dict(records)
    for instance in instances if isinstance(instances, list) else []:
        record = records.get(instance.name)
        if record is not None and _has_changed(instance, record):
            del kept[instance.name]
            if record.over:
                observer.instance_changed(instance.name)
    return kept


def _has_changed(instance: Instance, record: InstanceRecord) -> bool:
    """Return whether a file has changed; an instance in progress continues regardless."""
    idle = record.over or not record.begun
    return idle and record.content is not None and not record.content.is_in(instance.path)


@dataclass(frozen=True)
class _Remaining:
    """What is left to do: new instances start, those in progress continue, some are run again.

    An instance in progress that the changed command no longer names stays as it is.
    """

    engine: Engine
    before: Mapping[str, InstanceRecord]
    """Those of earlier calls."""
    records: Mapping[str, InstanceRecord]
    """The current ones, without those whose files have changed."""
    again: dict[str, str]
    """Completed instances to run again, and why."""
    retry: Retry | None
    totals: Totals
    observer: StreamObserver

    def workflows(self, wanted: Iterable[Wanted]) -> Iterator[WideWorkflow[InstanceRecord]]:
        """Yield the work on one instance after the other."""
        for instance, measure_cutoff in wanted:
            record = self.records.get(instance.name)
            if record is not None and instance.name in self.again:
                instance = self._begun_again(instance, record)
                record = None
            if record is None or _has_changed(instance, record):
                record = new_record(instance, self.before.get(instance.name))
            if record.complete and self.engine.trust.next_to_ask(record) is None:
                self.totals.skipped += 1
            else:
                yield self.engine.serve(instance, record, may_put_off=True, measure_cutoff=measure_cutoff)

    def _begun_again(self, instance: Instance, record: InstanceRecord) -> Instance:
        """Reopen a completed instance; return it with its cutoff."""
        words = self.again.pop(instance.name)
        if record.over:
            self.totals.begin_again(record)
        self.observer.instance_again(instance.name, words)
        longer = None if self.retry is None else self.retry.cutoff
        return instance if longer is None else instance._replace(cutoff=longer)


def _count(instances: Iterable[Instance], records: Mapping[str, InstanceRecord]) -> int | None:
    """Return the total number of instances, including those completed earlier; None if unknown."""
    if not isinstance(instances, list):
        return None
    names = {instance.name for instance in instances}
    return len(names.union(name for name, record in records.items() if record.over))
