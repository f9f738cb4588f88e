"""What commands that run solvers show, moving in a terminal and lines elsewhere; and tables."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich import progress
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tailcut.display import counted
from tailcut.journal.past_runs import WarmStart
from tailcut.live.instance_record import InstanceRecord
from tailcut.live.instances import printable
from tailcut.live.measure import Measured, MeasureObserver
from tailcut.live.observer import StreamObserver, Totals
from tailcut.live.stream import answer_line

if TYPE_CHECKING:
    from tailcut.live.check import PortfolioCheck


def output(width: int = 100) -> Console:
    """Return standard output, as wide as the terminal, or of a fixed width where there is none."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False)


def plain_table(*headings: str, title: str | None = None) -> Table:
    """Return a table without lines: names, which may wrap, then numbers, which do not."""
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def bars_on_stderr(*columns: progress.ProgressColumn) -> progress.Progress:
    """Return progress bars on standard error, with counts by default; hidden where that is no terminal."""
    usual = (*progress.Progress.get_default_columns(), progress.MofNCompleteColumn())
    hidden = not sys.stderr.isatty()
    return progress.Progress(*columns or usual, console=Console(stderr=True), disable=hidden)


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")


class MeasureView(MeasureObserver, AbstractContextManager["MeasureView"]):
    """A progress bar on a terminal, elsewhere a line for every hundredth; problems are printed anywhere."""

    def __init__(self) -> None:
        self._lines = not sys.stderr.isatty()
        self._progress = bars_on_stderr()
        self._task = self._progress.add_task("measure", total=None)
        self._done = self._total = 0

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def started(self, done: int, total: int) -> None:
        self._progress.start()
        self._done, self._total = done, total
        self._progress.update(self._task, completed=done, total=total)
        if self._lines:
            _say(f"measured before: {done} of {total} runs")

    def noted(self, words: str) -> None:
        _say(words)

    def measured(self, one: Measured) -> None:
        self._done += 1
        self._progress.advance(self._task)
        every = max(1, self._total // 100)
        if self._lines and (self._done % every == 0 or self._done == self._total):
            _say(f"measured: {self._done} of {self._total} runs")
        if one.get("problem"):
            who = f"{one['solver']}: " if "solver" in one else ""
            _say(f"problem: {one['instance']}: {who}{one['problem']}")


class QuietView(StreamObserver, AbstractContextManager["QuietView"]):
    """Says on standard error only what changed since the state file was written; the others say more."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.n_instances: int | None = None

    def __exit__(self, *_error: object) -> None:
        pass

    def solver_added(self, solver: str) -> None:
        _say(f"new solver {solver}")

    def solver_removed(self, solver: str) -> None:
        _say(f"solver {solver} is not in the portfolio any more")

    def solver_quarantined(self, solver: str, words: str) -> None:  # noqa: ARG002
        _say(f"WARNING: {words}")

    def noted(self, words: str) -> None:
        _say(words)

    def warm_started(self, report: WarmStart) -> None:
        for line in report.describe():
            _say(line)

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        self.totals, self.n_instances = totals, n_instances
        if totals.over:
            _say(f"continuing: {counted(totals.over, 'instance')} complete")


class JsonView(QuietView):
    """Prints the answers on standard output, as they come, after what was learned from recorded runs."""

    def warm_started(self, report: WarmStart) -> None:
        super().warm_started(report)
        typer.echo(json.dumps({"warm_start": report.as_dict()}))

    def instance_over(self, record: InstanceRecord) -> None:
        typer.echo(answer_line(record))


class LinesView(QuietView):
    """Prints a line per instance that is over."""

    def instance_over(self, record: InstanceRecord) -> None:
        over = self.totals.over
        _say(f"{f'{over}/{self.n_instances}' if self.n_instances else over} {instance_line(record)}")


class TableView(QuietView):
    """Draws a table several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._latest: list[str] = []
        self._live = Live(get_renderable=self._draw, console=Console(stderr=True), refresh_per_second=8)

    def __exit__(self, *_error: object) -> None:
        self.totals.current.clear()
        self._live.stop()

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        super().stream_started(totals, n_instances)
        self._live.start()

    def instance_over(self, record: InstanceRecord) -> None:
        self._latest = [*self._latest[-4:], instance_line(record)]

    def _draw(self) -> RenderableType:
        parts: list[RenderableType] = [Text(headline(self.totals, self.n_instances), style="bold")]
        parts += [Text(f"  {line}", style="dim", overflow="ellipsis", no_wrap=True) for line in self._latest]
        return Group(*parts, self._running(), solver_table(self.totals))

    def _running(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        running = list(self.totals.current.items())  # a copy: another thread changes it
        for (name, solver), (budget, began) in running:
            ran = self.totals.clock() - began
            limit = "" if budget is None else f" of {budget:.3g} s"
            instance = Text(printable(name), overflow="ellipsis", no_wrap=True)
            table.add_row("▶", instance, Text(printable(solver or "features")), f"{ran:.1f}{limit}")
        return table


def progress_view() -> QuietView:
    """Return the view that suits standard error: a table in a terminal, else lines."""
    return TableView() if sys.stderr.isatty() else LinesView()


def headline(totals: Totals, n_instances: int | None) -> str:
    done = (f"{totals.over} of " if n_instances else "") + counted(n_instances or totals.over, "instance")
    line = f"{done}: {totals.solved} solved, {totals.unsolved} not, {totals.seconds:.1f} s"
    if totals.raced:
        line += f" ({totals.raced} raced: {totals.cpu:.1f} s of CPU time, {totals.wall:.1f} s of wall time)"
    if totals.rated:
        line += f"; mean loss {totals.loss / totals.rated:.4f}"
    if totals.measured:
        line += f"; {totals.extra_seconds:.1f} s extra to measure {len(totals.measured)} of them"
    if totals.opinion_runs:
        line += f"; {totals.opinion_seconds:.1f} s extra for {totals.opinion_runs} second opinions"
    return line


def instance_line(record: InstanceRecord) -> str:
    """Return what became of an instance.

    >>> record = InstanceRecord("a.cnf", closed=True, runs=[
    ...     {"solver": "kissat", "budget": 1, "seconds": 1, "ending": "cpu limit", "answer": None},
    ...     {"solver": "minisat", "budget": 9, "seconds": 2.5, "ending": "finished", "answer": "SAT"}])
    >>> instance_line(record)
    'a.cnf: SAT in 3.50 s (kissat 1.00 s cpu limit, minisat 2.50 s)'
    """
    shown = list(record.runs)
    if record.answering is not None and record.answering not in shown:
        shown.append(record.answering)  # it was made to measure
    runs = ", ".join(
        f"{run['solver']} {run['seconds']:.2f} s{'' if run['answer'] else ' ' + run['ending']}"
        for run in shown
    )
    answer = record.answer or "unsolved"
    return printable(f"{record.instance}: {answer} in {record.seconds:.2f} s ({runs or record.problem})")


def solver_table(totals: Totals) -> Table:
    """Return what each solver did, those that took most time first."""
    table = plain_table("solver", "runs", "solved", "seconds")
    for name, one in sorted(totals.solvers.items(), key=lambda item: -item[1].seconds):
        table.add_row(Text(printable(name)), str(one.runs), str(one.solved), f"{one.seconds:.1f}")
    if totals.extra_runs:
        table.add_row("(measuring)", str(totals.extra_runs), "", f"{totals.extra_seconds:.1f}")
    if totals.opinion_runs:
        table.add_row("(second opinions)", str(totals.opinion_runs), "", f"{totals.opinion_seconds:.1f}")
    if totals.feature_seconds:
        table.add_row("(features)", "", "", f"{totals.feature_seconds:.1f}")
    return table


def print_totals(totals: Totals, as_json: bool) -> None:
    """Print what came of a stream; for a program, only what its answers do not say."""
    if totals.skipped:
        _say(f"skipped {counted(totals.skipped, 'completed instance')} whose files have not changed")
    for problem in [*totals.problems, *totals.silent]:
        _say(f"problem: {problem}")
    if not as_json:
        typer.echo(headline(totals, None))
        output().print(solver_table(totals))
        return
    if totals.rated:
        typer.echo(json.dumps({"rated": {"runs": totals.rated, "loss": totals.loss / totals.rated}}))
    if totals.measured:
        found = {"instances": len(totals.measured), "extra_runs": totals.extra_runs}
        typer.echo(json.dumps({"measured": {**found, "extra_seconds": totals.extra_seconds}}))
    if totals.raced:
        raced = {"instances": totals.raced, "cpu": totals.cpu, "wall": totals.wall}
        typer.echo(json.dumps({"raced": raced}))


def print_check(checked: PortfolioCheck, as_json: bool) -> None:
    """Print which programs work, and what is wrong with the others."""
    if as_json:
        tried = [asdict(one) for one in checked.tried]
        typer.echo(json.dumps({"limits": checked.method, "tried": tried}, indent=2))
    else:
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for heading in ("", "program", "instance", "seconds", "answer"):
            table.add_column(heading, no_wrap=True, justify="right" if heading == "seconds" else "left")
        table.add_column("problem")
        for one in checked.tried:
            mark = "[red]x[/]" if one.problem else "[green]ok[/]"
            row = (one.program, one.instance, f"{one.seconds:.3f}", one.answer or one.ending, one.problem)
            table.add_row(mark, *(Text(printable(word or "")) for word in row))
        output(140).print(table)
        typer.echo(f"limits are enforced by {checked.method}")
    if checked.silent:
        sys.stderr.write(f"no answer at all: {', '.join(checked.silent)}\n")
    for note in checked.notes:
        _say(f"note: {note}")
