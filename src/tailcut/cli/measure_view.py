"""What ``tailcut measure`` looks like while it runs."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tailcut.live.instances import printable
from tailcut.live.measure import Measured, MeasureObserver
from tailcut.live.observer import SilentSolver


class MeasureView(MeasureObserver):
    """A progress bar on a terminal, elsewhere a line for every hundredth; problems are printed anywhere."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs, left"),
            TimeRemainingColumn(),
        )
        self._lines = not sys.stderr.isatty()
        self._progress = Progress(*columns, console=Console(stderr=True), disable=self._lines)
        self._task = self._progress.add_task("measure", total=None)
        self._done = self._total = 0

    def started(self, done: int, total: int) -> None:
        """Begin the bar, or say how far it was measured before."""
        self._done, self._total = done, total
        self._progress.update(self._task, completed=done, total=total)
        if self._lines:
            sys.stderr.write(f"measured before: {done} of {total} runs\n")

    def instance_changed(self, instance: str) -> None:
        """Say that it is measured again."""
        sys.stderr.write(f"{printable(instance)} has changed since it was measured: it is measured again\n")

    def solver_silent(self, one: SilentSolver) -> None:
        """Say which solver gave no answer, and what it printed."""
        sys.stderr.write(f"problem: {printable(str(one))}\n")

    def measured(self, one: Measured) -> None:
        """Count a run, and say what was wrong with it."""
        self._done += 1
        self._progress.advance(self._task)
        every = max(1, self._total // 100)
        if self._lines and (self._done % every == 0 or self._done == self._total):
            sys.stderr.write(f"measured: {self._done} of {self._total} runs\n")
        if one.problem:
            who = f"{one.solver}: " if one.solver else ""
            sys.stderr.write(f"problem: {printable(f'{one.instance}: {who}{one.problem}')}\n")

    def __enter__(self) -> MeasureView:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
