"""`tailcut` as a user runs it, in a folder of toys, and what it leaves there."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TAILCUT = [sys.executable, "-c", "from tailcut.cli import main; main()"]


def tailcut(
    folder: Path, *arguments: str, code: int = 0, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `before` is Python to be run in the same process first."""
    command = [sys.executable, "-c", f"{before}\nfrom tailcut.cli import main; main()", *arguments]
    ended = subprocess.run(command, cwd=folder, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def answers(folder: Path, name: str = "tailcut-run.jsonl") -> dict[str, dict[str, Any]]:
    """Return the lines of answers by instance, each of which is there once."""
    records = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    by_name = {Path(record["instance"]).stem: record for record in records}
    assert len(by_name) == len(records), "an instance is there twice"
    return by_name


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited unsuccessfully"
        time.sleep(0.01)
