"""The engine: each instance from its features over one run or several to its answer, all of it journalled.

    features -> select -> run -> verify the answer -> observe -> proceed -> run ... -> done

`Engine.serve` is that line for one instance; `tailcut.live.work.drive` keeps several going, so feedback
comes late and in any order. Nothing is known of terminals here: who wants to see what happens listens.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailcut.errors import LiveError
from tailcut.journal import Project
from tailcut.live import judge
from tailcut.live.asking import answer_of, features_job, read_features, solver_job
from tailcut.live.course import Course
from tailcut.live.instances import Instance
from tailcut.live.limits import Ended
from tailcut.live.portfolio import Portfolio, Solver
from tailcut.live.work import Job, Work
from tailcut.types import Outcome


@dataclass(frozen=True)
class News:
    """Something happened to an instance: `computing` features, `running` a solver, `ended`, or `over`."""

    kind: str
    course: Course
    solver: str | None = None
    budget: float | None = None
    run: Mapping[str, Any] | None = None
    """What was noted of a run that ended."""


class Engine:
    """Serves instances with the solvers of a portfolio, chosen by the selector of a project."""

    def __init__(
        self,
        portfolio: Portfolio,
        project: Project,
        *,
        cutoff: float,
        outputs: Path | None = None,
    ) -> None:
        self.portfolio, self.project, self.cutoff, self.outputs = portfolio, project, cutoff, outputs
        self.listen: Callable[[News], None] = lambda _: None
        """Called with whatever happens."""

    def serve(self, instance: Instance, course: Course | None = None) -> Work[Course]:
        """Bring an instance to its end, from the beginning or from where its course stopped."""
        course = Course(instance.name) if course is None else course
        if course.waiting is None and course.last is None:
            yield from self._begin(instance, course)
        elif course.waiting is None and not course.over:
            self._proceed(course)
        while course.waiting is not None:
            yield from self._run(instance, course)
            if not course.over:
                self._proceed(course)
        self.listen(News("over", course))
        return course

    def _begin(self, instance: Instance, course: Course) -> Generator[Job, Ended, None]:
        """Compute the features and make the first decision."""
        values, seconds, problem = yield from self._features(instance, course)
        note: dict[str, Any] = {"feature_seconds": seconds}
        if problem is not None:
            note["problem"] = problem
        if seconds >= self.cutoff:
            self.project.remark({"instance": course.instance, "note": note})
            course.given_up(note)
            return
        decision = self.project.select(values, instance=course.instance, feature_cost=seconds, note=note)
        course.selected(decision.to_dict(), note)

    def _features(
        self, instance: Instance, course: Course
    ) -> Generator[Job, Ended, tuple[dict[str, float] | None, float, str | None]]:
        """Return the features, the seconds they took, and what went wrong, if something did.

        There are none where they cost more than they bring (docs/thrift.md), and where they failed.
        """
        program, selector = self.portfolio.features, self.project.selector
        budget = selector.feature_budget(cutoff=self.cutoff)
        if program is None or budget == 0.0:
            return None, 0.0, None
        self.listen(News("computing", course))
        ended = yield features_job(self.portfolio, program, instance, budget)
        values, problem = read_features(ended)
        seconds, known = judge.seconds_of(self.portfolio, ended), selector.feature_names
        if problem is not None and selector.spares_features:
            return None, seconds, None if judge.timed_out(self.portfolio, ended) else problem
        if problem is not None and known is None:
            raise LiveError(f"{instance.name}: {problem}; {selector.name} cannot choose without features")
        if known is not None:
            values = {name: values.get(name, math.nan) for name in known}
        return values, seconds, problem

    def _run(self, instance: Instance, course: Course) -> Generator[Job, Ended, None]:
        """Run the solver that is waited for, check what it says, and learn from it."""
        assert course.waiting is not None
        name, budget = course.waiting["algorithm"], course.waiting["budget"]
        solver = self.portfolio.solvers.get(name)
        if solver is None:  # taken out of the portfolio since the decision
            outcome, note = Outcome.failed(), {"ending": "gone", "seconds": 0.0, "answer": None}
        else:
            self.listen(News("running", course, name, budget))
            outcome, note = yield from self._try(solver, instance, budget)
        self.project.observe(course.waiting["id"], outcome, note=note)
        course.observed(note, schedules=self.project.selector.schedules)
        self.listen(News("ended", course, name, budget, course.runs[-1]))

    def _try(
        self, solver: Solver, instance: Instance, budget: float
    ) -> Generator[Job, Ended, tuple[Outcome, dict[str, Any]]]:
        """Return what a run of a solver teaches, and what is to be noted of it."""
        portfolio = self.portfolio
        ended = yield solver_job(portfolio, solver, instance, budget)
        answer, problem = yield from answer_of(portfolio, solver, instance, ended)
        note = judge.note(portfolio, ended, answer, problem)
        if answer is not None and self.outputs is not None:
            note["output"] = keep_output(self.outputs, instance, ended.output)
        return judge.outcome(portfolio, ended, answer, budget), note

    def _proceed(self, course: Course) -> None:
        """Ask for the next decision on an instance that is not solved."""
        assert course.last is not None
        following = self.project.proceed(course.last, spent=course.seconds)
        course.proceeded(None if following is None else following.to_dict())


def keep_output(folder: Path, instance: Instance, output: bytes) -> str:
    """Write the output of the run that answered; the name tells the instance."""
    name = instance.name.replace("%", "%25").replace(os.sep, "%2F") + ".out"
    target = folder / name
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as kept:
        kept.write(output)
        kept.flush()
        os.fsync(kept.fileno())
    Path(kept.name).replace(target)
    return str(target)
