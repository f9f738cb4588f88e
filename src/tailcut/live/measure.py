"""Measuring a portfolio: every solver on every instance, as a scenario that ASlib tools read.

    scenario = measure_scenario(read_portfolio("portfolio.toml"), instances, Path("MINE"), cutoff=300)

Each run is stored in a state file as soon as it ends: repeating the call measures only what is missing.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tailcut import state as statefile
from tailcut.errors import InputError
from tailcut.journal import EventKind, Journal, NewEvent
from tailcut.live import engine
from tailcut.live.engine import LocalProgramExecutor, ProgramExecutor
from tailcut.live.instance_record import check_same, said, verdict
from tailcut.live.instances import FileContent, Instance
from tailcut.live.limits import Ending
from tailcut.live.observer import Totals
from tailcut.live.portfolio import Clock, Portfolio, Program, Solver
from tailcut.scenarios import Scenario
from tailcut.scenarios.description import yaml_module
from tailcut.types import Status

PROJECT = "measure"
Measured = dict[str, Any]
"""A run that was measured, with its `instance` and `solver`, or the features of an instance: no solver."""

_FAILED = {str(Ending.MEMORY_LIMIT): "memout", str(Ending.CRASHED): "crash"}
"""How a run that failed ended -> ASlib's word for it, `other` where it has none."""


class MeasureObserver:
    """Is called while a portfolio is measured; override the methods you need."""

    def started(self, done: int, total: int) -> None:
        """Handle the start: how much was measured before, and how much there is in total."""

    def measured(self, one: Measured) -> None:
        """Handle a new measurement."""

    def noted(self, words: str) -> None:
        """Handle a remark for the user: files that have changed; at the end, solvers without any answer."""


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
    engine.check_runnable(portfolio, executor)
    with (
        Journal(state or default_state(out)) as journal,
        nullcontext(executor) if executor is not None else LocalProgramExecutor.of(portfolio) as place,
    ):
        measurement = Measurement(journal, portfolio, _briefly_named(instances), cutoff)
        heard = MeasureObserver() if observer is None else observer
        for text in wrong:
            measurement.mark_wrong(*measurement.run_named(text))
        for text in again:  # an earlier measurement stays in the journal, and counts until then
            measurement.cells.pop(measurement.run_named(text), None)
        for changed in measurement.forget_changed():
            heard.noted(f"{changed} has changed since it was measured: it is measured again")
        missing = list(measurement.missing(place))
        total = len(instances) * (len(portfolio.solvers) + (portfolio.features is not None))
        heard.started(total - len(missing), total)
        engine.run_all(iter(missing), at_once=jobs, on_result=heard.measured)
        for words in measurement.silent():
            heard.noted(f"problem: {words}")
        method = place.method
    scenario = measurement.scenario(name or out.name)
    scenario.write(out)
    text = _readme(scenario, portfolio, method, note)
    statefile.write(out / "readme.txt", text.encode())
    return scenario


def default_state(out: Path) -> Path:
    return out.with_name(out.name + ".measure.db")


def _briefly_named(instances: Sequence[Instance]) -> list[Instance]:
    """Return the instances by their file names, if these are distinct."""
    names = {instance.path.name for instance in instances}
    if len(names) < len(instances):
        return list(instances)
    return [Instance(instance.path.name, instance.path) for instance in instances]


class Measurement:
    """A measurement kept in a journal: what it contains is not measured again."""

    def __init__(
        self, journal: Journal, portfolio: Portfolio, instances: Sequence[Instance], cutoff: float
    ) -> None:
        self.journal, self.portfolio, self.instances, self.cutoff = journal, portfolio, instances, cutoff
        description = {"cutoff": cutoff, "clock": portfolio.clock.value}
        if PROJECT not in journal.projects():
            journal.create(PROJECT, description)
        self._number = journal.projects()[PROJECT]
        check_same(journal, self._number, description)
        self.cells: dict[tuple[str, str | None], Any] = {
            (event.body["instance"], event.body.get("solver")): event.body
            for event in journal.events(self._number)
        }
        """(instance, solver) -> the note of a run; (instance, None) -> its features, with their seconds."""

    def run_named(self, text: str) -> tuple[str, str]:
        for solver in self.portfolio.solvers:
            for one in self.instances:
                if text == f"{solver}:{one.name}":
                    return one.name, solver
        raise InputError(f"{text!r} names no run: write SOLVER:INSTANCE, both as the scenario calls them")

    def forget_changed(self) -> list[str]:
        """Drop the measurements of files that have changed since; return their instances."""
        paths = {one.name: one.path for one in self.instances}
        known = {(name, FileContent(**body["content"])) for (name, _), body in self.cells.items()}
        gone = {name for name, content in known if name in paths and not content.is_in(paths[name])}
        self.cells = {cell: body for cell, body in self.cells.items() if cell[0] not in gone}
        return [name for name in paths if name in gone]

    def mark_wrong(self, instance: str, solver: str) -> None:
        run = self.cells.get((instance, solver))
        if run is None or run["answer"] is None:
            raise InputError(f"{solver} gave no answer to {instance}: there is nothing to mark as wrong")
        problem = f"its answer {run['answer']} was marked as wrong"
        self._keep({**run, "answer": None, "outcome": Status.FAILED.value, "problem": problem})

    def silent(self) -> list[str]:
        """Return what to say of solvers that gave no answer at all, although some of their runs finished."""
        totals = Totals()
        for instance in self.instances:
            for solver in self.portfolio.solvers:
                totals.add_run(self.cells[instance.name, solver])
        return totals.silent

    def missing(self, place: ProgramExecutor) -> Iterator[engine.Task[Measured]]:
        program = self.portfolio.features
        for instance in self.instances:
            if program is not None and (instance.name, None) not in self.cells:
                yield partial(self._features, place, program, instance)
            for solver in self.portfolio.solvers.values():
                if (instance.name, solver.name) not in self.cells:
                    yield partial(self._run, place, solver, instance)

    async def _features(self, place: ProgramExecutor, program: Program, instance: Instance) -> Measured:
        run = place.start(engine.features_job(self.portfolio, program, instance, self.cutoff))
        computed = await engine.computed_features(self.portfolio, run)
        return self._keep(computed.body(instance))

    async def _run(self, place: ProgramExecutor, solver: Solver, instance: Instance) -> Measured:
        run = place.start(engine.solver_job(self.portfolio, solver, instance, self.cutoff))
        result = await engine.solver_result(place, self.portfolio, solver, instance, run)
        note = {**result.note, "outcome": result.outcome.status.value}
        note["content"] = FileContent.of(instance.path)._asdict()
        return self._keep({"instance": instance.name, "solver": solver.name, **note})

    def _keep(self, body: Measured) -> Measured:
        kind = EventKind.RUN if "solver" in body else EventKind.FEATURES
        self.journal.append(self._number, [NewEvent(kind, body)])
        self.cells[body["instance"], body.get("solver")] = body
        return body

    def scenario(self, name: str) -> Scenario:
        """Return the measurements; failed features are missing values in them, and contradictions errors."""
        order, solvers = sorted(one.name for one in self.instances), list(self.portfolio.solvers)
        by_instance = {one: [self.cells[one, solver] for solver in solvers] for one in order}
        cells = [run for runs in by_instance.values() for run in runs]
        disagreements = [
            f"{one}: {said(runs)}" for one, runs in by_instance.items() if verdict(runs).involved
        ]
        if disagreements:
            raise InputError(
                f"solvers disagree, so at least one is wrong: {'; '.join(disagreements)}. Everything is "
                "kept: run the same command again with --wrong SOLVER:INSTANCE or --again SOLVER:INSTANCE, "
                "or without the solver or the instance"
            )
        runs = {
            "instance": [run["instance"] for run in cells],
            "algorithm": [run["solver"] for run in cells],
            "runtime": [run["seconds"] for run in cells],
            "status": [_status(run, self.cutoff) for run in cells],
        }
        values = [self.cells.get((one, None), {"values": {}})["values"] for one in order]
        known = dict.fromkeys(key for row in values for key in row)
        features: dict[str, list[Any]] = {"instance": list(order)}
        features.update({key: [row.get(key) for row in values] for key in known})
        costs = None
        if known:
            seconds = [self.cells[one, None]["seconds"] for one in order]
            costs = {"instance": list(order), "features": seconds}
        made = Scenario.from_frames(runs, features, cutoff=self.cutoff, name=name, feature_costs=costs)
        answers = {one: [run["answer"] for run in runs if run["answer"]] for one, runs in by_instance.items()}
        truths = tuple(next(iter(answers[one]), None) for one in made.instances)
        return replace(made, ground_truth={"answer": truths})


def _status(run: dict[str, Any], cutoff: float) -> str:
    """Return ASlib's status of a run, consistent with what `tailcut run` learns from it."""
    learned = Status(run["outcome"])
    if learned is Status.FAILED:
        return _FAILED.get(run["ending"], "other")
    return "ok" if learned is Status.SOLVED and run["seconds"] <= cutoff else "timeout"


def _readme(scenario: Scenario, portfolio: Portfolio, method: str, note: str) -> str:
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
