"""Measuring a portfolio: every solver on every instance, as a scenario that ASlib tools read.

    scenario = measure_scenario(read_portfolio("portfolio.toml"), instances, Path("MINE"), cutoff=300)

Each run is stored in a state file as soon as it ends: repeating the call measures only what is missing.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tailcut import state as statefile
from tailcut.domains.domain import answers_agree
from tailcut.errors import InputError
from tailcut.journal import EventKind, Journal, NewEvent
from tailcut.live.engine import (
    LocalProgramExecutor,
    ProgramExecutor,
    SolverRun,
    computed_features,
    features_job,
    run_all,
)
from tailcut.live.instances import FileContent, Instance
from tailcut.live.limits import Ending
from tailcut.live.observer import SilentSolver
from tailcut.live.portfolio import Clock, Portfolio, Program, Solver
from tailcut.live.runnable import check_runnable
from tailcut.scenarios import Scenario
from tailcut.scenarios.description import yaml_module
from tailcut.types import Status

PROJECT = "measure"

_FAILED = {str(Ending.MEMORY_LIMIT): "memout", str(Ending.CRASHED): "crash"}
"""How a run that failed ended -> ASlib's word for it, `other` where it has none."""


class MeasureObserver:
    """Is called while a portfolio is measured; override the methods you need."""

    def started(self, done: int, total: int) -> None:
        """Handle the start: how much was measured before, and how much there is in total."""

    def instance_changed(self, instance: str) -> None:
        """Handle a file that has changed since it was measured: it is measured again."""

    def measured(self, one: Measured) -> None:
        """Handle a new measurement."""

    def solver_silent(self, one: SilentSolver) -> None:
        """Handle, at the end, a solver that gave no answer at all."""


def measure_scenario(
    portfolio: Portfolio,
    instances: Sequence[Instance],
    out: Path,
    *,
    cutoff: float,
    name: str | None = None,
    note: str = "",
    state: Path | None = None,
    executor: ProgramExecutor | None = None,
    jobs: int = 1,
    observer: MeasureObserver | None = None,
    wrong: Sequence[str] = (),
    again: Sequence[str] = (),
) -> Scenario:
    """Measure what is missing, `jobs` runs at a time; write the scenario and a readme into the folder `out`.

    The scenario is called `name`, or like its folder; `note` is a sentence for the readme. Programs run on
    the `executor`, by default on this machine. `wrong` and `again` name runs as `SOLVER:INSTANCE`: the
    answers of the former count as wrong from now on, and the latter are measured again.
    """
    if (out / "description.txt").exists():
        raise InputError(f"{out} already holds a scenario")
    yaml_module()  # fail before the work, not after it, if the writer's extra is missing
    check_runnable(portfolio, executor)
    instances = _briefly_named(instances)
    with (
        Journal(state or default_state(out)) as journal,
        nullcontext(executor) if executor is not None else LocalProgramExecutor.of(portfolio) as place,
    ):
        measurement = Measurement(journal, portfolio, cutoff)
        names, heard = [one.name for one in instances], MeasureObserver() if observer is None else observer
        for text in wrong:
            measurement.mark_wrong(RunName.parse(text, portfolio.solvers, names))
        for text in again:
            measurement.measure_again(RunName.parse(text, portfolio.solvers, names))
        for changed in measurement.forget_changed(instances):
            heard.instance_changed(changed)
        per_instance = len(portfolio.solvers) + (portfolio.features is not None)
        heard.started(measurement.done(instances), len(instances) * per_instance)
        run_all(measurement.missing(instances, place), at_once=jobs, on_result=heard.measured)
        for silent in measurement.silent(instances):
            heard.solver_silent(silent)
        method = place.method
    scenario = measurement.scenario(instances, name or out.name)
    scenario.write(out)
    text = _readme(scenario, portfolio, method, note)
    statefile.write(out / "readme.txt", text.encode())
    return scenario


def default_state(out: Path) -> Path:
    """Return the default state file of a measurement."""
    return out.with_name(out.name + ".measure.db")


def _briefly_named(instances: Sequence[Instance]) -> list[Instance]:
    """Return the instances by their file names, if these are distinct: then no paths are needed."""
    names = {instance.path.name for instance in instances}
    if len(names) < len(instances):
        return list(instances)
    return [Instance(instance.path.name, instance.path) for instance in instances]


class Measured(NamedTuple):
    """One thing that was measured: a run, or the features of an instance."""

    instance: str
    solver: str | None
    """None: the features."""
    problem: str | None
    """The problem, if any."""


class RunName(NamedTuple):
    """One solver on one instance, as a user names it."""

    solver: str
    instance: str

    @staticmethod
    def parse(text: str, solvers: Iterable[str], instances: Iterable[str]) -> RunName:
        """Return the measured run that `SOLVER:INSTANCE` names.

        >>> RunName.parse("kissat:a:b.cnf", ["kissat"], ["a:b.cnf"])
        RunName(solver='kissat', instance='a:b.cnf')
        """
        known = list(instances)
        for solver in solvers:
            if text.startswith(f"{solver}:") and text[len(solver) + 1 :] in known:
                return RunName(solver, text[len(solver) + 1 :])
        raise InputError(f"{text!r} names no run: write SOLVER:INSTANCE, both as the scenario calls them")


@dataclass
class Measurements:
    """What has been measured so far."""

    runs: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """(instance, solver) -> the note of the run."""
    features: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Instance -> values, seconds and, if any, the problem."""

    def add(self, kind: EventKind, body: dict[str, Any]) -> None:
        if kind is EventKind.RUN:
            self.runs[body["instance"], body["solver"]] = body
        else:
            self.features[body["instance"]] = body

    def disagreements(self, instances: Collection[str], solvers: Collection[str]) -> list[str]:
        """Return where some solvers contradict each other on some instances, a sentence each.

        >>> measured = Measurements()
        >>> for solver, answer in (("a", "SAT"), ("b", "UNSAT"), ("c", None)):
        ...     measured.add(EventKind.RUN, {"instance": "i", "solver": solver, "answer": answer})
        >>> measured.disagreements(["i"], ["a", "b", "c"])
        ['i: a says SAT, b says UNSAT']
        >>> measured.disagreements(["i"], ["a", "c"])
        []
        """
        said: dict[str, dict[str, str]] = {}
        for (instance, solver), run in self.runs.items():
            if run["answer"] is not None and instance in instances and solver in solvers:
                said.setdefault(instance, {})[solver] = run["answer"]
        return contradictions(said)


def contradictions(said: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return where solvers contradict each other, given their answers by instance; a sentence each.

    >>> contradictions({"a": {"x": "optimal 3", "y": "optimal 3.0"}, "b": {"x": "sat", "y": "unsat"}})
    ['b: x says sat, y says unsat']
    """
    return [
        f"{instance}: " + ", ".join(f"{solver} says {answer}" for solver, answer in answers.items())
        for instance, answers in said.items()
        if not all(answers_agree(next(iter(answers.values())), other) for other in answers.values())
    ]


class Measurement:
    """A measurement kept in a journal: what it contains is not measured again."""

    def __init__(self, journal: Journal, portfolio: Portfolio, cutoff: float) -> None:
        self.journal, self.portfolio, self.cutoff = journal, portfolio, cutoff
        description = {"cutoff": cutoff, "clock": portfolio.clock.value}
        if PROJECT not in journal.projects():
            journal.create(PROJECT, description)
        self._number = journal.projects()[PROJECT]
        before = journal.description(self._number)
        for name, value in description.items():
            if before[name] != value:
                raise InputError(
                    f"{journal.path} was created with {name} {before[name]}, not {value}: use "
                    "that, or give another state file"
                )
        self.measured = Measurements()
        for event in journal.events(self._number):
            self.measured.add(event.kind, event.body)

    def forget_changed(self, instances: Iterable[Instance]) -> list[str]:
        """Drop the measurements of files that have changed since; return their instances."""
        measured = self.measured
        contents: dict[str, set[FileContent]] = {}
        for body in (*measured.runs.values(), *measured.features.values()):
            contents.setdefault(body["instance"], set()).add(FileContent(**body["content"]))
        changed = [
            one.name
            for one in instances
            if not all(content.is_in(one.path) for content in contents.get(one.name, ()))
        ]
        gone = set(changed)
        measured.features = {name: body for name, body in measured.features.items() if name not in gone}
        measured.runs = {cell: body for cell, body in measured.runs.items() if cell[0] not in gone}
        return changed

    def mark_wrong(self, cell: RunName) -> None:
        """Mark the answer of a run as wrong: it counts as failed."""
        run = self.measured.runs.get((cell.instance, cell.solver))
        if run is None or run["answer"] is None:
            raise InputError(
                f"{cell.solver} gave no answer to {cell.instance}: there is nothing to mark as wrong"
            )
        problem = f"its answer {run['answer']} was marked as wrong"
        body = {**run, "answer": None, "outcome": Status.FAILED.value, "problem": problem}
        self._keep(EventKind.RUN, body)

    def measure_again(self, cell: RunName) -> None:
        """Mark a run to be measured again; its earlier measurement counts until then."""
        self.measured.runs.pop((cell.instance, cell.solver), None)

    def done(self, instances: Iterable[Instance]) -> int:
        """Return how many of the measurements of these instances are done."""
        names = {one.name for one in instances}
        runs = sum(name in names and solver in self.portfolio.solvers for name, solver in self.measured.runs)
        wanted = self.portfolio.features is not None
        return runs + sum(name in names for name in self.measured.features if wanted)

    def silent(self, instances: Iterable[Instance]) -> list[SilentSolver]:
        """Return the solvers that gave no answer at all, although some of their runs finished."""
        names = {one.name for one in instances}
        found = []
        for solver in self.portfolio.solvers:
            runs = [run for (name, who), run in self.measured.runs.items() if who == solver and name in names]
            said = [run["said"] for run in runs if "said" in run]
            if said and all(run["answer"] is None for run in runs):
                found.append(SilentSolver(solver, len(runs), said[0]))
        return found

    def missing(
        self, instances: Iterable[Instance], place: ProgramExecutor
    ) -> Iterator[Callable[[], Coroutine[Any, Any, Measured]]]:
        """Yield the missing measurements, instance by instance."""
        program = self.portfolio.features
        for instance in instances:
            if program is not None and instance.name not in self.measured.features:
                yield partial(self._features, place, program, instance)
            for solver in self.portfolio.solvers.values():
                if (instance.name, solver.name) not in self.measured.runs:
                    yield partial(self._run, place, solver, instance)

    async def _features(self, place: ProgramExecutor, program: Program, instance: Instance) -> Measured:
        run = place.start(features_job(self.portfolio, program, instance, self.cutoff))
        computed = await computed_features(self.portfolio, run)
        return self._keep(EventKind.FEATURES, computed.body(instance))

    async def _run(self, place: ProgramExecutor, solver: Solver, instance: Instance) -> Measured:
        result = await SolverRun(place, self.portfolio, solver, instance, self.cutoff).wait()
        note = {**result.note, "outcome": result.outcome.status.value}
        note["content"] = FileContent.of(instance.path)._asdict()
        return self._keep(EventKind.RUN, {"instance": instance.name, "solver": solver.name, **note})

    def _keep(self, kind: EventKind, body: dict[str, Any]) -> Measured:
        self.journal.append(self._number, [NewEvent(kind, body)])
        self.measured.add(kind, body)
        return Measured(body["instance"], body.get("solver"), body.get("problem"))

    def scenario(self, instances: Iterable[Instance], name: str) -> Scenario:
        """Return the measurements of these instances as a scenario; raise on contradictions."""
        names, solvers = [one.name for one in instances], list(self.portfolio.solvers)
        disagreements = self.measured.disagreements(set(names), set(solvers))
        if disagreements:
            raise InputError(
                f"solvers disagree, so at least one is wrong: {'; '.join(disagreements)}. Everything is "
                "kept: run the same command again with --wrong SOLVER:INSTANCE or --again SOLVER:INSTANCE, "
                "or without the solver or the instance"
            )
        return to_scenario(self.measured, names, solvers, self.cutoff, name)


def to_scenario(
    measured: Measurements, instances: list[str], solvers: list[str], cutoff: float, name: str
) -> Scenario:
    """Return measurements as a scenario; features that failed are missing values, their time counts."""
    order = sorted(instances)
    cells = [(instance, solver, measured.runs[instance, solver]) for instance in order for solver in solvers]
    runs = {
        "instance": [instance for instance, _, _ in cells],
        "algorithm": [solver for _, solver, _ in cells],
        "runtime": [run["seconds"] for _, _, run in cells],
        "status": [_status(run, cutoff) for _, _, run in cells],
    }
    known = dict.fromkeys(
        key for one in order for key in measured.features.get(one, {"values": {}})["values"]
    )
    features: dict[str, list[Any]] = {"instance": list(order)}
    for key in known:
        features[key] = [measured.features[one]["values"].get(key) for one in order]
    costs = (
        {"instance": list(order), "features": [measured.features[one]["seconds"] for one in order]}
        if known
        else None
    )
    scenario = Scenario.from_frames(runs, features, cutoff=cutoff, name=name, feature_costs=costs)
    said = {(i, s): run["answer"] for i, s, run in cells}
    truths = tuple(next((said[i, s] for s in solvers if said[i, s]), None) for i in scenario.instances)
    return replace(scenario, ground_truth={"answer": truths})


def _status(run: dict[str, Any], cutoff: float) -> str:
    """Return ASlib's status of a run, consistent with what `tailcut run` learns from it."""
    learned = Status(run["outcome"])
    if learned is Status.FAILED:
        return _FAILED.get(run["ending"], "other")
    return "ok" if learned is Status.SOLVED and run["seconds"] <= cutoff else "timeout"


def _readme(scenario: Scenario, portfolio: Portfolio, method: str, note: str) -> str:
    """Return the readme of a scenario: how it was made, on what machine, by which portfolio."""
    what = (
        "CPU seconds of the whole process tree" if portfolio.clock is Clock.CPU else "seconds of elapsed time"
    )
    lines = [
        f"{scenario.name}: {len(scenario.instances)} instances, {len(scenario.algorithms)} solvers, "
        f"cutoff {scenario.cutoff:g} s.",
        "",
        *([note, ""] if note else []),
        f"Measured with `tailcut measure` on {datetime.now(UTC):%Y-%m-%d}.",
        f"Runtimes are {what}; limits were enforced by {method}.",
        "Whether a run timed out is known from who ended it. Feature costs are those of computing all "
        "features at once.",
        f"Machine: {_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}.",
        "",
        f"The portfolio ({portfolio.file.name}):",
        "",
        *(f"    {line}".rstrip() for line in portfolio.text.splitlines()),
        "",
    ]
    return "\n".join(lines)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"
