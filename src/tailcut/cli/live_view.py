"""What a run looks like while it goes on: a table that moves in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tailcut.live.course import Course
from tailcut.live.engine import News
from tailcut.live.tally import Tally


class View(Protocol):
    """Shows what happens."""

    def take(self, news: News) -> None:
        """Show one thing that happened."""
        ...

    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def view_of(tally: Tally, total: int | None, *, quiet: bool = False) -> View:
    """Return the view that suits standard error: moving in a terminal, else lines, or nothing."""
    if not quiet and sys.stderr.isatty():
        return MovingView(tally, total)
    return PlainView(tally, total, silent=quiet)


class PlainView:
    """One line per instance that is over."""

    def __init__(self, tally: Tally, total: int | None, *, silent: bool = False) -> None:
        self.tally, self.total, self.silent = tally, total, silent

    def take(self, news: News) -> None:
        """Count, and print a line if an instance is over."""
        self.tally.take(news)
        if news.kind == "over" and not self.silent:
            number = f"{self.tally.over}/{self.total}" if self.total else str(self.tally.over)
            sys.stderr.write(f"{number} {one_line(news.course)}\n")

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class MovingView:
    """A table drawn anew several times a second."""

    def __init__(self, tally: Tally, total: int | None) -> None:
        self.tally, self.total = tally, total
        self._latest: list[str] = []
        console = Console(stderr=True)
        self._live = Live(get_renderable=self._draw, console=console, refresh_per_second=8)

    def take(self, news: News) -> None:
        """Count; what is shown follows by itself."""
        self.tally.take(news)
        if news.kind == "over":
            self._latest = [*self._latest[-4:], one_line(news.course)]

    def __enter__(self) -> MovingView:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tally.current.clear()
        self._live.__exit__(kind, error, trace)

    def _draw(self) -> RenderableType:
        parts: list[RenderableType] = [Text(headline(self.tally, self.total), style="bold")]
        parts += [Text(f"  {line}", style="dim", overflow="ellipsis", no_wrap=True) for line in self._latest]
        parts += [self._now(), solver_table(self.tally)]
        return Group(*parts)

    def _now(self) -> RenderableType:
        """Return what runs at this moment; the dict is copied, for another thread draws than counts."""
        table = Table.grid(padding=(0, 2))
        for name, current in list(self.tally.current.items()):
            ran = self.tally.clock() - current.since
            limit = "" if current.budget is None else f" of {current.budget:.3g} s"
            table.add_row(
                "▶", Text(name, overflow="ellipsis", no_wrap=True), current.doing, f"{ran:.1f}{limit}"
            )
        return table


def headline(tally: Tally, total: int | None) -> str:
    """Return the state of a run in one line."""
    done = f"{tally.over} of {total}" if total else str(tally.over)
    return f"{done} instances: {tally.solved} solved, {tally.unsolved} not, {tally.seconds:.1f} s"


def one_line(course: Course) -> str:
    """Return what became of an instance, in one line.

    >>> course = Course("a.cnf", over=True, runs=[
    ...     {"solver": "kissat", "seconds": 1.0, "ending": "cpu limit", "answer": None},
    ...     {"solver": "minisat", "seconds": 2.5, "ending": "finished", "answer": "SATISFIABLE"}])
    >>> one_line(course)
    'a.cnf: SATISFIABLE in 3.50 s (kissat 1.00 s cpu limit, minisat 2.50 s)'
    """
    runs = ", ".join(
        f"{run['solver']} {run['seconds']:.2f} s{'' if run['answer'] else ' ' + str(run['ending'])}"
        for run in course.runs
    )
    answer = course.answer or "unsolved"
    return f"{course.instance}: {answer} in {course.seconds:.2f} s ({runs or course.problem})"


def solver_table(tally: Tally) -> Table:
    """Return what each solver did, those that took most time first."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("solver", no_wrap=True)
    for heading in ("runs", "solved", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    shares = sorted(tally.solvers.items(), key=lambda item: -item[1].seconds)
    for name, share in shares:
        table.add_row(name, str(share.runs), str(share.solved), f"{share.seconds:.1f}")
    if tally.feature_seconds:
        table.add_row("(features)", "", "", f"{tally.feature_seconds:.1f}")
    return table
