"""The routes that make projects, describe them, and change what they choose from."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from starlette.responses import Response

from tailcut.catalogue import find_all
from tailcut.errors import InputError
from tailcut.journal import Project
from tailcut.journal.replay import make
from tailcut.service import responses
from tailcut.service import service_limits as limits
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.request_bodies import AlgorithmBody, ProjectBody
from tailcut.service.responses import LimitError, ProjectResponse, SetAsideError, json_response
from tailcut.service.shared import Name, Router, ServiceContext, Shared
from tailcut.service.steps import check_cells

router = Router("/v1", "projects")
Algorithm = Annotated[str, Path(max_length=limits.ALGORITHM_NAME, description="The algorithm's name")]


@router.json("GET", "/selectors", responses.SelectorListResponse, "List the selectors a project may use")
async def list_selectors() -> Response:
    """Return every selector with its hyperparameters."""
    fields = ("name", "summary", "kind", "hyperparameters")
    rows = [{field: row.describe()[field] for field in fields} for row in find_all()]
    return json_response({"selectors": rows})


@router.json(
    "POST",
    "/projects",
    ProjectResponse,
    "Create a project",
    status_code=201,
    responses={200: {"model": ProjectResponse, "description": "It already existed with the same settings"}},
)
async def create(project: ProjectBody, shared: Shared) -> Response:
    """Begin a project; the very same request again finds it there."""
    described = project.model_dump(exclude={"name"})
    if project.max_pending > shared.limits.pending:
        raise InputError(
            f"max_pending must be at most {shared.limits.pending}, got {project.max_pending}",
            field="max_pending",
        )
    info, status = await shared.writer.with_journal(lambda: _create(shared, project.name, described))
    return json_response(info, status)


def _create(shared: ServiceContext, name: str, described: dict[str, Any]) -> tuple[dict[str, Any], int]:
    writer = shared.writer
    if name in writer.broken:
        raise SetAsideError(f"project {name!r} is damaged and set aside: {writer.broken[name]}")
    if name in writer.projects:
        if writer.projects[name].description != described:
            raise LimitError(f"there is a project {name!r} already, with other settings")
        return info(writer.projects[name]), 200
    if len(writer.projects) + len(writer.broken) >= shared.limits.projects:
        raise LimitError(f"there are {shared.limits.projects} projects already, which is this server's limit")
    _try_out(described)
    project = Project.create(writer.journal, name, described)
    writer.journal.if_lost(lambda: writer.drop(name))
    writer.adopt(project)
    return info(project), 201


def _try_out(described: dict[str, Any]) -> None:
    """Let a selector like this decide once, so that what is wrong with it is found now."""
    selector = make(described)
    width = len(described["feature_names"] or [0.0])
    if selector.needs_features:
        check_cells(len(selector.algorithms), width, selector.hyperparameters, described["max_pending"])
    selector.select([0.0] * width)


@router.json("GET", "/projects", responses.ProjectListResponse, "List projects")
async def list_projects(shared: Shared) -> Response:
    """Return all projects in the order of their creation."""
    writer = shared.writer
    return json_response(
        {"projects": await writer.with_journal(lambda: list(map(info, writer.projects.values())))}
    )


@router.json("GET", "/projects/{project}", ProjectResponse, "Describe one project")
async def get(project: Name, shared: Shared) -> Response:
    """Return what a project is made of."""
    return json_response(await shared.writer.with_project(project, info))


@router.json(
    "DELETE", "/projects/{project}", responses.RemovedResponse, "Remove a project with all its history"
)
async def remove(project: Name, shared: Shared) -> Response:
    """Remove a project for good, also a damaged one; one that is gone changes nothing."""
    writer = shared.writer
    return json_response({"removed": await writer.with_journal(lambda: _remove(writer, project))})


def _remove(writer: JournalWriter, name: str) -> bool:
    number = writer.journal.projects().get(name)
    if number is None:
        return False
    project, reason = writer.projects.get(name), writer.broken.get(name)

    def put_back() -> None:
        if reason is not None:
            writer.broken[name] = reason
        elif project is not None:
            writer.adopt(project)

    writer.journal.if_lost(put_back)
    writer.journal.remove(number)
    writer.drop(name)
    return True


@router.json("POST", "/projects/{project}/algorithms", ProjectResponse, "Add an algorithm")
async def add_algorithm(project: Name, algorithm: AlgorithmBody, shared: Shared) -> Response:
    """Offer one more algorithm from now on; one that is there already changes nothing."""

    def work(kept: Project) -> dict[str, Any]:
        selector = kept.selector
        if algorithm.name not in selector.algorithms:
            if len(selector.algorithms) >= limits.ALGORITHMS:
                raise LimitError(f"there are {limits.ALGORITHMS} algorithms already, which is the limit")
            check_cells(len(selector.algorithms) + 1, selector.n_features or 0, selector.hyperparameters)
            kept.add_algorithm(algorithm.name)
        return info(kept)

    return json_response(await shared.writer.with_project(project, work, slow=True))


@router.json(
    "DELETE", "/projects/{project}/algorithms/{algorithm:path}", ProjectResponse, "Remove an algorithm"
)
async def remove_algorithm(project: Name, algorithm: Algorithm, shared: Shared) -> Response:
    """Stop offering an algorithm and forget what was learned about it; one that is gone changes nothing."""

    def work(kept: Project) -> dict[str, Any]:
        if algorithm in kept.selector.algorithms:
            kept.remove_algorithm(algorithm)
        return info(kept)

    return json_response(await shared.writer.with_project(project, work, slow=True))


def info(project: Project) -> dict[str, Any]:
    """Return what clients get to know of a project."""
    selector = project.selector
    return {
        "name": project.name,
        "created": project.journal.created(project.number),
        "selector": selector.name,
        "algorithms": selector.algorithms,
        "cutoff": selector.cutoff,
        "seed": project.description["seed"],
        "hyperparameters": selector.hyperparameters,
        "feature_names": selector.feature_names,
        "n_features": selector.n_features,
        "needs_features": selector.needs_features,
        "feature_budget": selector.feature_budget(),
        "schedules": selector.schedules,
        "max_pending": project.statistics.limit,
        "pending": len(project.statistics.pending),
        "decisions": project.statistics.decisions,
        "instances": project.statistics.instances,
        "solved": project.statistics.solved,
        "par10": project.statistics.par10,
        "last_event": project.last_event,
    }
