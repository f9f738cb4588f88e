"""The command in a process of its own; small scenarios and a result file from the other rooms' tests."""

from __future__ import annotations

import subprocess
import sys

from tests.bench.conftest import generated
from tests.report.conftest import own_cache, results, scenarios_folder, written
from tests.scenarios.conftest import small, small_files, small_folder

__all__ = [
    "generated",
    "own_cache",
    "results",
    "scenarios_folder",
    "small",
    "small_files",
    "small_folder",
    "written",
]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailcut", *arguments], capture_output=True, text=True, timeout=120
    )
