"""Measuring a portfolio: every solver on every instance, as a scenario that ASlib tools read.

    scenario = measure_scenario(read_portfolio("portfolio.toml"), instances, Path("MINE"), cutoff=300)

Each run is stored in a state file as soon as it ends: repeating the call measures only what is missing.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from tailcut import state as statefile
from tailcut.errors import InputError
from tailcut.journal import Journal
from tailcut.live.instances import Instance
from tailcut.live.local_executor import LocalProgramExecutor
from tailcut.live.measurement import Measured, Measurement, RunName
from tailcut.live.outcomes import SilentSolver
from tailcut.live.portfolio import Clock, Portfolio
from tailcut.live.runnable import check_runnable
from tailcut.live.workflows import ProgramExecutor, run_workflows
from tailcut.scenarios import Scenario
from tailcut.scenarios.description import yaml_module


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
        nullcontext(executor) if executor is not None else LocalProgramExecutor.of(portfolio, jobs) as place,
    ):
        measurement = Measurement(journal, portfolio, cutoff)
        names, heard = [one.name for one in instances], MeasureObserver() if observer is None else observer
        for text in wrong:
            measurement.mark_wrong(RunName.parse(text, portfolio.solvers, names))
        for text in again:
            measurement.measure_again(RunName.parse(text, portfolio.solvers, names))
        for changed in measurement.forget_changed(instances):
            heard.instance_changed(changed)
        _measure(measurement, instances, place, jobs, heard)
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


def _measure(
    measurement: Measurement,
    instances: Sequence[Instance],
    executor: ProgramExecutor,
    jobs: int,
    observer: MeasureObserver,
) -> None:
    portfolio = measurement.portfolio
    per_instance = len(portfolio.solvers) + (portfolio.features is not None)
    observer.started(measurement.done(instances), len(instances) * per_instance)
    run_workflows(measurement.missing(instances), executor, at_once=jobs, on_result=observer.measured)


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
    """Return the processor's name, if the system reports it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"
