"""The course of one instance: its features, its runs, its answer; made live or read back from the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailcut.journal import Event, EventKind


@dataclass
class Course:
    """How far an instance has come. The same steps build it live and from the journal."""

    instance: str
    feature_seconds: float = 0.0
    problem: str | None = None
    """What went wrong with its features, if something did."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    """What was noted of each run that ended, in order; see `tailcut.live.judge.note`."""
    waiting: dict[str, Any] | None = None
    """The decision whose run has not ended: id, algorithm, budget, stage."""
    last: int | None = None
    """The last decision that was observed."""
    over: bool = False

    def selected(self, decision: Mapping[str, Any], note: Mapping[str, Any]) -> None:
        """Take note of the first decision."""
        self.feature_seconds = note.get("feature_seconds", 0.0)
        self.problem = note.get("problem")
        self.waiting = dict(decision)

    def observed(self, note: Mapping[str, Any], *, schedules: bool) -> None:
        """Take note of how the run that was waited for ended."""
        assert self.waiting is not None
        self.last = self.waiting["id"]
        self.runs.append({"solver": self.waiting["algorithm"], "budget": self.waiting["budget"], **note})
        self.waiting = None
        self.over = self.answer is not None or not schedules

    def proceeded(self, decision: Mapping[str, Any] | None) -> None:
        """Take note of the next decision, or that there is none."""
        self.waiting = None if decision is None else dict(decision)
        self.over = decision is None

    def given_up(self, note: Mapping[str, Any]) -> None:
        """Take note that the features took all the time there was."""
        self.feature_seconds, self.problem, self.over = note["feature_seconds"], note.get("problem"), True

    @property
    def answer(self) -> str | None:
        """The answer, None if there is none yet."""
        return self.runs[-1]["answer"] if self.runs else None

    @property
    def seconds(self) -> float:
        """Seconds used so far, features included."""
        return float(self.feature_seconds + sum(run["seconds"] for run in self.runs))

    def record(self) -> dict[str, Any]:
        """Return the line that is written about the instance when it is over."""
        return {
            "instance": self.instance,
            "answer": self.answer,
            "solver": self.runs[-1]["solver"] if self.answer is not None else None,
            "seconds": self.seconds,
            "feature_seconds": self.feature_seconds,
            **({"problem": self.problem} if self.problem else {}),
            "runs": self.runs,
        }


def read_courses(history: Iterable[Event], *, schedules: bool) -> dict[str, Course]:
    """Return the courses of all instances in a journal, by name."""
    found: dict[str, Course] = {}
    by_decision: dict[int, Course] = {}
    for event in history:
        body = event.body
        note = body.get("note", {})
        if event.kind == EventKind.SELECT:
            course = found.setdefault(body["instance"], Course(body["instance"]))
            course.selected(body["decision"], note)
            by_decision[body["decision"]["id"]] = course
        elif event.kind == EventKind.OBSERVE:
            by_decision[body["decision"]].observed(note, schedules=schedules)
        elif event.kind == EventKind.PROCEED:
            course = by_decision.pop(body["after"])
            course.proceeded(body["decision"])
            if body["decision"] is not None:
                by_decision[body["decision"]["id"]] = course
        elif event.kind == EventKind.REMARK:
            found.setdefault(body["instance"], Course(body["instance"])).given_up(note)
    return found
