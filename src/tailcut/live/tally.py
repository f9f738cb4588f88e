"""Counting what happens in a run: solved, unsolved, time per solver, what runs now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tailcut.live.course import Course
from tailcut.live.engine import News


@dataclass
class Share:
    """What one solver did."""

    runs: int = 0
    solved: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Current:
    """What an instance is being given right now."""

    doing: str
    """A solver's name, or `features`."""
    budget: float | None
    since: float
    """By the tally's clock."""


@dataclass
class Tally:
    """Sums over the instances that are over, and what the others are doing."""

    clock: Callable[[], float] = time.monotonic
    solved: int = 0
    unsolved: int = 0
    seconds: float = 0.0
    feature_seconds: float = 0.0
    problems: list[str] = field(default_factory=list)
    """Answers refuted, programs missing and the like, with their instances."""
    solvers: dict[str, Share] = field(default_factory=dict)
    current: dict[str, Current] = field(default_factory=dict)
    """By instance, in the order in which they began."""

    @staticmethod
    def of(courses: Iterable[Course]) -> Tally:
        """Return the tally of what was done before."""
        tally = Tally()
        for course in courses:
            for run in course.runs:
                tally._ran(run)
            if course.over:
                tally._over(course)
        return tally

    def take(self, news: News) -> None:
        """Take in what happened."""
        name = news.course.instance
        if news.kind == "computing":
            self.current[name] = Current("features", None, self.clock())
        elif news.kind == "running":
            self.current[name] = Current(str(news.solver), news.budget, self.clock())
        elif news.kind == "ended" and news.run is not None:
            self._ran(dict(news.run))
            if news.run.get("problem"):
                self.problems.append(f"{name}: {news.solver}: {news.run['problem']}")
        elif news.kind == "over":
            self.current.pop(name, None)
            self._over(news.course)
            if news.course.problem:
                self.problems.append(f"{name}: {news.course.problem}")

    def _ran(self, run: dict[str, Any]) -> None:
        share = self.solvers.setdefault(run["solver"], Share())
        share.runs += 1
        share.seconds += run["seconds"]
        share.solved += run["answer"] is not None

    def _over(self, course: Course) -> None:
        self.solved += course.answer is not None
        self.unsolved += course.answer is None
        self.seconds += course.seconds
        self.feature_seconds += course.feature_seconds

    @property
    def over(self) -> int:
        """How many instances are over."""
        return self.solved + self.unsolved
