"""A state file with two projects, and the command as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tailcut.journal import Journal, Project
from tailcut.types import Outcome


def tailcut(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailcut", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def filled(path: Path) -> Path:
    """Return a file with two projects of 30 decisions each, of which one waits."""
    with Journal(path) as journal:
        for name in ("one", "two"):
            kept = Project.create(
                journal, name, {"selector": "thompson_rev", "algorithms": ["a", "b"], "cutoff": 60.0}
            )
            for number in range(30):
                decision = kept.select([1.0 * number, 2.0], key=f"k{number}" if number % 2 else None)
                if number != 7:
                    kept.observe(decision, Outcome.solved(1.0 + number))
            kept.remark({"text": "stays"})
    return path
