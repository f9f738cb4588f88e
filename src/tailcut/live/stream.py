"""A stream of instances through a portfolio: run, or continued where its state file stops.

`tailcut run` calls `run_stream`; `run` does the same for your own programs.

    totals = run("portfolio.toml", ["instances"], cutoff=300)
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tailcut import state as statefile
from tailcut.catalogue import DEFAULT_SELECTOR, find_all, parse_selector, recipe
from tailcut.errors import InputError, LiveError
from tailcut.journal import Journal, Project
from tailcut.journal.project import NEEDS_HISTORY
from tailcut.live.engine import (
    LocalProgramExecutor,
    ProgramExecutor,
    RunResult,
    check_open_files,
    check_runnable,
    run_all,
)
from tailcut.live.instance_record import (
    PROJECT,
    InstanceRecord,
    RunRecord,
    check_same,
    instance_records,
    said,
)
from tailcut.live.instances import Instance, instances_in, printable
from tailcut.live.observer import StreamObserver, Totals
from tailcut.live.portfolio import Portfolio, cutoff_of, read_portfolio
from tailcut.live.preparation import MeasureFirst, Preparation, Retry, has_changed
from tailcut.live.quarantine import Quarantine, still_quarantined
from tailcut.live.serving import Decider, Serving, Work
from tailcut.types import check_whole_number

FOR_LOSSES = "tailcut"
"""The default selector of a stream with an [objective], which a schedule cannot minimise."""
_LONGEST_NAME = 200
"""Bytes of a file's name; file systems allow 255, and the temporary name is longer."""


@dataclass(frozen=True)
class StreamSettings:
    selector: str | None
    """None: that of the state file or, for a new one, the default."""
    cutoff: float
    seed: int = 0
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        portfolio: Portfolio,
        selector: str | None,
        cutoff: float | None,
        seed: int,
        hyperparameters: Mapping[str, Any] | None = None,
    ) -> StreamSettings:
        """Return the settings of a call; those that it does not give are the portfolio's."""
        limit, named = cutoff_of(portfolio, cutoff), selector or portfolio.selector
        name, given = (None, {}) if named is None else parse_selector(named)
        given |= hyperparameters or {}
        if name is not None:
            recipe(name).settings(given)  # raises before anything is written
        return cls(name, limit, seed, given)


@dataclass(frozen=True)
class Callbacks(StreamObserver):
    """Functions that are called one at a time when something happens, by the thread that called `run`.

    If an event loop runs in that thread, as in a notebook, another thread calls them. To observe more,
    override the methods of a `StreamObserver` and pass that instead.
    """

    on_start: Callable[[str, str, float], object] | None = None
    """A solver was started: called with the instance, the solver and its budget in seconds."""
    on_end: Callable[[str, RunRecord], object] | None = None
    """A run has ended and is in the journal: called with the instance and the run."""
    on_answer: Callable[[InstanceRecord], object] | None = None
    """An instance is completed, solved or not: called with its record."""

    def run_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        if self.on_start is not None:
            self.on_start(record.instance, solver, budget)

    def run_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        if self.on_end is not None:
            self.on_end(record.instance, run)

    def instance_over(self, record: InstanceRecord) -> None:
        if self.on_answer is not None:
            self.on_answer(record)


def run(
    portfolio: Portfolio | str | Path,
    instances: Iterable[str | Path | Instance],
    *,
    state: str | Path = "tailcut-run.db",
    answers: str | Path | None = None,
    outputs: str | Path | None = None,
    cutoff: float | None = None,
    jobs: int = 1,
    parallel: int = 1,
    selector: str | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    warm_start: str | Path | None = None,
    measure_first: MeasureFirst | None = None,
    callbacks: StreamObserver | None = None,
) -> Totals:
    """Run the solvers of a portfolio on instances, as `tailcut run` does; return the totals.

    `portfolio` is a TOML file, or the result of `read_portfolio`. `instances` are files and folders, or
    values of `Instance`, which may have tags, a cutoff and a priority of their own. An iterator is asked for
    the next instance when a worker is free, so a generator may wait for work. Up to `parallel` solvers run at
    once on each of `jobs` instances: the first answer wins. As for the command, the selector is by default
    the portfolio's, else that of the state file, else `tailcut_schedule`. Repeating the call continues where
    it stopped. An exception in a callback ends the stream; what is done is kept. See docs/howto/live.md.
    """
    check_open_files(jobs * parallel)
    read = portfolio if isinstance(portfolio, Portfolio) else read_portfolio(portfolio)
    settings = StreamSettings.of(read, selector, cutoff, seed, hyperparameters)
    given: Iterable[Instance]
    given = (one for each in instances for one in _instances(each, read))
    if isinstance(instances, list | tuple):
        given = list({one.name: one for one in given}.values())
    with Journal(state) as journal:
        return run_stream(
            journal,
            read,
            settings,
            given,
            Path(state).with_suffix(".jsonl") if answers is None else Path(answers),
            outputs=None if outputs is None else Path(outputs),
            jobs=jobs,
            parallel=parallel,
            observer=callbacks,
            warm_start=None if warm_start is None else Path(warm_start),
            measure_first=measure_first,
        )


def _instances(each: str | Path | Instance, portfolio: Portfolio) -> Iterable[Instance]:
    if isinstance(each, Instance):
        return [each]
    return instances_in([str(each)], portfolio.instances, models=portfolio.models)


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
    answer are served again, and `trust` which solvers in quarantine are used again. `second_opinion` is the
    share of answers on which another solver is asked, besides those of solvers that contradicted another
    before.
    """
    observer = StreamObserver() if observer is None else observer
    if measure_first is not None:
        measure_first.limit(settings.cutoff)  # raises if it is too long, before anything is written
    if warm_start is not None and warm_start.exists() and warm_start.samefile(journal.path):
        raise InputError(f"{warm_start}: is the state file of this run, not one to begin with")
    if portfolio.objective is not None and (warm_start or measure_first or second_opinion or parallel > 1):
        raise InputError(
            f"{portfolio.file}: [objective] judges one run per instance by its answer: leave out "
            "--warm-start, --measure-first, --second-opinion and --parallel"
        )
    check_runnable(portfolio, executor)
    check_whole_number("parallel", parallel, at_least=1)
    if outputs is not None:
        try:
            outputs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            words = f"{outputs}: cannot be a folder for outputs: {error.strerror}"
            raise InputError(words, field="outputs") from None
    project = open_project(journal, portfolio, settings, observer, trust)
    before = instance_records(project)
    records = _unchanged(before, instances, observer)
    totals = Totals.of(records.values())
    observers = (totals, observer)
    quarantine = Quarantine(
        portfolio, project, observers, records.values(), share=second_opinion, seed=settings.seed
    )
    with (
        closing(AnswersFile(answers, before.values())) as written,
        LocalProgramExecutor.of(portfolio) if executor is None else nullcontext(executor) as place,
    ):
        serving = Serving(
            place,
            portfolio,
            Decider.of(project),
            cutoff=settings.cutoff,
            parallel=parallel,
            seed=settings.seed,
            keep=None if outputs is None else partial(keep_output, outputs),
            observers=observers,
            quarantine=quarantine,
        )
        for record in records.values():
            record.announced = record.over

        def note(record: InstanceRecord) -> None:
            records[record.instance] = record
            if record.over and not record.announced:
                record.announced = True
                written.add(record)
                for one in observers:
                    one.instance_over(record)

        def serve(work: Iterator[Work]) -> None:
            run_all(work, at_once=jobs, on_result=note, urgent=serving.urgent)

        preparation = Preparation(serving, before, records, totals, serve)
        if warm_start is not None:
            instances = preparation.learn_past(warm_start, instances)
        wanted = preparation.to_measure(measure_first, instances, settings.seed)
        count = None  # it is unknown how many are still to come
        if isinstance(instances, list):
            over = {name for name, record in records.items() if record.over}
            count = len(over.union(one.name for one in instances))
        observer.stream_started(totals, count)
        answering = [record.answering for record in records.values()]
        without = sum(run is not None and "output" not in run for run in answering)
        if outputs is not None and without:
            observer.noted(
                f"{without} instances were answered before and have no output in {outputs}: "
                "what a solver printed cannot be kept afterwards"
            )
        serve(preparation.remaining(wanted, retry))
        serve(partial(serving.serve, one, preparation.new_record(one)) for one in list(serving.put_off))
    totals.problems += [
        f"solvers disagree, so at least one is wrong: {record.instance}: {said(record.all_runs)}"
        for record in records.values()
        if record.verdict.involved
    ]
    project.keep()
    return totals


class AnswersFile:
    """A file of answers that follows the journal: missing lines are written, a torn line is removed."""

    def __init__(self, path: str | Path, records: Iterable[InstanceRecord]) -> None:
        self.path = Path(path)
        try:
            written = self._mend()
            # Unbuffered: what could not be written must not be written later, when the file is closed.
            self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from None
        for record in records:
            if record.over and _identity(record.as_dict()) not in written:
                self.add(record)

    def _mend(self) -> set[tuple[str, str | None, int]]:
        """Remove an incomplete last line, and lines with zeroed bytes; return which instances have a line."""
        if not self.path.is_file():  # a terminal or a pipe cannot be read back
            return set()
        data = self.path.read_bytes()
        *lines, last = data.split(b"\n")
        names, kept = set(), []
        for number, line in enumerate([*lines, last], 1):
            try:
                if number <= len(lines) and b"\0" not in line:
                    names.add(_identity(json.loads(line)))
                    kept.append(line + b"\n")
                elif not line.replace(b"\0", b"").decode().isprintable():
                    raise ValueError  # noqa: TRY301 - what is left of an answer is a text
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InputError(f"{self.path}, line {number}: is not an answer of `tailcut run`") from None
        if b"\0" in data:
            warnings.warn(f"{self.path}: is damaged; what is missing is written again", stacklevel=2)
        if len(kept) < len(lines) or last:
            self.path.write_bytes(b"".join(kept))
        return names

    def add(self, record: InstanceRecord) -> None:
        line = memoryview(answer_line(record).encode() + b"\n")
        try:
            while line:  # a disk that is nearly full may accept only a part
                line = line[self._file.write(line) :]
        except OSError as error:
            raise LiveError(
                f"{self.path}: cannot be written: {error.strerror}; nothing is lost, the state file has it: "
                "make room and run the same command again"
            ) from None

    def close(self) -> None:
        self._file.close()


def _identity(line: dict[str, Any]) -> tuple[str, str | None, int]:
    return str(line["instance"]), line.get("content"), int(line.get("attempt", 0))


def answer_line(record: InstanceRecord) -> str:
    return json.dumps(record.as_dict(), allow_nan=False)


def keep_output(folder: Path, instance: Instance, run: RunResult) -> None:
    """Write the output of the run that answered into a file named after the instance, and note its path."""
    target = folder / output_name(instance.name)
    try:
        statefile.write(target, run.output)
    except OSError as error:
        raise LiveError(
            f"{printable(str(target))}: cannot be written: {error.strerror}; everything else is kept: "
            "make room and run the same command again"
        ) from None
    run.note["output"] = str(target)


def output_name(instance: str) -> str:
    """Return the name of an instance's output file; a name that is too long ends in its digest.

    >>> output_name("queue/50%.cnf")
    'queue%2F50%25.cnf.out'
    >>> len(output_name("deep/" * 100))
    200
    """
    name = instance.replace("%", "%25").replace(os.sep, "%2F")
    encoded = os.fsencode(name)
    if len(encoded) > _LONGEST_NAME:
        digest = hashlib.sha256(encoded).hexdigest()[:20]
        name = encoded[: _LONGEST_NAME - 25].decode(errors="ignore") + f"-{digest}"
    return name + ".out"


def begun_stream(state: Path) -> tuple[float, list[str]]:
    """Return the cutoff of a state file and its instances without an answer whose files still exist."""
    if not state.exists():
        raise InputError(f"{state}: there is no such state file, so there is nothing to retry")
    with Journal(state, read_only=True) as journal:
        if PROJECT not in journal.projects():
            raise InputError(f"{state}: holds no run, so there is nothing to retry")
        project = Project(journal, PROJECT)
        records = instance_records(project)
        unsolved = [name for name, record in records.items() if record.over and record.answer is None]
        return project.description["cutoff"], [name for name in unsolved if Path(name).is_file()]


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
    del description["algorithms"]  # those of the portfolio may change
    check_same(journal, project.number, description)
    update_solvers(project, portfolio, observer, trust)
    return project


def _selector(
    portfolio: Portfolio, settings: StreamSettings, begun: Mapping[str, Any] | None
) -> tuple[str, dict[str, Any]]:
    own = {} if begun is None else dict(begun["hyperparameters"])
    if settings.selector is None and begun is not None:
        return begun["selector"], own
    name = settings.selector or (DEFAULT_SELECTOR if portfolio.objective is None else FOR_LOSSES)
    row = recipe(name)
    given = dict(settings.hyperparameters)
    if portfolio.favourite is not None and (begun is None or "favourite" in own):
        given.setdefault("favourite", portfolio.favourite)
    if "fail_over" in row.options and (begun is None or "fail_over" in own):
        given.setdefault("fail_over", own.get("fail_over", 1))
    return name, row.settings(given)


def update_solvers(
    project: Project, portfolio: Portfolio, observer: StreamObserver, trust: Collection[str] = ()
) -> None:
    """Have a project choose among the solvers of a portfolio, except those that stay set aside."""
    quarantine = still_quarantined(portfolio, project, trust, observer)
    solvers = [name for name in portfolio.solvers if name not in quarantine]
    before = project.selector.algorithms
    for name in solvers:
        if name not in before:
            project.add_algorithm(name)
            observer.solver_added(name)
    for name in before:
        if name not in solvers:
            project.remove_algorithm(name)
            observer.solver_removed(name)


def _unchanged(
    records: Mapping[str, InstanceRecord], instances: Iterable[Instance], observer: StreamObserver
) -> dict[str, InstanceRecord]:
    kept = dict(records)
    for instance in instances if isinstance(instances, list) else []:
        record = records.get(instance.name)
        if record is not None and has_changed(instance, record):
            del kept[instance.name]
            if record.over:
                observer.noted(f"{instance.name} has changed since it was run: it is run again")
    return kept
