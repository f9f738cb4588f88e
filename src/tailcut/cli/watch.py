"""``tailcut watch``: a run, shown as it happens."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailcut.cli.options import JSON, stoppable

if TYPE_CHECKING:
    from tailcut.live.monitor import RunProgress


def command(
    state: Path = typer.Argument(..., metavar="STATE"),
    project: str | None = typer.Option(None, metavar="NAME"),
    every: float = typer.Option(1.0, min=0.1, metavar="S"),
    once: bool = typer.Option(False, "--once"),
    as_json: JSON = False,
) -> None:
    """Show a run as it happens: solved so far, running now, results by solver.

    The state file is only read, so the run is neither blocked nor slowed down. It ends when the run does, or
    with Ctrl-C. `tailcut report` writes a page about the run, with an estimate of what it saved.
    """
    from tailcut.live.monitor import followed_run

    moving = sys.stdout.isatty() and not (as_json or once)
    with stoppable(), closing(followed_run(state, project)) as followed, ExitStack() as stack:
        if moving:
            from rich.live import Live

            live = stack.enter_context(Live(auto_refresh=False))
        shown = -1
        while True:
            now = followed.look()
            if moving:
                live.update(_view(now), refresh=True)
            elif now.last_event != shown or now.written is False:
                shown = now.last_event
                typer.echo(json.dumps(asdict(now)) if as_json else line(now))
            if once or now.written is False:
                return
            time.sleep(every)


def line(now: RunProgress) -> str:
    par10 = "" if now.par10 is None else f", PAR10 {now.par10:.4g} s"
    doing = ", ".join(f"{one['solver']} on {one['instance']}" for one in now.running[:3])
    more = f" and {len(now.running) - 3} more" if len(now.running) > 3 else ""
    end = "" if now.written is not False else "; no process writes to it"
    return f"{now.solved} of {now.over} solved{par10}{f'; now {doing}{more}' if doing else ''}{end}"


def _view(now: RunProgress) -> Any:
    from rich.console import Group
    from rich.text import Text

    from tailcut.cli.views import plain_table

    clock = time.time()
    head = Text(f"{now.state}: {now.selector}, cutoff {now.cutoff:g} s", style="bold")
    status = "no process writes to it: stopped or complete" if now.written is False else "running"
    if now.last_event_at is not None:
        status += f", last event {max(clock - now.last_event_at, 0.0):.0f} s ago"
    solvers = plain_table("solver", "runs", "solved", "seconds")
    for one in now.solvers:
        solvers.add_row(Text(one["solver"]), str(one["runs"]), str(one["solved"]), f"{one['seconds']:.1f}")
    parts: list[Any] = [head, Text(status), Text(line(now).partition("; now")[0]), solvers]
    for one in now.running[:8]:
        ran = f"{clock - one['since']:.0f} of {one['budget']:.3g} s"
        parts.append(Text(f"now   {one['solver']} on {one['instance']}: {ran}"))
    for over in now.latest:
        ending = f"solved by {over['solver']}" if over["solved"] else "not solved"
        parts.append(Text(f"over  {over['instance']}: {ending}, {over['seconds']:.3g} s"))
    return Group(*parts)
