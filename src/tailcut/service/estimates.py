"""Estimates of what single algorithms would have cost, computed beside the server and cached."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAUSE = 10.0
"""Minimum seconds between two estimates of a project."""
SHARE = 0.05
"""Maximum share of the time spent on estimates of a project."""

log = logging.getLogger("tailcut.service")


@dataclass
class _KeptEstimate:
    content: dict[str, Any] | None = None
    revision: int = -1
    """The last event when it was started."""
    following: float = 0.0
    """When the next may start, by the monotonic clock."""
    under_way: asyncio.Task[None] | None = None


class Estimates:
    """Computes estimates in separate processes, one at a time for each project, without blocking."""

    def __init__(self, path: Path) -> None:
        self._path, self._kept = path, dict[str, _KeptEstimate]()

    def latest(self, project: str, revision: int) -> dict[str, Any]:
        """Return the latest estimate, or None; start a new one if it is old."""
        kept = self._kept.setdefault(project, _KeptEstimate())
        if kept.under_way is None and kept.revision != revision and time.monotonic() >= kept.following:
            kept.revision = revision
            kept.under_way = asyncio.create_task(self._make(project, kept))
        content = kept.content or {"last_event": None, "estimate": None}
        return {**content, "under_way": kept.under_way is not None}

    async def _make(self, project: str, kept: _KeptEstimate) -> None:
        begun = time.monotonic()
        command = (sys.executable, "-m", "tailcut.estimate", str(self._path), project)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        try:
            output, errors = await process.communicate()
            if process.returncode == 0:
                kept.content = json.loads(output)
            else:
                log.error("no estimate for %s: %s", project, errors.decode(errors="replace").strip()[-500:])
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()  # the loop cannot be closed before its pipes are
            now = time.monotonic()
            kept.following = now + max(PAUSE, (now - begun) / SHARE)
            kept.under_way = None

    async def close(self) -> None:
        """End what is in progress."""
        tasks = [one.under_way for one in self._kept.values() if one.under_way is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
