"""The record of one instance: its features, runs and answer, built live or from the journal.

Of several answers, a majority decides which is accepted (`verdict`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NotRequired, TypedDict, cast

from tailcut.domains.domain import answers_agree
from tailcut.errors import InputError
from tailcut.journal import Event, EventKind, Journal, Project
from tailcut.journal.instances import FirstDecisions
from tailcut.live.engine import ComputedFeatures
from tailcut.live.instances import FileContent
from tailcut.live.limits import Ending
from tailcut.types import Decision

PROJECT = "run"
AT_A_LIMIT = (Ending.CPU_LIMIT, Ending.WALL_LIMIT)
NOT_RUN = "put aside"  # as journals have it
"""The ending of a run that was not made, because its solver had been put in quarantine since."""
TOLERANCE = 2e-4
"""The relative difference that two objectives may have: solvers stop at a gap of 1e-4, above or below."""


class RunRecord(TypedDict):
    """What is stored of a run that ended; runs of a removed solver have no measurements."""

    solver: str
    budget: float
    ending: str
    seconds: float
    answer: str | None
    cpu: NotRequired[float]
    wall: NotRequired[float]
    memory: NotRequired[int]
    exit_code: NotRequired[int | None]
    signal: NotRequired[int | None]
    problem: NotRequired[str]
    output: NotRequired[str]
    objective: NotRequired[float]
    """The objective that it found, if the portfolio says how to read it."""
    loss: NotRequired[float]
    """Its loss, from 0 to 1, if solution quality counts."""
    refuted: NotRequired[bool]
    tampered: NotRequired[bool]
    """Whether the processes that watched it were stopped or killed, as a rule by the solver."""
    said: NotRequired[str]
    """The end of its output, if that was not an answer."""
    began: NotRequired[float]
    """In a race: its start, in seconds of elapsed time since the race began."""


class Verdict(NamedTuple):
    """The combined answer to one instance."""

    believed: RunRecord | None
    """The run whose answer is accepted: the first, unless a majority of at least two agrees on another."""
    wrong: frozenset[str]
    """Solvers that are outvoted."""
    involved: frozenset[str]
    """Solvers that contradict each other, whether decided or not."""

    @property
    def is_open(self) -> bool:
        return bool(self.involved) and not self.wrong


def same_answer(one: RunRecord, other: RunRecord) -> bool:
    """Return whether two runs gave the same answer, with the same objective if both have one.

    >>> run = {"solver": "a", "budget": 1.0, "ending": "finished", "seconds": 1.0, "answer": "optimal"}
    >>> same_answer({**run, "objective": 100.0}, {**run, "objective": 100.001})
    True
    >>> same_answer({**run, "objective": 100.0}, {**run, "objective": 101.0})
    False
    >>> same_answer({**run, "answer": "optimal 941"}, {**run, "answer": "optimal 940.999998"})
    True
    """
    first, second = one["answer"], other["answer"]
    if first != second and (first is None or second is None or not answers_agree(first, second)):
        return False
    if "objective" not in one or "objective" not in other:
        return True
    return math.isclose(one["objective"], other["objective"], rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def verdict(runs: Iterable[RunRecord]) -> Verdict:
    """Return the combined answer of some runs, given in order of arrival."""
    groups: list[list[RunRecord]] = []
    for run in runs:
        if run["answer"] is not None:
            own = next((group for group in groups if same_answer(group[0], run)), None)
            if own is None:
                groups.append([run])
            else:
                own.append(run)
    if len(groups) < 2:
        return Verdict(groups[0][0] if groups else None, frozenset(), frozenset())
    votes = [len({run["solver"] for run in group}) for group in groups]
    involved = frozenset(run["solver"] for group in groups for run in group)
    most = max(votes)
    if most < 2 or votes.count(most) > 1:
        return Verdict(groups[0][0], frozenset(), involved)
    winners = groups[votes.index(most)]
    outvoted = involved - {run["solver"] for run in winners}
    return Verdict(winners[0], outvoted, involved)


def said(runs: Iterable[RunRecord]) -> str:
    words = {
        run["solver"]: f"{run['solver']} says {run['answer']}"
        + (f" with objective {run['objective']:.10g}" if "objective" in run else "")
        for run in runs
        if run["answer"] is not None
    }
    return ", ".join(words.values())


class MeasurePlan(NamedTuple):
    """Which solvers measure an instance, and for how long each runs."""

    solvers: tuple[str, ...]
    cutoff: float


@dataclass
class InstanceRecord:
    """The state of an instance. The same steps build it live and from the journal."""

    instance: str
    content: FileContent | None = None
    computed: ComputedFeatures | None = None
    """Its features, if they were computed before anything was decided."""
    features: dict[str, float] | None = None
    feature_seconds: float = 0.0
    problem: str | None = None
    runs: list[RunRecord] = field(default_factory=list)
    """The chosen runs that have ended, in order."""
    open_runs: dict[int, Decision] = field(default_factory=dict)
    """The decisions whose runs have not ended, by number: several in a race only."""
    raced: bool = False
    used: float = 0.0
    """In a race: seconds of the cutoff used on the core with the answer, or on the core used most."""
    first_decision: int | None = None
    last_decision: int | None = None
    closed: bool = False
    measure: MeasurePlan | None = None
    """How it is measured, whatever is chosen for it; None: it is not."""
    extra: dict[str, RunRecord] = field(default_factory=dict)
    """The extra runs that measure it, by solver, as they ended."""
    attempt: int = 0
    """The number of earlier attempts, with the same content."""
    cutoff: float | None = None
    void: set[str] = field(default_factory=set)
    """Solvers that did not work when they ran, or were to run, on it."""
    forgiven: set[str] = field(default_factory=set)
    """Solvers that are trusted again, whatever they answered here."""
    extra_queued: bool = False
    """Whether its extra runs have been queued; never true for records read from the journal."""
    announced: bool = False
    """Whether its answer is written; never true for records read from the journal."""

    def selected(
        self, decision: Decision, features: Mapping[str, float | None] | None, note: Mapping[str, Any]
    ) -> None:
        if features is not None:
            self.features = {name: math.nan if v is None else v for name, v in features.items()}
        self.feature_seconds = note.get("feature_seconds", 0.0)
        self.problem = note.get("problem")
        self.open_runs, self.first_decision = {decision.id: decision}, decision.id
        if "measure" in note:
            plan = note["measure"]
            self.measure = MeasurePlan(tuple(plan["solvers"]), plan["cutoff"])

    def joined(self, rival: Decision) -> None:
        """Add one more concurrent run: a race."""
        self.open_runs[rival.id] = rival
        self.raced = True
        self.closed = self.chosen_answer is not None

    def observed(self, note: Mapping[str, Any], *, schedules: bool, decision: int) -> RunRecord:
        """Add how the run of a decision ended; return its record."""
        ended, self.last_decision = self.open_runs.pop(decision), decision
        run = _run_record(ended.algorithm, ended.budget, note)
        self.runs.append(run)
        if run["ending"] == NOT_RUN:
            self.void.add(run["solver"])
        if self.chosen_answer is None:
            self.used = max(self.used, ended.spent + run["seconds"])
        elif run["answer"] == self.chosen_answer and sum(one["answer"] is not None for one in self.runs) == 1:
            self.used = ended.spent + run["seconds"]
        answered = self.closed or run["answer"] is not None
        self.closed = answered or not (schedules or self.open_runs)
        return run

    def proceeded(self, following: Decision | None) -> None:
        self.open_runs = {} if following is None else {following.id: following}
        self.closed = following is None

    def measured(self, solver: str, budget: float, note: Mapping[str, Any]) -> RunRecord:
        self.extra[solver] = _run_record(solver, budget, note)
        return self.extra[solver]

    def without(self, solver: str) -> None:
        if self.measure is not None:
            left = tuple(name for name in self.measure.solvers if name != solver)
            self.measure = self.measure._replace(solvers=left)

    def given_up(self, note: Mapping[str, Any]) -> None:
        self.feature_seconds, self.problem, self.closed = note["feature_seconds"], note.get("problem"), True

    @property
    def all_runs(self) -> list[RunRecord]:
        return [*self.runs, *self.extra.values()]

    @property
    def verdict(self) -> Verdict:
        return verdict(self.all_runs)

    @property
    def begun(self) -> bool:
        return self.first_decision is not None or self.closed

    @property
    def missing(self) -> list[str]:
        """The solvers whose extra runs have not ended; chosen runs are not repeated."""
        if self.measure is None:
            return []
        known = {
            run["solver"]
            for run in self.runs  # one that was stopped after less time than the plan's says too little
            if run["ending"] not in AT_A_LIMIT or run["budget"] >= self.measure.cutoff
        }
        known.update(self.extra)
        known.update(run.algorithm for run in self.open_runs.values())
        return [name for name in self.measure.solvers if name not in known]

    @property
    def over(self) -> bool:
        """Whether it has an answer, or no run is left that could give one."""
        if self.raced and self.open_runs:  # the losers are still being stopped
            return False
        return self.answer is not None or (self.closed and not self.missing)

    @property
    def complete(self) -> bool:
        return self.closed and not self.missing and not (self.raced and self.open_runs)

    @property
    def answering(self) -> RunRecord | None:
        return self.verdict.believed

    @property
    def answer(self) -> str | None:
        answering = self.answering
        return None if answering is None else answering["answer"]

    @property
    def chosen_answer(self) -> str | None:
        return next((run["answer"] for run in self.runs if run["answer"] is not None), None)

    @property
    def seconds(self) -> float:
        """Seconds of its cutoff used by chosen runs and features; in a race, by the core that answered."""
        if self.raced:
            return self.used or self.feature_seconds
        return float(self.feature_seconds + sum(run["seconds"] for run in self.runs))

    @property
    def cpu(self) -> float:
        return float(self.feature_seconds + sum(run.get("cpu", 0.0) for run in self.runs))

    @property
    def wall(self) -> float:
        """Like `cpu`, but the runs of a race share it."""
        in_turn = sum(run.get("wall", 0.0) for run in self.runs if "began" not in run)
        return float(self.feature_seconds + self.race_seconds + in_turn)

    @property
    def race_seconds(self) -> float:
        return max((run["began"] + run.get("wall", 0.0) for run in self.runs if "began" in run), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return the line of a completed instance; extra runs may still be in progress."""
        extra_seconds = float(sum(run["seconds"] for run in self.extra.values()))
        extra = {"extra_runs": list(self.extra.values()), "extra_seconds": extra_seconds}
        return {
            "instance": self.instance,
            **({"attempt": self.attempt} if self.attempt else {}),
            "content": None if self.content is None else f"sha256:{self.content.sha256}",
            "answer": self.answer,
            "solver": None if self.answering is None else self.answering["solver"],
            **({"disputed": True} if self.verdict.is_open else {}),
            "seconds": self.seconds,
            "cpu": self.cpu,
            "wall": self.wall,
            "feature_seconds": self.feature_seconds,
            **({"problem": self.problem} if self.problem else {}),
            "runs": self.runs,
            **(extra if self.measure is not None or self.extra else {}),
        }


def new_record(
    instance: str, content: FileContent | None, before: InstanceRecord | None = None
) -> InstanceRecord:
    """Return the record of an instance that starts, or starts again on request or as its file has changed."""
    if before is None:
        return InstanceRecord(instance, content)
    old = None if before.content is None else before.content.sha256
    new = None if content is None else content.sha256
    return InstanceRecord(instance, content, attempt=before.attempt + before.begun if old == new else 0)


def check_same(journal: Journal, project: int, description: Mapping[str, Any]) -> None:
    """Raise unless a project was created with this description."""
    before = journal.description(project)
    for name, value in description.items():
        if before.get(name) != value:
            raise InputError(
                f"{journal.path} was created with {name} {before.get(name)}, not {value}: use "
                "that, or give another state file"
            )


def _run_record(solver: str, budget: float, note: Mapping[str, Any]) -> RunRecord:
    return cast("RunRecord", {"solver": solver, "budget": budget, **note})


def instance_records(project: Project) -> dict[str, InstanceRecord]:
    return read_records(project.history(), schedules=project.selector.schedules)


def read_records(history: Iterable[Event], *, schedules: bool) -> dict[str, InstanceRecord]:
    found: dict[str, InstanceRecord] = {}
    by_first: dict[int | None, InstanceRecord] = {}
    first_decisions = FirstDecisions()
    for event in history:
        body, first, decision = event.body, first_decisions.of(event), event.decision()
        note = body.get("note", {})
        match event.kind:
            case EventKind.SELECT if first in by_first and decision is not None:
                by_first[first].joined(decision)
            case EventKind.SELECT if decision is not None:
                record = found[body["instance"]] = by_first[first] = _begun(body["instance"], note, found)
                record.selected(decision, body["features"], note)
                record.cutoff = note.get("cutoff", decision.cutoff)
            case EventKind.OBSERVE:
                by_first[first].observed(note, schedules=schedules, decision=body["decision"])
            case EventKind.PROCEED:
                by_first[first].proceeded(decision)
            case EventKind.FIT if "measured" in note:
                by_first[note["decision"]].measured(note["measured"], note["budget"], note["run"])
            case EventKind.REMOVE_ALGORITHM:
                for record in found.values():
                    record.without(body["algorithm"])
            case EventKind.FEATURES:
                record = found[body["instance"]] = _begun(body["instance"], body, found)
                record.computed = ComputedFeatures.read(body)
            case EventKind.REMARK if "aside" in body:
                solver = body["aside"]["solver"]
                for record in found.values():
                    if any(run["solver"] == solver for run in record.runs):
                        record.void.add(solver)
            case EventKind.REMARK if "back" in body:
                for record in found.values():
                    record.forgiven.add(body["back"])
            case EventKind.REMARK if "instance" in body:
                record = found[body["instance"]] = _begun(body["instance"], note, found)
                record.given_up(note)
    return found


def _begun(instance: str, note: Mapping[str, Any], found: Mapping[str, InstanceRecord]) -> InstanceRecord:
    content = note.get("content")
    return new_record(instance, None if content is None else FileContent(**content), found.get(instance))
