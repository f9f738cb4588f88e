"""Where measurements come from: the text that goes with a measured scenario."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from tailcut.live.measure import Measured
from tailcut.live.portfolio import Portfolio


def readme(name: str, portfolio: Portfolio, cutoff: float, measured: Measured, method: str, note: str) -> str:
    """Return the readme of a scenario: how it was made, on what machine, by which portfolio."""
    instances = {instance for instance, _ in measured.runs}
    what = (
        "CPU seconds of the whole process tree" if portfolio.clock == "cpu" else "seconds by the wall's clock"
    )
    lines = [
        f"{name}: {len(instances)} instances, {len(portfolio.solvers)} solvers, cutoff {cutoff:g} s.",
        "",
        *([note, ""] if note else []),
        f"Measured with `tailcut measure` on {datetime.now(UTC):%Y-%m-%d}.",
        f"Runtimes are {what}; limits were enforced by {method}.",
        "Whether a run timed out is known from who ended it. Feature costs are those of computing all "
        "features at once.",
        f"Machine: {_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}.",
        "",
        f"The portfolio ({portfolio.file.name}):",
        "",
        *(f"    {line}".rstrip() for line in portfolio.file.read_text(encoding="utf-8").splitlines()),
        "",
    ]
    return "\n".join(lines)


def _processor() -> str:
    """Return the processor's name, where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"
