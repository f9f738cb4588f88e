"""What a stream took, against what each solver alone would have taken, by a scenario that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tailcut.journal import Journal, Project
from tailcut.live.session import PROJECT, all_courses
from tailcut.scenarios import Scenario

_PENALTY = 10.0


@dataclass(frozen=True)
class Sum:
    """What one way of choosing took for a stream."""

    name: str
    count: int
    solved: int
    seconds: float
    """CPU time used, that of unsolved instances included."""
    par10: float
    """Mean of the penalised times."""

    def told(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def live_sum(journal: Journal, cutoff: float) -> Sum:
    """Return what a run took, features included."""
    project = Project(journal, PROJECT)
    courses = [course for course in all_courses(project).values() if course.over]
    paid = [course.seconds if course.answer else _PENALTY * cutoff for course in courses]
    return Sum(
        name=f"{project.selector.name}, live",
        count=len(courses),
        solved=sum(course.answer is not None for course in courses),
        seconds=sum(course.seconds for course in courses),
        par10=float(np.mean(paid)),
    )


def alone(scenario: Scenario, instances: Sequence[str]) -> list[Sum]:
    """Return what each solver alone, and the best for each instance, take for some of a scenario's instances.

    >>> runs = {"instance": ["i", "i", "j", "j"], "algorithm": ["a", "b", "a", "b"], "runtime": [1, 4, 99, 2]}
    >>> scenario = Scenario.from_frames(runs, {"instance": ["i", "j"], "x": [0, 1]}, cutoff=10)
    >>> [(one.name, one.solved, one.seconds, one.par10) for one in alone(scenario, ["i", "j"])]
    [('always b', 2, 6.0, 3.0), ('always a', 1, 11.0, 50.5), ('the best for each, in hindsight', 2, 3.0, 1.5)]
    """
    number = {name: row for row, name in enumerate(scenario.instances)}
    rows = [number[name] for name in instances]
    losses = scenario.losses(_PENALTY)[rows]
    seconds = np.minimum(scenario.runtimes[rows], scenario.cutoff)
    solved = scenario.solved[rows]
    found = [
        Sum(
            f"always {name}",
            len(rows),
            int(solved[:, a].sum()),
            float(seconds[:, a].sum()),
            float(losses[:, a].mean()),
        )
        for a, name in enumerate(scenario.algorithms)
    ]
    best, each = losses.argmin(axis=1), np.arange(len(rows))
    ideal = Sum(
        "the best for each, in hindsight",
        len(rows),
        int(solved.any(axis=1).sum()),
        float(seconds[each, best].sum()),
        float(losses.min(axis=1).mean()),
    )
    return [*sorted(found, key=lambda one: one.par10), ideal]
