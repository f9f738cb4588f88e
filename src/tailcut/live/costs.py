"""What a stream cost, and what each solver alone would have cost according to a measured scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tailcut.journal import Journal, Project
from tailcut.live.stream import PROJECT, instance_records
from tailcut.scenarios import Scenario
from tailcut.types import PENALTY


@dataclass(frozen=True)
class StreamCost:
    """What one way of choosing cost for a stream."""

    name: str
    count: int
    solved: int
    seconds: float
    """CPU time used, including that of unsolved instances."""
    par10: float
    """Mean of the penalised times."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def cost_of_stream(journal: Journal, cutoff: float) -> StreamCost:
    """Return what the stream of a state file cost, features included."""
    project = Project(journal, PROJECT)
    records = [record for record in instance_records(project).values() if record.over]
    # Extra runs of measuring do not count as choices.
    paid = [record.seconds if record.chosen_answer else PENALTY * cutoff for record in records]
    return StreamCost(
        name=f"{project.selector.name}, live",
        count=len(records),
        solved=sum(record.chosen_answer is not None for record in records),
        seconds=sum(record.seconds for record in records),
        par10=float(np.mean(paid)),
    )


def costs_of_single_solvers(scenario: Scenario, instances: Sequence[str]) -> list[StreamCost]:
    """Return the cost of each solver alone, and of the VBS, on some of a scenario's instances.

    >>> runs = {"instance": ["i", "i", "j", "j"], "algorithm": ["a", "b", "a", "b"], "runtime": [1, 4, 99, 2]}
    >>> scenario = Scenario.from_frames(runs, {"instance": ["i", "j"], "x": [0, 1]}, cutoff=10)
    >>> costs = costs_of_single_solvers(scenario, ["i", "j"])
    >>> [(one.name, one.solved, one.seconds, one.par10) for one in costs]
    [('always b', 2, 6.0, 3.0), ('always a', 1, 11.0, 50.5), ('the best for each, in hindsight', 2, 3.0, 1.5)]
    """
    number = {name: row for row, name in enumerate(scenario.instances)}
    rows = [number[name] for name in instances]
    losses = scenario.losses(PENALTY)[rows]
    seconds = np.minimum(scenario.runtimes[rows], scenario.cutoff)
    solved = scenario.solved[rows]
    found = [
        StreamCost(
            f"always {name}",
            len(rows),
            int(solved[:, a].sum()),
            float(seconds[:, a].sum()),
            float(losses[:, a].mean()),
        )
        for a, name in enumerate(scenario.algorithms)
    ]
    best, each = losses.argmin(axis=1), np.arange(len(rows))
    ideal = StreamCost(
        "the best for each, in hindsight",
        len(rows),
        int(solved.any(axis=1).sum()),
        float(seconds[each, best].sum()),
        float(losses.min(axis=1).mean()),
    )
    return [*sorted(found, key=lambda one: one.par10), ideal]
