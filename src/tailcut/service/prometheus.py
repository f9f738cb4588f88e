"""Counters and histograms for Prometheus, in its text format: a page of code, so no library for it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tailcut.journal import Project

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Histogram:
    """Counts values by size."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Yield its samples.

        >>> histogram = Histogram((0.1, 1.0))
        >>> histogram.observe(0.5)
        >>> print(*histogram.lines("wait", {}), sep="; ")
        wait_bucket{le="0.1"} 0; wait_bucket{le="1"} 1; wait_bucket{le="+Inf"} 1; wait_sum 0.5; wait_count 1
        """
        below = 0
        for bound, count in zip([*(f"{b:g}" for b in self.bounds), "+Inf"], self.counts, strict=True):
            below += count
            yield sample(f"{name}_bucket", {**labels, "le": bound}, below)
        yield sample(f"{name}_sum", labels, self.total)
        yield sample(f"{name}_count", labels, below)


class ServerMetrics:
    """What the server counts of itself; projects count for themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: dict[tuple[str, str, int], int] = {}
        self.durations: dict[tuple[str, str], Histogram] = {}
        self.commits = Histogram(SECONDS)
        self.groups = Histogram(SIZES)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that got its response."""
        with self._lock:
            key = (method, route, status)
            self.requests[key] = self.requests.get(key, 0) + 1
            if (method, route) not in self.durations:
                self.durations[method, route] = Histogram(SECONDS)
            self.durations[method, route].observe(seconds)

    def lines(self) -> Iterator[str]:
        """Yield the lines of everything counted here."""
        with self._lock:
            requests, durations = dict(self.requests), dict(self.durations)
        yield from head("tailcut_http_requests_total", "counter", "Requests answered.")
        for (method, route, status), count in requests.items():
            labels = {"method": method, "route": route, "status": str(status)}
            yield sample("tailcut_http_requests_total", labels, count)
        yield from head("tailcut_http_request_seconds", "histogram", "Seconds until a request was answered.")
        for (method, route), histogram in durations.items():
            yield from histogram.lines("tailcut_http_request_seconds", {"method": method, "route": route})
        yield from head("tailcut_group_seconds", "histogram", "Seconds to do and write a group of requests.")
        yield from self.commits.lines("tailcut_group_seconds", {})
        yield from head("tailcut_group_size", "histogram", "Requests that shared a transaction.")
        yield from self.groups.lines("tailcut_group_size", {})


def head(name: str, kind: str, text: str) -> Iterable[str]:
    """Return the two lines above the samples of a metric."""
    return (f"# HELP {name} {text}", f"# TYPE {name} {kind}")


def sample(name: str, labels: Mapping[str, str], value: float) -> str:
    r"""Return one line.

    >>> sample("up", {"of": 'a"b\\'}, 1)
    'up{of="a\\"b\\\\"} 1'
    """
    inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inner}}} {value:g}" if inner else f"{name} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def project_lines(projects: Iterable[Project]) -> Iterator[str]:
    """Yield the lines of all projects for Prometheus."""
    rows: dict[str, list[str]] = {name: [] for name in _FAMILIES}
    for project in projects:
        counted, of = project.statistics, {"project": project.name}
        rows["tailcut_pending"].append(sample("tailcut_pending", of, len(counted.pending)))
        rows["tailcut_given_up_total"].append(sample("tailcut_given_up_total", of, counted.given_up))
        rows["tailcut_par10_seconds_total"].append(sample("tailcut_par10_seconds_total", of, counted.loss))
        for result, count in (("solved", counted.solved), ("unsolved", counted.instances - counted.solved)):
            line = sample("tailcut_instances_total", {**of, "result": result}, count)
            rows["tailcut_instances_total"].append(line)
        for name, counts in counted.algorithms.items():
            by = {**of, "algorithm": name}
            rows["tailcut_decisions_total"].append(sample("tailcut_decisions_total", by, counts.chosen))
            for status in ("solved", "censored", "failed"):
                line = sample("tailcut_outcomes_total", {**by, "status": status}, getattr(counts, status))
                rows["tailcut_outcomes_total"].append(line)
    for name, (kind, text) in _FAMILIES.items():
        yield from head(name, kind, text)
        yield from rows[name]


_FAMILIES = {
    "tailcut_decisions_total": ("counter", "Decisions for an algorithm."),
    "tailcut_outcomes_total": ("counter", "Outcomes of an algorithm's runs."),
    "tailcut_instances_total": ("counter", "Instances that are over."),
    "tailcut_par10_seconds_total": ("counter", "PAR10 over these instances, summed up."),
    "tailcut_pending": ("gauge", "Decisions that wait for their outcome."),
    "tailcut_given_up_total": ("counter", "Decisions whose outcome never came."),
}
