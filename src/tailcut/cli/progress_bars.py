"""Progress on a terminal, and silence elsewhere: bars for benchmarks and reports."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from tailcut.bench.plan import Cell
from tailcut.bench.store import Result
from tailcut.report.gather import ReportProgress


def called_as() -> str:
    """Return the command line as it was typed, to be noted in result files."""
    return shlex.join(["tailcut", *sys.argv[1:]])


def say_failed(cell: Cell, result: Result) -> None:
    """Say on standard error which cell failed, and why."""
    reason = (result.error or "").strip().splitlines()[-1]
    where = f"{cell.scenario}, {cell.contender.label}, seed {cell.seed}"
    sys.stderr.write(f"failed: {where}: {reason}\n")


class ProgressBars(ReportProgress):
    """Shows bars on standard error while it is entered; what was left out is said there, too."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
        self._tasks: dict[str, TaskID] = {}

    def start(self) -> None:
        """Show the bars from here on."""
        self._bars.start()

    def stop(self) -> None:
        """Show them no longer."""
        self._bars.stop()

    def __enter__(self) -> ProgressBars:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def scenario_left_out(self, name: str, reason: str) -> None:  # noqa: ARG002 - the reason names it
        """Say why a scenario is not run."""
        sys.stderr.write(f"left out: {reason}\n")

    def cells_planned(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        """Begin the bar of instances, as far as they were served before."""
        served, total = (sum(cell.steps for cell in some) for some in (done, cells))
        self._bars.update(self._task("instances served"), completed=served, total=total)

    def cell_done(self, cell: Cell, result: Result) -> None:  # noqa: ARG002 - a failed one is done, too
        """Move on by the instances of a cell."""
        self._advance("instances served", cell.steps)

    def scenarios_planned(self, count: int) -> None:
        """Begin the bar of scenarios."""
        self._bars.update(self._task("scenarios gathered"), total=count)

    def scenario_gathered(self, name: str) -> None:  # noqa: ARG002 - only how many counts
        """Count a scenario."""
        self._advance("scenarios gathered", 1)

    def figures_planned(self, count: int) -> None:
        """Begin the bar of figures."""
        self._bars.update(self._task("figures drawn"), total=count)

    def figure_drawn(self, name: str) -> None:  # noqa: ARG002 - only how many counts
        """Count a figure."""
        self._advance("figures drawn", 1)

    def _task(self, name: str) -> TaskID:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=None)
        return self._tasks[name]

    def _advance(self, name: str, steps: int) -> None:
        self._bars.advance(self._task(name), steps)
