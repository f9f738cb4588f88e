"""Progress of benchmarks and reports: bars on a terminal, silence elsewhere."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Self

from rich.progress import TaskID

from tailcut.bench.plan import Cell
from tailcut.bench.store import Result
from tailcut.cli.views import bars_on_stderr
from tailcut.report.gather import ReportProgress


def called_as() -> str:
    """Return the command line as it was typed, to be noted in result files."""
    return shlex.join(["tailcut", *sys.argv[1:]])


class ProgressBars(ReportProgress):
    """Bars of benchmarks and reports on standard error, which also says what was left out or failed."""

    def __init__(self) -> None:
        self._bars = bars_on_stderr()
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bars.stop()

    def scenario_left_out(self, name: str, reason: str) -> None:  # noqa: ARG002 - the reason names it
        sys.stderr.write(f"left out: {reason}\n")

    def cells_planned(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        served, total = (sum(cell.steps for cell in some) for some in (done, cells))
        self._bars.update(self._task("instances served"), completed=served, total=total)

    def cell_done(self, cell: Cell, result: Result) -> None:
        self._bars.advance(self._task("instances served"), cell.steps)
        if result.error is not None:
            reason = result.error.strip().splitlines()[-1]
            where = f"{cell.scenario}, {cell.contender.label}, seed {cell.seed}"
            sys.stderr.write(f"failed: {where}: {reason}\n")

    def proceeded(self, what: str, done: int, total: int) -> None:
        self._bars.update(self._task(what), completed=done, total=total)

    def _task(self, name: str) -> TaskID:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=None)
        return self._tasks[name]
