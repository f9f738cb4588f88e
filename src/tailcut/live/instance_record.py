"""The record of one instance: its features, its runs, its answer; made live or read back from the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NotRequired, TypedDict, cast

from tailcut.journal import Event, EventKind
from tailcut.live.content import FileContent


class RunRecord(TypedDict):
    """What is kept of a run that ended; runs of a solver that is gone have no measurements."""

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
    said: NotRequired[str]
    """The end of what it printed, where that was no answer."""


class ChosenRun(NamedTuple):
    """A decision whose run has not ended."""

    decision: int
    solver: str
    budget: float


@dataclass
class InstanceRecord:
    """How far an instance has come. The same steps build it live and from the journal."""

    instance: str
    content: FileContent | None = None
    """What its file held; None if that is not known."""
    feature_seconds: float = 0.0
    problem: str | None = None
    """What went wrong with its features, if something did."""
    runs: list[RunRecord] = field(default_factory=list)
    """The runs that ended, in order."""
    pending: ChosenRun | None = None
    last_decision: int | None = None
    """The last decision that was observed."""
    over: bool = False

    def selected(self, pending: ChosenRun, note: Mapping[str, Any]) -> None:
        """Add the first decision."""
        self.feature_seconds = note.get("feature_seconds", 0.0)
        self.problem = note.get("problem")
        self.pending = pending

    def observed(self, note: Mapping[str, Any], *, schedules: bool) -> None:
        """Add how the pending run ended."""
        assert self.pending is not None
        self.last_decision = self.pending.decision
        run = {"solver": self.pending.solver, "budget": self.pending.budget, **note}
        self.runs.append(cast("RunRecord", run))
        self.pending = None
        self.over = self.answer is not None or not schedules

    def proceeded(self, pending: ChosenRun | None) -> None:
        """Add the next decision, or that there is none."""
        self.pending = pending
        self.over = pending is None

    def given_up(self, note: Mapping[str, Any]) -> None:
        """Add that the features took all the time there was."""
        self.feature_seconds, self.problem, self.over = note["feature_seconds"], note.get("problem"), True

    @property
    def answer(self) -> str | None:
        """The answer, None if there is none yet."""
        return self.runs[-1]["answer"] if self.runs else None

    @property
    def seconds(self) -> float:
        """Seconds used so far, features included."""
        return float(self.feature_seconds + sum(run["seconds"] for run in self.runs))

    def as_dict(self) -> dict[str, Any]:
        """Return what is written about the instance when it is over."""
        return {
            "instance": self.instance,
            "content": None if self.content is None else f"sha256:{self.content.sha256}",
            "answer": self.answer,
            "solver": self.runs[-1]["solver"] if self.answer is not None else None,
            "seconds": self.seconds,
            "feature_seconds": self.feature_seconds,
            **({"problem": self.problem} if self.problem else {}),
            "runs": self.runs,
        }


def read_records(history: Iterable[Event], *, schedules: bool) -> dict[str, InstanceRecord]:
    """Return the records of all instances in a journal, by name."""
    found: dict[str, InstanceRecord] = {}
    by_decision: dict[int, InstanceRecord] = {}
    for event in history:
        body = event.body
        note = body.get("note", {})
        if event.kind == EventKind.SELECT:
            record = found[body["instance"]] = _begun(body["instance"], note)
            record.selected(_pending(body["decision"]), note)
            by_decision[body["decision"]["id"]] = record
        elif event.kind == EventKind.OBSERVE:
            by_decision[body["decision"]].observed(note, schedules=schedules)
        elif event.kind == EventKind.PROCEED:
            record = by_decision.pop(body["after"])
            record.proceeded(None if body["decision"] is None else _pending(body["decision"]))
            if body["decision"] is not None:
                by_decision[body["decision"]["id"]] = record
        elif event.kind == EventKind.REMARK:
            record = found[body["instance"]] = _begun(body["instance"], note)
            record.given_up(note)
    return found


def _begun(instance: str, note: Mapping[str, Any]) -> InstanceRecord:
    """Return a new record: an instance is begun twice if its file has changed in between."""
    return InstanceRecord(instance, FileContent.read(note.get("content")))


def _pending(decision: Mapping[str, Any]) -> ChosenRun:
    return ChosenRun(decision["id"], decision["algorithm"], decision["budget"])
