"""``tailcut run --check``: whether every solver of a portfolio starts, answers, and answers right."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tailcut.errors import InputError
from tailcut.live.check import Tried, attempts, silent
from tailcut.live.instances import Instance, instances_in
from tailcut.live.local import LocalRuns
from tailcut.live.portfolio import Portfolio
from tailcut.live.work import drive


def check(portfolio: Portfolio, given: list[str], *, as_json: bool) -> int:
    """Try the portfolio, print what came of it, and return the exit code: 0 if all is well, else 1."""
    tiny: list[tuple[Instance, str | None]] = [
        (one, None) for one in instances_in(given, portfolio.instances)
    ]
    if not tiny:
        tiny = [(_named(path), answer) for path, answer in portfolio.check]
    if not tiny:
        raise InputError(
            f"{portfolio.file}: nothing to try the solvers on: give an instance after the portfolio, "
            "or write [check] instance = ..."
        )
    found: list[Tried] = []
    with LocalRuns(1, portfolio.preload, portfolio.folder) as runs:
        drive(attempts(portfolio, tiny), runs.submit, at_once=1, on_result=found.append)
        method = runs.method
    if as_json:
        typer.echo(json.dumps({"limits": method, "tried": [asdict(one) for one in found]}, indent=2))
    else:
        _print(found, method)
    mute = silent(portfolio, found)
    if mute:
        sys.stderr.write(f"no answer at all: {', '.join(mute)}\n")
    return 1 if mute or any(one.problem for one in found) else 0


def _named(path: Path) -> Instance:
    if not path.is_file():
        raise InputError(f"{path}: there is no such instance to check with")
    return Instance(path.name, path.absolute())


def _print(found: list[Tried], method: str) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("", "program", "instance", "seconds", "answer"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "seconds" else "left")
    table.add_column("problem")
    for one in found:
        mark = "[red]x[/]" if one.problem else "[green]ok[/]"
        row = (one.program, one.instance, f"{one.seconds:.3f}", one.answer or one.ending, one.problem or "")
        table.add_row(mark, *row)
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    typer.echo(f"limits are enforced by {method}")
