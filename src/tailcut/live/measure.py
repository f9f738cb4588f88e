"""Measuring a portfolio: every solver on every instance, resumable, as a scenario that ASlib tools read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tailcut.errors import InputError
from tailcut.journal import EventKind, Journal, NewEvent
from tailcut.live import judge
from tailcut.live.asking import answer_of, features_job, read_features, solver_job
from tailcut.live.instances import Instance
from tailcut.live.limits import Ending
from tailcut.live.portfolio import Portfolio, Program, Solver
from tailcut.live.work import Work
from tailcut.scenarios import Scenario

PROJECT = "measure"
_STATUS = {
    str(Ending.CPU_LIMIT): "timeout",
    str(Ending.WALL_LIMIT): "timeout",
    str(Ending.MEMORY_LIMIT): "memout",
    str(Ending.CRASHED): "crash",
}
"""How a run ended -> ASlib's word for it; a run that finished is `ok` with an answer, else `other`."""


@dataclass
class Measured:
    """What has been measured so far."""

    runs: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """(instance, solver) -> what was noted of the run."""
    features: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Instance -> values, seconds and, if something went wrong, problem."""

    def take(self, kind: EventKind, body: dict[str, Any]) -> None:
        """Take in one measurement."""
        if kind is EventKind.RUN:
            self.runs[body["instance"], body["solver"]] = body
        else:
            self.features[body["instance"]] = body

    def disagreements(self) -> list[str]:
        """Return where solvers contradict each other, a sentence each.

        >>> measured = Measured()
        >>> for solver, answer in (("a", "SAT"), ("b", "UNSAT"), ("c", None)):
        ...     measured.take(EventKind.RUN, {"instance": "i", "solver": solver, "answer": answer})
        >>> measured.disagreements()
        ['i: a says SAT, b says UNSAT']
        """
        said: dict[str, dict[str, str]] = {}
        for (instance, solver), run in self.runs.items():
            if run["answer"] is not None:
                said.setdefault(instance, {})[solver] = run["answer"]
        return [
            f"{instance}: " + ", ".join(f"{solver} says {answer}" for solver, answer in answers.items())
            for instance, answers in said.items()
            if len(set(answers.values())) > 1
        ]


class Measurement:
    """A measurement kept in a journal: what is in it is not measured again."""

    def __init__(self, journal: Journal, portfolio: Portfolio, cutoff: float) -> None:
        self.journal, self.portfolio, self.cutoff = journal, portfolio, cutoff
        description = {"cutoff": cutoff, "clock": portfolio.clock}
        if PROJECT not in journal.projects():
            journal.create(PROJECT, description)
        self._number = journal.projects()[PROJECT]
        before = journal.description(self._number)
        for name, value in description.items():
            if before[name] != value:
                raise InputError(
                    f"{journal.path} was begun with {name} {before[name]}, not {value}: "
                    "go on with that, or give another state file"
                )
        self.measured = Measured()
        for event in journal.events(self._number):
            self.measured.take(event.kind, event.body)

    def missing(self, instances: Iterable[Instance]) -> Iterator[Work[dict[str, Any]]]:
        """Yield what is still to be measured, instance by instance."""
        portfolio = self.portfolio
        for instance in instances:
            if portfolio.features is not None and instance.name not in self.measured.features:
                yield self._features(portfolio.features, instance)
            for solver in portfolio.solvers.values():
                if (instance.name, solver.name) not in self.measured.runs:
                    yield self._run(solver, instance)

    def _features(self, program: Program, instance: Instance) -> Work[dict[str, Any]]:
        ended = yield features_job(self.portfolio, program, instance, self.cutoff)
        values, problem = read_features(ended)
        plain = {name: None if math.isnan(value) else value for name, value in values.items()}
        body = {
            "instance": instance.name,
            "values": plain,
            "seconds": judge.seconds_of(self.portfolio, ended),
            "problem": problem,
        }
        return self._keep(EventKind.FEATURES, body)

    def _run(self, solver: Solver, instance: Instance) -> Work[dict[str, Any]]:
        portfolio = self.portfolio
        ended = yield solver_job(portfolio, solver, instance, self.cutoff)
        answer, problem = yield from answer_of(portfolio, solver, instance, ended)
        note = judge.note(portfolio, ended, answer, problem)
        return self._keep(EventKind.RUN, {"instance": instance.name, "solver": solver.name, **note})

    def _keep(self, kind: EventKind, body: dict[str, Any]) -> dict[str, Any]:
        self.journal.append(self._number, [NewEvent(kind, body)])
        self.measured.take(kind, body)
        return body

    def scenario(self, instances: Iterable[Instance], name: str) -> Scenario:
        """Return what was measured of these instances as a scenario, or say what contradicts itself."""
        quarrels = self.measured.disagreements()
        if quarrels:
            raise InputError("solvers disagree, so at least one is wrong: " + "; ".join(quarrels))
        return to_scenario(
            self.measured, [one.name for one in instances], list(self.portfolio.solvers), self.cutoff, name
        )


def to_scenario(
    measured: Measured, instances: list[str], solvers: list[str], cutoff: float, name: str
) -> Scenario:
    """Return measurements as a scenario; features that failed are missing values, their time counts."""
    order = sorted(instances)
    cells = [(instance, solver, measured.runs[instance, solver]) for instance in order for solver in solvers]
    runs = {
        "instance": [instance for instance, _, _ in cells],
        "algorithm": [solver for _, solver, _ in cells],
        "runtime": [run["seconds"] for _, _, run in cells],
        "status": [_status(run, cutoff) for _, _, run in cells],
    }
    known = dict.fromkeys(
        key for one in order for key in measured.features.get(one, {"values": {}})["values"]
    )
    features: dict[str, list[Any]] = {"instance": list(order)}
    for key in known:
        features[key] = [measured.features[one]["values"].get(key) for one in order]
    costs = (
        {"instance": list(order), "features": [measured.features[one]["seconds"] for one in order]}
        if known
        else None
    )
    scenario = Scenario.from_frames(runs, features, cutoff=cutoff, name=name, feature_costs=costs)
    said = {(i, s): run["answer"] for i, s, run in cells}
    truths = tuple(next((said[i, s] for s in solvers if said[i, s]), None) for i in scenario.instances)
    return replace(scenario, ground_truth={"answer": truths})


def _status(run: dict[str, Any], cutoff: float) -> str:
    if run["ending"] == str(Ending.FINISHED):
        if run["answer"] is None:
            return "other"
        return "ok" if run["seconds"] <= cutoff else "timeout"
    return _STATUS.get(run["ending"], "other")
