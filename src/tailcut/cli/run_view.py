"""What ``tailcut run`` looks like while it runs: a table that moves in a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tailcut.display import counted
from tailcut.journal.past_runs import WarmStart
from tailcut.live.answers_file import answer_line
from tailcut.live.instance_record import InstanceRecord
from tailcut.live.observer import StreamObserver
from tailcut.live.printable import printable
from tailcut.live.totals import Totals

if TYPE_CHECKING:
    from tailcut.live.check import PortfolioCheck, Tried


class QuietView(StreamObserver):
    """Says on standard error only what changed since the state file was written; the others say more."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.n_instances: int | None = None

    def solver_added(self, solver: str) -> None:
        """Print a line."""
        _say(f"new solver {solver}")

    def solver_removed(self, solver: str) -> None:
        """Print a line."""
        _say(f"solver {solver} is not in the portfolio any more")

    def solver_put_aside(self, solver: str, words: str) -> None:  # noqa: ARG002
        """Print a line that stands out."""
        _say(f"WARNING: {words}")

    def instance_again(self, instance: str, words: str) -> None:
        """Print a line."""
        _say(f"{instance} is run again: {words}")

    def warm_started(self, report: WarmStart) -> None:
        """Print what was learned, and what was left over."""
        for line in report.words():
            _say(line)

    def instance_changed(self, instance: str) -> None:
        """Print a line."""
        _say(f"{instance} has changed since it was run: it is run again")

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        """Print a line if there is something to continue."""
        self.totals, self.n_instances = totals, n_instances
        if totals.over:
            _say(f"continuing: {counted(totals.over, 'instance')} complete")

    def outputs_missing(self, count: int, folder: Path) -> None:
        """Print a line."""
        _say(
            f"{count} instances were answered before and have no output in {folder}: "
            "what a solver printed cannot be kept afterwards"
        )

    def __enter__(self) -> QuietView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class JsonView(QuietView):
    """Prints the answers on standard output, as they come, after what was learned from recorded runs."""

    def warm_started(self, report: WarmStart) -> None:
        """Print a line for programs, too."""
        super().warm_started(report)
        sys.stdout.write(json.dumps({"warm_start": report.as_dict()}) + "\n")
        sys.stdout.flush()

    def instance_over(self, record: InstanceRecord) -> None:
        """Print its line."""
        sys.stdout.write(answer_line(record) + "\n")
        sys.stdout.flush()


class LinesView(QuietView):
    """Prints a line per instance that is over."""

    def instance_over(self, record: InstanceRecord) -> None:
        """Print its line."""
        over = self.totals.over
        _say(f"{f'{over}/{self.n_instances}' if self.n_instances else over} {one_line(record)}")


class TableView(QuietView):
    """Draws a table several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._latest: list[str] = []
        self._live = Live(get_renderable=self._draw, console=Console(stderr=True), refresh_per_second=8)

    def stream_started(self, totals: Totals, n_instances: int | None) -> None:
        """Begin to draw."""
        super().stream_started(totals, n_instances)
        self._live.start()

    def instance_over(self, record: InstanceRecord) -> None:
        """Show it among the latest; the rest is drawn from the totals."""
        self._latest = [*self._latest[-4:], one_line(record)]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.totals.current.clear()
        self._live.stop()

    def _draw(self) -> RenderableType:
        parts: list[RenderableType] = [Text(headline(self.totals, self.n_instances), style="bold")]
        parts += [Text(f"  {line}", style="dim", overflow="ellipsis", no_wrap=True) for line in self._latest]
        parts += [self._now(), solver_table(self.totals)]
        return Group(*parts)

    def _now(self) -> RenderableType:
        """Return what runs at this moment; the dict is copied, for another thread draws than counts."""
        table = Table.grid(padding=(0, 2))
        for name, step in list(self.totals.current.items()):
            ran = self.totals.clock() - step.since
            limit = "" if step.budget is None else f" of {step.budget:.3g} s"
            instance = Text(printable(name), overflow="ellipsis", no_wrap=True)
            table.add_row("▶", instance, Text(printable(step.solver or "features")), f"{ran:.1f}{limit}")
        return table


def progress_view() -> QuietView:
    """Return the view that suits standard error: a table in a terminal, else lines."""
    return TableView() if sys.stderr.isatty() else LinesView()


def headline(totals: Totals, n_instances: int | None) -> str:
    """Return the state of a stream in one line."""
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


def one_line(record: InstanceRecord) -> str:
    """Return what became of an instance, in one line.

    >>> record = InstanceRecord("a.cnf", closed=True, runs=[
    ...     {"solver": "kissat", "budget": 1, "seconds": 1, "ending": "cpu limit", "answer": None},
    ...     {"solver": "minisat", "budget": 9, "seconds": 2.5, "ending": "finished", "answer": "SAT"}])
    >>> one_line(record)
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
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("solver", no_wrap=True)
    for heading in ("runs", "solved", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    solvers = sorted(totals.solvers.items(), key=lambda item: -item[1].seconds)
    for name, one in solvers:
        table.add_row(Text(printable(name)), str(one.runs), str(one.solved), f"{one.seconds:.1f}")
    if totals.extra_runs:
        table.add_row("(measuring)", str(totals.extra_runs), "", f"{totals.extra_seconds:.1f}")
    if totals.opinion_runs:
        table.add_row("(second opinions)", str(totals.opinion_runs), "", f"{totals.opinion_seconds:.1f}")
    if totals.feature_seconds:
        table.add_row("(features)", "", "", f"{totals.feature_seconds:.1f}")
    return table


def print_totals(totals: Totals, as_json: bool) -> None:
    """Print what came of it, unless a program reads."""
    if totals.skipped:
        sys.stderr.write(
            f"skipped {counted(totals.skipped, 'completed instance')} whose files have not changed\n"
        )
    for problem in [*totals.problems, *map(str, totals.silent)]:
        sys.stderr.write(f"problem: {printable(problem)}\n")
    if as_json:
        if totals.rated:
            typer.echo(json.dumps({"rated": {"runs": totals.rated, "loss": totals.loss / totals.rated}}))
        if totals.measured:
            found = {"instances": len(totals.measured), "extra_runs": totals.extra_runs}
            typer.echo(json.dumps({"measured": {**found, "extra_seconds": totals.extra_seconds}}))
        if totals.raced:
            raced = {"instances": totals.raced, "cpu": totals.cpu, "wall": totals.wall}
            typer.echo(json.dumps({"raced": raced}))
        return
    typer.echo(headline(totals, None))
    Console(width=None if sys.stdout.isatty() else 100).print(solver_table(totals))


def print_check(checked: PortfolioCheck, as_json: bool) -> None:
    """Print which programs work, and what is wrong with the others."""
    if as_json:
        tried = [asdict(one) for one in checked.tried]
        typer.echo(json.dumps({"limits": checked.method, "tried": tried}, indent=2))
    else:
        Console(width=None if sys.stdout.isatty() else 140).print(_check_table(checked.tried))
        typer.echo(f"limits are enforced by {checked.method}")
    if checked.silent:
        sys.stderr.write(f"no answer at all: {', '.join(checked.silent)}\n")
    for note in checked.notes:
        _say(f"note: {note}")


def _check_table(tried: tuple[Tried, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("", "program", "instance", "seconds", "answer"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "seconds" else "left")
    table.add_column("problem")
    for one in tried:
        mark = "[red]x[/]" if one.problem else "[green]ok[/]"
        row = (one.program, one.instance, f"{one.seconds:.3f}", one.answer or one.ending, one.problem or "")
        table.add_row(mark, *(Text(printable(word)) for word in row))
    return table


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")
