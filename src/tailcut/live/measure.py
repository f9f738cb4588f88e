"""Measuring a portfolio: every solver on every instance, as a scenario that ASlib tools read.

    scenario = measure_scenario(read_portfolio("portfolio.toml"), instances, Path("MINE"), cutoff=300)

Each run is stored in a state file as soon as it ends: repeating the call measures only what is missing.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
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
from tailcut.live.observer import SilentSolver, Totals
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
            measurement.mark_wrong(*_measured_run(text, portfolio.solvers, names))
        for text in again:  # an earlier measurement stays in the journal, and counts until then
            measurement.runs.pop(_measured_run(text, portfolio.solvers, names), None)
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


def _measured_run(text: str, solvers: Iterable[str], instances: Iterable[str]) -> tuple[str, str]:
    """Return the instance and the solver of the run that `SOLVER:INSTANCE` names.

    >>> _measured_run("kissat:a:b.cnf", ["kissat"], ["a:b.cnf"])
    ('a:b.cnf', 'kissat')
    """
    known = list(instances)
    for solver in solvers:
        if text.startswith(f"{solver}:") and text[len(solver) + 1 :] in known:
            return text[len(solver) + 1 :], solver
    raise InputError(f"{text!r} names no run: write SOLVER:INSTANCE, both as the scenario calls them")


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
        self.runs: dict[tuple[str, str], dict[str, Any]] = {}
        """(instance, solver) -> the note of the run."""
        self.features: dict[str, dict[str, Any]] = {}
        """Instance -> values, seconds and, if any, the problem."""
        for event in journal.events(self._number):
            self._add(event.kind, event.body)

    def _add(self, kind: EventKind, body: dict[str, Any]) -> None:
        if kind is EventKind.RUN:
            self.runs[body["instance"], body["solver"]] = body
        else:
            self.features[body["instance"]] = body

    def forget_changed(self, instances: Iterable[Instance]) -> list[str]:
        """Drop the measurements of files that have changed since; return their instances."""
        contents: dict[str, set[FileContent]] = {}
        for body in (*self.runs.values(), *self.features.values()):
            contents.setdefault(body["instance"], set()).add(FileContent(**body["content"]))
        changed = [
            one.name
            for one in instances
            if not all(content.is_in(one.path) for content in contents.get(one.name, ()))
        ]
        gone = set(changed)
        self.features = {name: body for name, body in self.features.items() if name not in gone}
        self.runs = {cell: body for cell, body in self.runs.items() if cell[0] not in gone}
        return changed

    def mark_wrong(self, instance: str, solver: str) -> None:
        """Mark the answer of a run as wrong: it counts as failed."""
        run = self.runs.get((instance, solver))
        if run is None or run["answer"] is None:
            raise InputError(f"{solver} gave no answer to {instance}: there is nothing to mark as wrong")
        problem = f"its answer {run['answer']} was marked as wrong"
        body = {**run, "answer": None, "outcome": Status.FAILED.value, "problem": problem}
        self._keep(EventKind.RUN, body)

    def done(self, instances: Iterable[Instance]) -> int:
        """Return how many of the measurements of these instances are done."""
        names = {one.name for one in instances}
        runs = sum(name in names and solver in self.portfolio.solvers for name, solver in self.runs)
        wanted = self.portfolio.features is not None
        return runs + sum(name in names for name in self.features if wanted)

    def silent(self, instances: Iterable[Instance]) -> list[SilentSolver]:
        """Return the solvers that gave no answer at all, although some of their runs finished."""
        names, totals = {one.name for one in instances}, Totals()
        for (name, solver), run in self.runs.items():
            if name in names and solver in self.portfolio.solvers:
                totals.add_run(run)
        return totals.silent

    def missing(
        self, instances: Iterable[Instance], place: ProgramExecutor
    ) -> Iterator[Callable[[], Coroutine[Any, Any, Measured]]]:
        program = self.portfolio.features
        for instance in instances:
            if program is not None and instance.name not in self.features:
                yield partial(self._features, place, program, instance)
            for solver in self.portfolio.solvers.values():
                if (instance.name, solver.name) not in self.runs:
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
        self._add(kind, body)
        return Measured(body["instance"], body.get("solver"), body.get("problem"))

    def scenario(self, instances: Iterable[Instance], name: str) -> Scenario:
        """Return the measurements of these instances as a scenario; raise on contradictions.

        Features that failed are missing values, and their time counts.
        """
        order, solvers = sorted(one.name for one in instances), list(self.portfolio.solvers)
        cells = [(one, solver, self.runs[one, solver]) for one in order for solver in solvers]
        said: dict[str, dict[str, str]] = {one: {} for one in order}
        for one, solver, run in cells:
            if run["answer"] is not None:
                said[one][solver] = run["answer"]
        if disagreements := contradictions(said):
            raise InputError(
                f"solvers disagree, so at least one is wrong: {'; '.join(disagreements)}. Everything is "
                "kept: run the same command again with --wrong SOLVER:INSTANCE or --again SOLVER:INSTANCE, "
                "or without the solver or the instance"
            )
        runs = {
            "instance": [one for one, _, _ in cells],
            "algorithm": [solver for _, solver, _ in cells],
            "runtime": [run["seconds"] for _, _, run in cells],
            "status": [_status(run, self.cutoff) for _, _, run in cells],
        }
        values = [self.features.get(one, {"values": {}})["values"] for one in order]
        known = dict.fromkeys(key for row in values for key in row)
        features: dict[str, list[Any]] = {"instance": list(order)}
        features.update({key: [row.get(key) for row in values] for key in known})
        costs = None
        if known:
            seconds = [self.features[one]["seconds"] for one in order]
            costs = {"instance": list(order), "features": seconds}
        made = Scenario.from_frames(runs, features, cutoff=self.cutoff, name=name, feature_costs=costs)
        truths = tuple(next(iter(said[one].values()), None) for one in made.instances)
        return replace(made, ground_truth={"answer": truths})


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
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    lines = [
        f"{scenario.name}: {len(scenario.instances)} instances, {len(scenario.algorithms)} solvers, "
        f"cutoff {scenario.cutoff:g} s.",
        "",
        *([note, ""] if note else []),
        f"Measured with `tailcut measure` on {datetime.now(UTC):%Y-%m-%d}.",
        f"Runtimes are {what}; limits were enforced by {method}.",
        "Whether a run timed out is known from who ended it. Feature costs are those of computing all "
        "features at once.",
        f"Machine: {_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory, {platform.system()} "
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
