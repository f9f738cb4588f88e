"""A project's statistics as JSON for charts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from tailcut.journal import Project, ProjectStatistics

SHOWN = 200
"""The number of latest latencies that are listed."""


def project_statistics(project: Project, latencies: Sequence[float]) -> dict[str, Any]:
    """Return a project's statistics, without reading its history."""
    counted, selector = project.statistics, project.selector
    return {
        "project": project.name,
        "selector": selector.name,
        "at": time.time(),
        "last_event": project.last_event,
        "decisions": counted.decisions,
        "outcomes": counted.outcomes,
        "pending": len(counted.pending),
        "given_up": counted.given_up,
        "instances": counted.instances,
        "solved": counted.solved,
        "unsolved": counted.instances - counted.solved,
        "par10": counted.par10,
        "mean_loss": counted.mean_loss,
        "algorithms": [_algorithm(counted, name) for name in selector.algorithms],
        "curve": list(_curve(counted)) if counted.mean_loss is None else [],
        "latency_ms": _latency(latencies),
    }


def _algorithm(counted: ProjectStatistics, name: str) -> dict[str, Any]:
    counts = counted.algorithms.get(name)
    timed = not counted.schedules and counted.mean_loss is None
    if counts is None:
        zeros = dict.fromkeys(("chosen", "share", "solved", "censored", "failed"), 0)
        return {"name": name, **zeros, "mean_runtime": None, "par10": None, "mean_loss": None}
    return {
        "name": name,
        "chosen": counts.chosen,
        "share": counts.chosen / counted.decisions,
        "solved": counts.solved,
        "censored": counts.censored,
        "failed": counts.failed,
        "mean_runtime": counts.seconds / counts.solved if counts.solved else None,
        "par10": counts.loss / counts.outcomes if counts.outcomes and timed else None,
        "mean_loss": counts.mean_loss,
    }


def _curve(counted: ProjectStatistics) -> Iterator[dict[str, Any]]:
    before, lost = 0, 0.0
    for point in counted.curve:
        yield {
            "instances": point.instances,
            "at": point.at,
            "par10": point.loss / point.instances,
            "par10_latest": (point.loss - lost) / (point.instances - before),
            "solved": point.solved,
            "unsolved": point.instances - point.solved,
        }
        before, lost = point.instances, point.loss


def _latency(latencies: Sequence[float]) -> dict[str, Any]:
    """Return quantiles of the latest latencies, given in seconds.

    >>> _latency([0.001, 0.002, 0.004])
    {'count': 3, 'p50': 2.0, 'p99': 4.0, 'latest': [1.0, 2.0, 4.0]}
    """
    ordered = sorted(latencies)
    count = len(ordered)

    def quantile(share: float) -> float | None:
        return round(1e3 * ordered[min(int(share * count), count - 1)], 3) if count else None

    latest = [round(1e3 * one, 3) for one in list(latencies)[-SHOWN:]]
    return {"count": count, "p50": quantile(0.5), "p99": quantile(0.99), "latest": latest}
