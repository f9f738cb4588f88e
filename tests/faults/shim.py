"""The shim of `shim.c`, compiled: file operations of another process that fail, or are recorded."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path


class Shim:
    """Lets the N-th call on a database fail in a process with this environment."""

    def __init__(self, folder: Path, database: Path) -> None:
        self._library, self._plan = folder / "shim.so", folder / "plan"
        source = Path(__file__).with_name("shim.c")
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(source), "-ldl"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        self.environment = {
            "LD_PRELOAD": str(self._library),
            "TAILCUT_FAULTS": str(database),
            "TAILCUT_FAULT_AT": str(self._plan),
        }
        self.nothing_fails()

    def fail(self, number: int, kind: str = "once", calls: str = "wsto") -> None:
        """Let a call fail, counted from now on: "once", or it and all after it, "forever"."""
        part = self._plan.with_suffix(".part")
        part.write_text(f"{number} {kind} {calls}")
        os.utime(part, ns=(time.time_ns(), time.time_ns()))
        part.replace(self._plan)

    def nothing_fails(self) -> None:
        self.fail(0)

    def in_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}
