"""What a project has done so far, as the JSON that charts are drawn from."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tailcut.journal import Project, Tally
from tailcut.service.metrics import head, sample

SHOWN = 200
"""Latencies that are told one by one."""


def statistics(project: Project, latencies: Sequence[float]) -> dict[str, Any]:
    """Return a project's statistics; takes no look at the past, however long it is."""
    tally, selector = project.tally, project.selector
    return {
        "project": project.name,
        "selector": selector.name,
        "at": time.time(),
        "last_event": project.last_event,
        "decisions": tally.decisions,
        "outcomes": tally.outcomes,
        "pending": len(tally.pending),
        "given_up": tally.given_up,
        "instances": tally.instances,
        "solved": tally.solved,
        "unsolved": tally.instances - tally.solved,
        "par10": tally.par10,
        "regret": tally.regret,
        "algorithms": [_algorithm(tally, name, True) for name in selector.algorithms]
        + [_algorithm(tally, name, False) for name in tally.algorithms if name not in selector.algorithms],
        "curve": list(_curve(tally)),
        "latency_ms": _latency(latencies),
    }


def _algorithm(tally: Tally, name: str, offered: bool) -> dict[str, Any]:
    counts = tally.algorithms.get(name)
    if counts is None:
        zeros = dict.fromkeys(("chosen", "share", "solved", "censored", "failed"), 0)
        return {"name": name, "offered": offered, **zeros, "mean_runtime": None, "par10": None}
    return {
        "name": name,
        "offered": offered,
        "chosen": counts.chosen,
        "share": counts.chosen / tally.decisions,
        "solved": counts.solved,
        "censored": counts.censored,
        "failed": counts.failed,
        "mean_runtime": counts.seconds / counts.solved if counts.solved else None,
        "par10": counts.loss / counts.outcomes if counts.outcomes and not tally.schedules else None,
    }


def _curve(tally: Tally) -> Iterator[dict[str, Any]]:
    before, lost = 0, 0.0
    for point in tally.curve:
        yield {
            "instances": point.instances,
            "at": point.at,
            "par10": point.loss / point.instances,
            "par10_latest": (point.loss - lost) / (point.instances - before),
            "regret": point.regret,
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


def exposition(projects: Iterable[Project]) -> Iterator[str]:
    """Yield the lines of all projects for Prometheus."""
    rows: dict[str, list[str]] = {name: [] for name in _FAMILIES}
    for project in projects:
        tally, of = project.tally, {"project": project.name}
        rows["tailcut_pending"].append(sample("tailcut_pending", of, len(tally.pending)))
        rows["tailcut_given_up_total"].append(sample("tailcut_given_up_total", of, tally.given_up))
        rows["tailcut_par10_seconds_total"].append(sample("tailcut_par10_seconds_total", of, tally.loss))
        for result, count in (("solved", tally.solved), ("unsolved", tally.instances - tally.solved)):
            line = sample("tailcut_instances_total", {**of, "result": result}, count)
            rows["tailcut_instances_total"].append(line)
        for name, counts in tally.algorithms.items():
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
