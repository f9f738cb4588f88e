"""What all routes share, and those that decide, learn, and make and change projects."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeVar, get_type_hints

from fastapi import APIRouter, Depends, HTTPException, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tailcut.catalogue import find_all
from tailcut.errors import InputError, JournalError, TailcutError
from tailcut.journal import Journal, Project
from tailcut.journal.replay import make
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.service import request_bodies as bodies
from tailcut.service import responses
from tailcut.service import service_limits as limits
from tailcut.service.guard import Access
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.responses import LimitError, ProjectResponse, SetAsideError, json_response
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.statistics import Estimates, ServerMetrics
from tailcut.types import Decision

T = TypeVar("T")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class JournalReader:
    """Reads the journal while the writer writes, one query at a time."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._lock = journal, threading.Lock()

    async def read(self, work: Callable[[Journal], T]) -> T:
        """Run a query on the journal in another thread."""

        def locked() -> T:
            with self._lock:
                return work(self._journal)

        return await asyncio.to_thread(locked)

    def close(self) -> None:
        with self._lock:
            self._journal.close()


@dataclass
class ServiceContext:
    """Everything that a route may need."""

    writer: JournalWriter
    reader: JournalReader
    limits: ServiceLimits
    metrics: ServerMetrics
    access: Access
    estimates: Estimates
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    streams: int = 0
    """Live streams that are open."""


async def _context(request: Request) -> ServiceContext:  # async: otherwise it would run in another thread
    context: ServiceContext = request.app.state.context
    return context


Shared = Annotated[ServiceContext, Depends(_context)]
Name = Annotated[
    str,
    Path(alias="project", max_length=limits.PATH_NAME, description="The project's name", examples=["sat"]),
]


class Route(APIRoute):
    """A route whose body, if it takes one, is read and checked here.

    FastAPI describes these routes in the OpenAPI document. It would also fill in their arguments, but that
    takes several times as long as a decision.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        super().__init__(path, endpoint, **settings)
        for name, kind in get_type_hints(endpoint).items():
            if isinstance(kind, type) and issubclass(kind, bodies.Body):
                self._argument, self._model = name, kind
                self.app = self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        arguments = scope["path_params"]
        if len(arguments.get("project", "")) > limits.PATH_NAME:
            raise RequestValidationError([_TOO_LONG])
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        content = _parsed(await _read(receive), kind)
        try:
            body = self._model.model_validate(content, from_attributes=True)
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None
        shared = scope["app"].state.context
        response = await self.endpoint(**arguments, **{self._argument: body}, shared=shared)
        await response(scope, receive, send)


class Router(APIRouter):
    """Routes that respond with JSON of a model, or with one of the usual errors."""

    def __init__(self, prefix: str, tag: str) -> None:
        super().__init__(prefix=prefix, tags=[tag], route_class=Route, responses=responses.ERRORS)

    def json(
        self, method: str, path: str, model: type[BaseModel], summary: str, **more: Any
    ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator, as `api_route` does."""
        return self.api_route(path, methods=[method], response_model=model, summary=summary, **more)


_TOO_LONG = {
    "loc": ("project",),
    "msg": f"String should have at most {limits.PATH_NAME} characters",
    "type": "",
}
_JSON = re.compile(rb"application/(\S+\+)?json\s*(;|$)", re.IGNORECASE)


async def _read(receive: Receive) -> bytes:
    pieces, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


def _parsed(content: bytes, kind: bytes) -> Any:
    """Return what a body holds; one of another type stays bytes, which no model accepts."""
    if not content:
        raise RequestValidationError([{"loc": ("body",), "msg": "Field required", "type": "missing"}])
    if kind != b"application/json" and not _JSON.match(kind):
        return content
    # A shorter body cannot have that many, and need not be searched.
    if len(content) > limits.PARTS and any(content.count(sign) > limits.PARTS for sign in (b":", b"[", b"{")):
        raise HTTPException(413, f"the body has too many parts: at most {limits.PARTS} fields or lists")
    try:
        return from_json(content, allow_inf_nan=True)  # so that the field at fault can be named
    except ValueError as error:
        message = f"this is not JSON: {error}"
        raise RequestValidationError([{"loc": ("body",), "msg": message, "type": "json_invalid"}]) from None


step = Router("/v1/projects/{project}", "steps")


@step.json("POST", "/select", responses.DecisionResponse, "Decide which algorithm to run on an instance")
async def select(project: Name, request: bodies.SelectBody, shared: Shared) -> Response:
    """Return which algorithm to run and for how long; the decision is on disk by then.

    With a `key` the request may be sent again, after a lost connection for example: the response is the same.
    """

    def work(kept: Project) -> dict[str, Any]:
        return _decide(kept, request, _decided_before(kept, [request]))

    return json_response(await shared.writer.with_project(project, work, timed=True))


@step.json("POST", "/race", responses.RaceResponse, "Decide which algorithms to run on an instance at once")
async def race(project: Name, request: bodies.RaceBody, shared: Shared) -> Response:
    """Return up to `k` runs that are best together; the first answer wins, and each run is observed.

    With a `key` the request may be sent again, as with `select`.
    """

    def work(kept: Project) -> dict[str, Any]:
        check_room(kept, request.features)
        before = kept.selector.decisions
        decisions = kept.race(**dict(request))
        return {"decisions": [response_of(decision, decision.id < before) for decision in decisions]}

    return json_response(await shared.writer.with_project(project, work, timed=True, steps=request.k))


@step.json("POST", "/select/batch", responses.DecisionBatchResponse, "Decide for several instances at once")
async def select_batch(project: Name, batch: bodies.SelectBatchBody, shared: Shared) -> Response:
    """Return a decision for each request, or what was wrong with it; one does not hinder the others."""

    def work(kept: Project) -> list[dict[str, Any]]:
        before, answers = _decided_before(kept, batch.requests), []
        for request in batch.requests:
            decision, error = _attempt(partial(_decide, kept, request, before))
            answers.append({"decision": decision, "error": error})
        return answers

    steps = len(batch.requests)
    return json_response({"answers": await shared.writer.with_project(project, work, steps=steps)})


@step.json("POST", "/observe", responses.ObservationResponse, "Report how a run went")
async def observe(project: Name, outcome: bodies.ObserveBody, shared: Shared) -> Response:
    """Learn from an outcome, however late and in whatever order; the same one again changes nothing."""
    learned = await shared.writer.with_project(project, partial(_observe, outcome), slow=True)
    return json_response({"decision": outcome.decision, "learned": learned})


@step.json("POST", "/observe/batch", responses.ObservationBatchResponse, "Report how several runs went")
async def observe_batch(project: Name, batch: bodies.ObserveBatchBody, shared: Shared) -> Response:
    """Learn from several outcomes; one that is wrong does not hinder the others."""

    def work(kept: Project) -> list[dict[str, Any]]:
        answers = []
        for outcome in batch.outcomes:
            learned, error = _attempt(partial(_observe, outcome, kept))
            answers.append({"decision": outcome.decision, "learned": bool(learned), "error": error})
        return answers

    steps = len(batch.outcomes)
    return json_response({"answers": await shared.writer.with_project(project, work, slow=True, steps=steps)})


@step.json("POST", "/proceed", responses.ProceedResponse, "Continue with an instance that is not solved")
async def proceed(project: Name, request: bodies.ProceedBody, shared: Shared) -> Response:
    """Return the next run of a schedule on the same instance, or null: it is over.

    Sent again, the response is the same.
    """

    def work(kept: Project) -> dict[str, Any]:
        following, repeated = kept.proceed_again(request.decision, spent=request.spent)
        return {"decision": None if following is None else response_of(following, repeated)}

    return json_response(await shared.writer.with_project(project, work, timed=True))


@step.json("POST", "/fit", responses.FitResponse, "Learn from recorded runs")
async def fit(project: Name, runs: bodies.FitBody, shared: Shared) -> Response:
    """Learn every known run, as if it had just been observed; all others wait meanwhile.

    With a `key` the request may be sent again: nothing is learned twice. Several requests are learned one
    after the other, which is not quite the same as all their runs at once.
    """
    # Parsing tables takes time, so it is done before the request is queued.
    recorded = await asyncio.to_thread(lambda: RecordedRuns.from_dict(runs.model_dump()))

    def work(kept: Project) -> int:
        check_room(kept, range(recorded.features.shape[1]))
        return kept.fit(recorded, known=recorded.known, key=runs.key)

    return json_response({"runs": await shared.writer.with_project(project, work, slow=True)})


def _decided_before(kept: Project, requests: list[bodies.SelectBody]) -> dict[str, Decision]:
    return kept.decided_before([request.key for request in requests if request.key is not None])


def _decide(kept: Project, request: bodies.SelectBody, before: dict[str, Decision]) -> dict[str, Any]:
    """Return the decision for a request: a new one, or the one already made for its key."""
    if request.key in before:
        return response_of(before[request.key], repeated=True)
    check_room(kept, request.features)
    decision = kept.decide(request.request(), key=request.key)
    if request.key is not None:
        before[request.key] = decision  # the same batch may repeat a key
    return response_of(decision, repeated=False)


def _observe(outcome: bodies.ObserveBody, kept: Project) -> bool:
    return kept.observe(outcome.decision, outcome.outcome())


def _attempt(step: Callable[[], T]) -> tuple[T | None, dict[str, Any] | None]:
    """Return what an item of a batch came to, or what was wrong with it."""
    try:
        return step(), None
    except JournalError:
        raise  # nothing of the batch will be written
    except TailcutError as error:
        return None, responses.described(error)


def response_of(decision: Decision, repeated: bool) -> dict[str, Any]:
    """Return a decision as clients get it."""
    return {**decision.to_dict(), "repeated": repeated}


def check_room(kept: Project, features: Sized | None) -> None:
    """Raise if so many features, the first that a project sees, would make its model too large."""
    selector = kept.selector
    if features is not None and selector.needs_features and not selector.n_features:
        width = len(selector.feature_names or features)
        check_cells(len(selector.algorithms), width, selector.hyperparameters, kept.statistics.limit)


def check_cells(algorithms: int, features: int, settings: dict[str, Any], pending: int = 0) -> None:
    """Raise if a model for so many algorithms and features, or what waits, is too large."""
    if pending * features > limits.PENDING_CELLS:
        raise InputError(
            f"features: {features} of them for {pending} decisions that may wait are too many for this "
            f"server, which keeps {limits.PENDING_CELLS} numbers at most; give a smaller max_pending",
            field="features",
        )
    kept = max(settings.get("memory", 0), settings.get("window", 0))
    if kept * max(features, algorithms * settings.get("trees", 0)) > limits.MEMORY_CELLS:
        raise InputError(
            f"features: {features} of them, {algorithms} algorithms and a memory of {kept} are too many for "
            f"this server, which remembers {limits.MEMORY_CELLS} numbers at most; give a smaller memory",
            field="features",
        )
    if algorithms * features**2 > limits.CELLS:
        raise InputError(
            f"features: {features} of them for {algorithms} algorithms are too many for this server, "
            f"which keeps models of {limits.CELLS} numbers at most",
            field="features",
        )


manage = Router("/v1", "projects")
Algorithm = Annotated[str, Path(max_length=limits.ALGORITHM_NAME, description="The algorithm's name")]


@manage.json("GET", "/selectors", responses.SelectorListResponse, "List the selectors a project may use")
async def list_selectors() -> Response:
    """Return every selector with its hyperparameters."""
    fields = ("name", "summary", "kind", "hyperparameters")
    rows = [{field: row.describe()[field] for field in fields} for row in find_all()]
    return json_response({"selectors": rows})


@manage.json(
    "POST",
    "/projects",
    ProjectResponse,
    "Create a project",
    status_code=201,
    responses={200: {"model": ProjectResponse, "description": "It already existed with the same settings"}},
)
async def create(project: bodies.ProjectBody, shared: Shared) -> Response:
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


@manage.json("GET", "/projects", responses.ProjectListResponse, "List projects")
async def list_projects(shared: Shared) -> Response:
    """Return all projects in the order of their creation."""
    writer = shared.writer
    return json_response(
        {"projects": await writer.with_journal(lambda: list(map(info, writer.projects.values())))}
    )


@manage.json("GET", "/projects/{project}", ProjectResponse, "Describe one project")
async def get(project: Name, shared: Shared) -> Response:
    """Return what a project is made of."""
    return json_response(await shared.writer.with_project(project, info))


@manage.json(
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


@manage.json("POST", "/projects/{project}/algorithms", ProjectResponse, "Add an algorithm")
async def add_algorithm(project: Name, algorithm: bodies.AlgorithmBody, shared: Shared) -> Response:
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


@manage.json(
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
