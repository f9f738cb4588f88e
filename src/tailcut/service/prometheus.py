"""Counters and histograms for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tailcut.journal import Project

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a time for each counter, which nobody asked for


class ServerMetrics:
    """Metrics of the server; projects have their own statistics.

    >>> metrics = ServerMetrics()
    >>> metrics.request("GET", "/v1/health", 200, 0.002)
    >>> [line for line in metrics.text().splitlines() if line.startswith("tailcut_http_requests_total")]
    ['tailcut_http_requests_total{method="GET",route="/v1/health",status="200"} 1.0']
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "tailcut_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._durations = Histogram(
            "tailcut_http_request_seconds",
            "Seconds until a request was answered.",
            ["method", "route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.commits = Histogram(
            "tailcut_group_seconds",
            "Seconds to do and write a group of requests.",
            buckets=SECONDS,
            registry=self._registry,
        )
        self.groups = Histogram(
            "tailcut_group_size",
            "Requests that shared a transaction.",
            buckets=SIZES,
            registry=self._registry,
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a completed request."""
        self._requests.labels(method, route, str(status)).inc()
        self._durations.labels(method, route).observe(seconds)

    def text(self) -> str:
        """Return everything counted here in the text format."""
        return generate_latest(self._registry).decode()


class ProjectCollector(Collector):
    """The current metrics of projects."""

    def __init__(self, projects: Iterable[Project]) -> None:
        self._projects = list(projects)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of all projects."""
        decisions = CounterMetricFamily(
            "tailcut_decisions", "Decisions for an algorithm.", labels=["project", "algorithm"]
        )
        outcomes = CounterMetricFamily(
            "tailcut_outcomes", "Outcomes of an algorithm's runs.", labels=["project", "algorithm", "status"]
        )
        instances = CounterMetricFamily(
            "tailcut_instances", "Completed instances.", labels=["project", "result"]
        )
        loss = CounterMetricFamily(
            "tailcut_par10_seconds", "PAR10 over these instances, summed up.", labels=["project"]
        )
        pending = GaugeMetricFamily(
            "tailcut_pending", "Decisions that wait for their outcome.", labels=["project"]
        )
        given_up = CounterMetricFamily(
            "tailcut_given_up", "Decisions whose outcome never came.", labels=["project"]
        )
        for project in self._projects:
            counted, of = project.statistics, project.name
            pending.add_metric([of], len(counted.pending))
            given_up.add_metric([of], counted.given_up)
            loss.add_metric([of], counted.loss)
            instances.add_metric([of, "solved"], counted.solved)
            instances.add_metric([of, "unsolved"], counted.instances - counted.solved)
            for name, counts in counted.algorithms.items():
                decisions.add_metric([of, name], counts.chosen)
                for status in ("solved", "censored", "failed", "rated"):
                    outcomes.add_metric([of, name, status], getattr(counts, status))
        yield from (decisions, outcomes, instances, loss, pending, given_up)


def project_text(projects: Iterable[Project]) -> str:
    """Return the metrics of projects in the text format."""
    registry = CollectorRegistry()
    registry.register(ProjectCollector(projects))
    return generate_latest(registry).decode()
