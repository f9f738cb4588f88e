"""Calls of `tailcut solve` as another tool makes them, and what is left in the state file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailcut.journal import EventKind, Journal, Project
from tailcut.live.instance_record import PROJECT

TAILCUT = [sys.executable, "-c", "from tailcut.cli import main; main()", "solve"]
PATIENCE = "import tailcut.solve.thin_client as c; c.SILENCE = {}; from tailcut.cli import main; main()"


def solve(
    folder: Path, *arguments: str, silence: float | None = None, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """Call it to its end; a daemon that says nothing for `silence` seconds is given up."""
    more.setdefault("stdin", subprocess.DEVNULL if "input" not in more else None)
    if more["stdin"] is None:
        del more["stdin"]
    return subprocess.run(
        [*_command(silence), *arguments],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
        **more,
    )


def begin(
    folder: Path, *arguments: str, silence: float | None = None, **more: Any
) -> subprocess.Popen[bytes]:
    """Call it and do not wait."""
    return subprocess.Popen(
        [*_command(silence), *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def _command(silence: float | None) -> list[str]:
    return TAILCUT if silence is None else [sys.executable, "-c", PATIENCE.format(silence), "solve"]


def daemons(folder: Path) -> list[int]:
    """Return the processes that serve state files of a folder."""
    return [
        process for process, line in _commands() if "tailcut.solve.daemon" in line and str(folder) in line
    ]


def processes(folder: Path, word: str) -> list[int]:
    """Return the processes in whose command line both a folder and a word stand."""
    return [process for process, line in _commands() if word in line and str(folder) in line]


def _commands() -> Iterator[tuple[int, str]]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if int(process.name) != os.getpid():
            yield int(process.name), line


def end_daemons(folder: Path) -> None:
    """Have the daemons of a folder end, and wait for that."""
    for process in daemons(folder):
        os.kill(process, signal.SIGTERM)
    until = time.monotonic() + 30
    while daemons(folder):
        assert time.monotonic() < until, "a daemon does not end"
        time.sleep(0.02)


class Learned:
    """What a state file holds; its history repeats bit for bit."""

    def __init__(self, state: Path) -> None:
        with Journal(state) as journal:
            project = Project(journal, PROJECT)
            project.verify()
            events = list(project.history())
            self.pending = len(project.statistics.pending)
        self.outcomes = [event for event in events if event.kind is EventKind.OBSERVE]
        self.instances = [event.body["instance"] for event in events if event.kind is EventKind.SELECT]
        """One for each call that came to a decision."""
        self.statuses = [event.body["status"] for event in self.outcomes]
        counted = Counter(event.body["decision"] for event in self.outcomes)
        assert all(count == 1 for count in counted.values()), "an outcome was learned twice"
