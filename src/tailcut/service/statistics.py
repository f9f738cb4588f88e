"""Statistics of projects as JSON for charts, what their single algorithms would have cost, and Prometheus."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest

from tailcut.journal import Project, ProjectStatistics
from tailcut.journal.statistics import AlgorithmCounts, RuntimeBins

SHOWN = 200
"""The number of latest latencies that are listed."""
ESTIMATE_PAUSE = 10.0
"""Minimum seconds between two estimates of a project."""
ESTIMATE_SHARE = 0.05
"""Maximum share of the time spent on estimates of a project."""
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

log = logging.getLogger("tailcut.service")
disable_created_metrics()  # type: ignore[no-untyped-call]  # a time for each counter, which nobody asked for


def project_statistics(project: Project, latencies: Sequence[float]) -> dict[str, Any]:
    """Return a project's statistics, without reading its history; `latencies` are in seconds."""
    counted, selector = project.statistics, project.selector
    totals = ("decisions", "outcomes", "given_up", "instances", "solved", "par10", "mean_loss")
    return {
        "project": project.name,
        "selector": selector.name,
        "at": time.time(),
        "last_event": project.last_event,
        **{name: getattr(counted, name) for name in totals},
        "pending": len(counted.pending),
        "unsolved": counted.instances - counted.solved,
        "algorithms": [_algorithm(counted, name) for name in selector.algorithms],
        "curve": list(_curve(counted)) if counted.mean_loss is None else [],
        "latency_ms": _latency(latencies),
    }


def _algorithm(counted: ProjectStatistics, name: str) -> dict[str, Any]:
    counts = counted.algorithms.get(name) or AlgorithmCounts(RuntimeBins(counted.cutoff))
    timed = not counted.schedules and counted.mean_loss is None
    return {
        **{one: getattr(counts, one) for one in ("chosen", "solved", "censored", "failed", "mean_loss")},
        "name": name,
        "share": counts.chosen / counted.decisions if counted.decisions else 0,
        "mean_runtime": counts.seconds / counts.solved if counts.solved else None,
        "par10": counts.loss / counts.outcomes if counts.outcomes and timed else None,
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


def _latency(seconds: Sequence[float]) -> dict[str, Any]:
    """Return quantiles of the latest latencies.

    >>> _latency([0.001, 0.002, 0.004])
    {'count': 3, 'p50': 2.0, 'p99': 4.0, 'latest': [1.0, 2.0, 4.0]}
    """
    latest = [round(1e3 * latency, 3) for latency in seconds]
    ordered, count = sorted(latest), len(latest)

    def quantile(share: float) -> float | None:
        return ordered[min(int(share * count), count - 1)] if count else None

    return {"count": count, "p50": quantile(0.5), "p99": quantile(0.99), "latest": latest[-SHOWN:]}


@dataclass
class _Estimate:
    content: dict[str, Any] | None = None
    revision: int = -1
    """The last event when it was started."""
    next_start: float = 0.0
    """When the next may start, by the monotonic clock."""
    task: asyncio.Task[None] | None = None


class Estimates:
    """Estimates of what single algorithms would have cost, made in other processes, one for each project."""

    def __init__(self, path: Path) -> None:
        self._path, self._estimates = path, dict[str, _Estimate]()

    def latest(self, project: str, revision: int) -> dict[str, Any]:
        """Return the latest estimate, or None; start a new one if it is old."""
        estimate = self._estimates.setdefault(project, _Estimate())
        due = estimate.revision != revision and time.monotonic() >= estimate.next_start
        if due and estimate.task is None:
            estimate.revision = revision
            estimate.task = asyncio.create_task(self._make(project, estimate))
        content = estimate.content or {"last_event": None, "estimate": None}
        return {**content, "under_way": estimate.task is not None}

    async def _make(self, project: str, estimate: _Estimate) -> None:
        begun = time.monotonic()
        command = (sys.executable, "-m", "tailcut.estimate", str(self._path), project)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        try:
            output, errors = await process.communicate()
            if process.returncode == 0:
                estimate.content = json.loads(output)
            else:
                log.error("no estimate for %s: %s", project, errors.decode(errors="replace").strip()[-500:])
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()  # the loop cannot be closed before its pipes are
            now = time.monotonic()
            estimate.next_start = now + max(ESTIMATE_PAUSE, (now - begun) / ESTIMATE_SHARE)
            estimate.task = None

    async def aclose(self) -> None:
        tasks = [estimate.task for estimate in self._estimates.values() if estimate.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class ServerMetrics:
    """Metrics of the server for Prometheus; projects have their own statistics.

    >>> metrics = ServerMetrics()
    >>> metrics.request("GET", "/v1/health", 200, 0.002)
    >>> text = metrics.text([])
    >>> [line for line in text.splitlines() if line.startswith("tailcut_http_requests_total")]
    ['tailcut_http_requests_total{method="GET",route="/v1/health",status="200"} 1.0']
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        histogram = partial(Histogram, registry=self._registry)
        by_route = ["method", "route"]
        self._requests = Counter(
            "tailcut_http_requests", "Requests answered.", [*by_route, "status"], registry=self._registry
        )
        self._durations = histogram(
            "tailcut_http_request_seconds", "Seconds until a request was answered.", by_route, buckets=SECONDS
        )
        self.commits = histogram(
            "tailcut_group_seconds", "Seconds to do and write a group of requests.", buckets=SECONDS
        )
        self.groups = histogram("tailcut_group_size", "Requests that shared a transaction.", buckets=SIZES)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._durations.labels(method, route).observe(seconds)

    def text(self, projects: Iterable[Project]) -> str:
        registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"tailcut_{name}", meaning, ["project", *labels], registry=registry)

        decisions = counter("decisions", "Decisions for an algorithm.", "algorithm")
        outcomes = counter("outcomes", "Outcomes of an algorithm's runs.", "algorithm", "status")
        instances = counter("instances", "Completed instances.", "result")
        loss = counter("par10_seconds", "PAR10 over these instances, summed up.")
        waiting = "Decisions that wait for their outcome."
        pending = Gauge("tailcut_pending", waiting, ["project"], registry=registry)
        given_up = counter("given_up", "Decisions whose outcome never came.")
        for project in projects:
            counted, name = project.statistics, project.name
            pending.labels(name).set(len(counted.pending))
            given_up.labels(name).inc(counted.given_up)
            loss.labels(name).inc(counted.loss)
            instances.labels(name, "solved").inc(counted.solved)
            instances.labels(name, "unsolved").inc(counted.instances - counted.solved)
            for algorithm, counts in counted.algorithms.items():
                decisions.labels(name, algorithm).inc(counts.chosen)
                for status in ("solved", "censored", "failed", "rated"):
                    outcomes.labels(name, algorithm, status).inc(getattr(counts, status))
        return (generate_latest(registry) + generate_latest(self._registry)).decode()
