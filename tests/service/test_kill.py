"""A server killed in the middle of its work loses nothing it acknowledged (`benchmarks/kill9.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kill9.py"


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled() -> None:
    command = [sys.executable, str(SCRIPT), "--moments", "8", "--seed", "3"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    summary = json.loads(result.stdout)
    assert summary["moments"] == 8
    assert summary["acknowledged_outcomes"] > 0
    assert summary["acknowledged_decisions"] >= summary["acknowledged_outcomes"]
