"""From a state file to where a run stopped: the project, its solvers brought up to date, its instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tailcut.catalogue import recipe
from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.journal.project_description import NEEDS_HISTORY
from tailcut.live.course import Course, read_courses
from tailcut.live.engine import Engine
from tailcut.live.instances import Instance
from tailcut.live.portfolio import Portfolio
from tailcut.live.work import Work

PROJECT = "run"
"""The name of the project in a state file of `tailcut run`."""


@dataclass(frozen=True)
class Wanted:
    """How the selector of a run is to be made."""

    selector: str
    cutoff: float
    seed: int
    hyperparameters: Mapping[str, Any]


def open_project(journal: Journal, portfolio: Portfolio, wanted: Wanted) -> tuple[Project, list[str]]:
    """Return the project of a state file, begun or continued, and what changed about its solvers."""
    row = recipe(wanted.selector)
    settings = row.settings(dict(wanted.hyperparameters))
    if (
        portfolio.features is None
        and settings.get("representation", "none") != "none"
        and row.feature_budget(settings) is None
    ):
        raise InputError(
            f"{wanted.selector} cannot choose without features, and {portfolio.file} has no [features]"
        )
    description = {
        "selector": wanted.selector,
        "algorithms": list(portfolio.solvers),
        "cutoff": wanted.cutoff,
        "seed": wanted.seed,
        "hyperparameters": settings,
        "clock": portfolio.clock,
        NEEDS_HISTORY: True,  # which instances are over is read off the events
    }
    if PROJECT not in journal.projects():
        return Project.create(journal, PROJECT, description), []
    project = Project(journal, PROJECT)
    for field, value in description.items():
        before = project.description.get(field)
        if field != "algorithms" and before != value:
            raise InputError(
                f"{journal.path} was begun with {field} {before}, not {value}: "
                "go on with that, or give another state file"
            )
    return project, list(_bring_up_to_date(project, list(portfolio.solvers)))


def _bring_up_to_date(project: Project, solvers: list[str]) -> Iterator[str]:
    """Add and remove solvers as the portfolio file has changed; tell each."""
    before = project.selector.algorithms
    for name in solvers:
        if name not in before:
            project.add_algorithm(name)
            yield f"new solver {name}"
    for name in before:
        if name not in solvers:
            project.remove_algorithm(name)
            yield f"solver {name} is not in the portfolio any more"


def all_courses(project: Project) -> dict[str, Course]:
    """Return how far each instance of a project has come, by its name."""
    return read_courses(project.history(), schedules=project.selector.schedules)


def works(
    engine: Engine, instances: Iterable[Instance], courses: Mapping[str, Course]
) -> Iterator[Work[Course]]:
    """Yield the work that is left: instances that were under way first go on, those that are over are left.

    Those under way are among `instances` too, unless the command was changed: then they stay as they are.
    """
    for instance in instances:
        course = courses.get(instance.name)
        if course is None or not course.over:
            yield engine.serve(instance, course)
