"""What all routes share, and those that decide, learn, and make and change projects."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeVar

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
from tailcut.journal import Event, Journal, Project
from tailcut.journal.project import make, repeated_decision
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.service import request_bodies as bodies
from tailcut.service import responses
from tailcut.service import service_limits as limits
from tailcut.service.guard import Access
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.responses import DecisionResponse, LimitError, ProjectResponse, json_response, model
from tailcut.service.statistics import Estimates
from tailcut.types import Decision

T = TypeVar("T")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass
class ServiceContext:
    """Everything that a route may need."""

    writer: JournalWriter
    journal: Journal
    """For reading, while the writer writes: see `read`."""
    thread: ThreadPoolExecutor
    """Of one thread, so that there is one query at a time."""
    access: Access
    estimates: Estimates
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    streams: int = 0
    """Live streams that are open."""

    async def read(self, work: Callable[[Journal], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.thread, work, self.journal)


async def _context(request: Request) -> ServiceContext:  # async: otherwise it would run in another thread
    context: ServiceContext = request.app.state.context
    return context


Shared = Annotated[ServiceContext, Depends(_context)]
Name = Annotated[
    str,
    Path(alias="project", max_length=limits.PATH_NAME, description="The project's name", examples=["sat"]),
]


class Route(APIRoute):
    """A route whose body, if its endpoint has a parameter `body`, is read and checked here.

    FastAPI would also fill in the arguments, but that takes several times as long as a decision.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        super().__init__(path, endpoint, **settings)
        body = inspect.signature(endpoint, eval_str=True).parameters.get("body")
        if body is not None:
            self._model: type[bodies.Body] = body.annotation
            self.app = self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        arguments, content, more = scope["path_params"], bytearray(), True
        if len(arguments.get("project", "")) > limits.PATH_NAME:
            raise _invalid("project", f"String should have at most {limits.PATH_NAME} characters")
        while more:  # as Request.body does, in a third of the time
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            content += message.get("body", b"")
            more = message.get("more_body", False)
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        try:
            body = self._model.model_validate(_parsed(content, kind), from_attributes=True)
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None
        response = await self.endpoint(**arguments, body=body, shared=scope["app"].state.context)
        await response(scope, receive, send)


class Router(APIRouter):
    """Routes that respond with JSON of a model, or with one of the usual errors."""

    def __init__(self, prefix: str, tag: str) -> None:
        super().__init__(prefix=prefix, tags=[tag], route_class=Route, responses=responses.ERRORS)

    def json(
        self, method: str, path: str, schema: type[BaseModel], **more: Any
    ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator, as `api_route` does; the docstring's first line is the route's summary."""

        def decorator(endpoint: Endpoint) -> Endpoint:
            summary, _, description = (inspect.getdoc(endpoint) or "").partition(".\n\n")
            more.update(summary=summary.rstrip("."), description=description, response_model=schema)
            return self.api_route(path, methods=[method], **more)(endpoint)

        return decorator

    def work(
        self, method: str, path: str, schema: type[BaseModel], *, slow: bool = False, timed: bool = False
    ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator for work on a project, its first parameter; what it returns is the response."""

        def decorator(work: Endpoint) -> Endpoint:
            async def endpoint(project: Name, shared: Shared, **given: Any) -> Response:
                steps = given["body"].steps if "body" in given else 1
                bound = partial(work, **given)
                result = shared.writer.with_project(project, bound, slow=slow, timed=timed, steps=steps)
                return json_response(await result)

            name, shared, _ = inspect.signature(endpoint, eval_str=True).parameters.values()
            _, *others = inspect.signature(work, eval_str=True).parameters.values()
            described = [name, shared, *(one.replace(kind=one.KEYWORD_ONLY) for one in others)]
            endpoint.__signature__ = inspect.Signature(described)  # type: ignore[attr-defined]
            endpoint.__name__, endpoint.__doc__ = work.__name__, work.__doc__
            self.json(method, path, schema)(endpoint)
            return work

        return decorator


_JSON = re.compile(rb"application/(\S+\+)?json\s*(;|$)", re.IGNORECASE)


def _parsed(content: bytearray, kind: bytes) -> Any:
    """Return what a body holds; one of another type stays bytes, which no model accepts."""
    if not content:
        raise _invalid("body", "Field required")
    if kind != b"application/json" and not _JSON.match(kind):
        return content
    # A shorter body cannot have that many, and need not be searched.
    if len(content) > limits.PARTS and any(content.count(sign) > limits.PARTS for sign in (b":", b"[", b"{")):
        raise HTTPException(413, f"the body has too many parts: at most {limits.PARTS} fields or lists")
    try:
        parsed = from_json(content, allow_inf_nan=True)  # so that the field at fault can be named
        if content.count(b":") != _members(parsed):  # colons in texts, or a field that is given twice
            json.loads(content, object_pairs_hook=_checked, parse_int=str, parse_float=str)
    except ValueError as error:
        raise _invalid("body", f"this is not JSON: {error}") from None
    return parsed


def _members(value: Any) -> int:
    """Return how many fields an object has, with those of objects in it and in its lists."""
    if isinstance(value, dict):
        return len(value) + sum(_members(one) for one in value.values() if isinstance(one, dict | list))
    return sum(_members(one) for one in value if type(one) is dict) if isinstance(value, list) else 0


def _checked(members: list[tuple[str, Any]]) -> None:
    names = Counter(name for name, _ in members)
    if len(names) < len(members):
        raise _invalid("body", f"{names.most_common(1)[0][0][:50]!r} is given twice")


def _invalid(place: str, message: str) -> RequestValidationError:
    return RequestValidationError([{"loc": (place,), "msg": message, "type": "value_error"}])


step = Router("/v1/projects/{project}", "steps")


@step.work("POST", "/select", DecisionResponse, timed=True)
def select(project: Project, body: bodies.SelectBody) -> dict[str, Any]:
    """Decide which algorithm to run on an instance.

    It is on disk before the response. With a `key` the request may be sent again, after a lost connection for
    example: the response is the same.
    """
    return _decide(project, body, project.decided_before([body.key]))


@step.work("POST", "/race", model("RaceResponse", decisions=[DecisionResponse]), timed=True)
def race(project: Project, body: bodies.RaceBody) -> dict[str, Any]:
    """Decide which algorithms to run on an instance at once.

    These are up to `k` runs that are best together; the first answer wins, and each run is observed. With a
    `key` the request may be sent again, as with `select`.
    """
    check_room(project, body.features)
    before = project.selector.decisions
    decisions = project.race(**dict(body))
    return {"decisions": [response_of(decision, decision.id < before) for decision in decisions]}


@step.work("POST", "/select/batch", model("DecisionBatchResponse", answers=[responses.DecisionItem]))
def select_batch(project: Project, body: bodies.SelectBatchBody) -> dict[str, Any]:
    """Decide for several instances at once.

    There is a decision for each request, or what was wrong with it; one does not hinder the others.
    """
    keys = Counter(request.key for request in body.requests)
    before, answers = project.decided_before(keys), []
    for request in body.requests:
        if keys[request.key] > 1:  # this batch may have used it
            before |= project.decided_before([request.key])
        decision, error = _attempt(partial(_decide, project, request, before))
        answers.append({"decision": decision, "error": error})
    return {"answers": answers}


@step.work("POST", "/observe", model("ObservationResponse", decision=int, learned=bool), slow=True)
def observe(project: Project, body: bodies.ObserveBody) -> dict[str, Any]:
    """Report how a run went.

    It may come late and in any order; the same one again changes nothing, and `learned` is false.
    """
    return {"decision": body.decision, "learned": project.observe(body.decision, body.outcome())}


@step.work(
    "POST",
    "/observe/batch",
    model("ObservationBatchResponse", answers=[responses.ObservationItem]),
    slow=True,
)
def observe_batch(project: Project, body: bodies.ObserveBatchBody) -> dict[str, Any]:
    """Report how several runs went."""
    answers = []
    for one in body.outcomes:
        learned, error = _attempt(partial(project.observe, one.decision, one.outcome()))
        answers.append({"decision": one.decision, "learned": bool(learned), "error": error})
    return {"answers": answers}


@step.work("POST", "/proceed", model("ProceedResponse", decision=DecisionResponse | None), timed=True)
def proceed(project: Project, body: bodies.ProceedBody) -> dict[str, Any]:
    """Continue with an instance that is not solved.

    The response is the next run of a schedule, or null: it is over. Sent again, the response is the same.
    """
    following, repeated = project.proceed_again(body.decision, spent=body.spent)
    return {"decision": None if following is None else response_of(following, repeated)}


@step.json("POST", "/fit", model("FitResponse", runs=int))
async def fit(project: Name, body: bodies.FitBody, shared: Shared) -> Response:
    """Learn from recorded runs.

    Every known run is learned as if it had just been observed; all others wait meanwhile. With a `key` the
    request may be sent again: nothing is learned twice. Several requests are learned one after the other,
    which is not quite the same as all their runs at once.
    """
    # Parsing tables takes time, so it is done before the request is queued.
    recorded = await asyncio.to_thread(lambda: RecordedRuns.from_dict(body.model_dump()))

    def work(kept: Project) -> dict[str, int]:
        check_room(kept, range(recorded.features.shape[1]))
        return {"runs": kept.fit(recorded, known=recorded.known, key=body.key)}

    return json_response(await shared.writer.with_project(project, work, slow=True))


def _decide(kept: Project, request: bodies.SelectBody, before: dict[str | None, Event]) -> dict[str, Any]:
    """Return the decision for a request: a new one, or the one already made for its key."""
    asked = request.request()
    if request.key in before:
        return response_of(repeated_decision(before[request.key], asked), repeated=True)
    check_room(kept, request.features)
    return response_of(kept.decide(asked, key=request.key), repeated=False)


def _attempt(step: Callable[[], T]) -> tuple[T | None, dict[str, Any] | None]:
    """Return what an item of a batch came to, or what was wrong with it."""
    try:
        return step(), None
    except JournalError:
        raise  # nothing of the batch will be written
    except TailcutError as error:
        return None, responses.described(error)


def response_of(decision: Decision, repeated: bool) -> dict[str, Any]:
    return {**decision.to_dict(), "repeated": repeated}


def check_room(kept: Project, features: Sized | None) -> None:
    """Raise if so many features, the first that a project sees, would make its model too large."""
    selector = kept.selector
    if features is not None and selector.needs_features and not selector.n_features:
        width = len(selector.feature_names or features)
        check_cells(len(selector.algorithms), width, selector.hyperparameters, kept.statistics.limit)


def check_cells(algorithms: int, features: int, settings: dict[str, Any], pending: int = 0) -> None:
    """Raise if a model for so many algorithms and features, or what waits, is too large."""
    kept = max(settings.get("memory", 0), settings.get("window", 0))
    remembered = kept * max(features, algorithms * settings.get("trees", 0))
    for numbers, most, of, advice in (
        (pending * features, limits.PENDING_CELLS, f"{pending} decisions that may wait", "max_pending"),
        (remembered, limits.MEMORY_CELLS, f"{algorithms} algorithms and a memory of {kept}", "memory"),
        (algorithms * features**2, limits.CELLS, f"{algorithms} algorithms", "number of them"),
    ):
        if numbers > most:
            words = f"features: {features} of them for {of} are too many for this server, which keeps {most} "
            words += f"numbers at most; give a smaller {advice}"
            raise InputError(words, field="features")


manage = Router("/v1", "projects")
Algorithm = Annotated[str, Path(max_length=limits.ALGORITHM_NAME, description="The algorithm's name")]


@manage.json("GET", "/selectors", model("SelectorListResponse", selectors=[responses.SelectorInfo]))
async def list_selectors() -> Response:
    """List the selectors a project may use."""
    rows = [
        {field: row.describe()[field] for field in responses.SelectorInfo.model_fields} for row in find_all()
    ]
    return json_response({"selectors": rows})


@manage.json(
    "POST",
    "/projects",
    ProjectResponse,
    status_code=201,
    responses={200: {"model": ProjectResponse, "description": "It already existed with the same settings"}},
)
async def create(body: bodies.ProjectBody, shared: Shared) -> Response:
    """Create a project."""
    described = body.model_dump(exclude={"name"})
    most = shared.writer.limits.pending
    if body.max_pending > most:
        raise InputError(f"max_pending must be at most {most}, got {body.max_pending}", field="max_pending")
    info, status = await shared.writer.with_journal(lambda: _create(shared, body.name, described))
    return json_response(info, status)


def _create(shared: ServiceContext, name: str, described: dict[str, Any]) -> tuple[dict[str, Any], int]:
    writer = shared.writer
    if name in writer.broken:
        raise responses.SetAsideError(f"project {name!r} is damaged and set aside: {writer.broken[name]}")
    if name in writer.projects:
        if writer.projects[name].description != described:
            raise LimitError(f"there is a project {name!r} already, with other settings")
        return info(writer.projects[name]), 200
    if len(writer.projects) + len(writer.broken) >= writer.limits.projects:
        raise LimitError(f"there are {writer.limits.projects} projects already, which is this server's limit")
    selector = make(described)  # it decides once, so that what is wrong with it is found now
    width = len(described["feature_names"] or [0.0])
    if selector.needs_features:
        check_cells(len(selector.algorithms), width, selector.hyperparameters, described["max_pending"])
    selector.select([0.0] * width)
    project = Project.create(writer.journal, name, described)
    writer.journal.if_lost(lambda: writer.drop(name))
    writer.adopt(project)
    return info(project), 201


@manage.json("GET", "/projects", model("ProjectListResponse", projects=[ProjectResponse]))
async def list_projects(shared: Shared) -> Response:
    """List projects."""
    projects = shared.writer.projects
    infos = await shared.writer.with_journal(lambda: [info(project) for project in projects.values()])
    return json_response({"projects": infos})


@manage.work("GET", "/projects/{project}", ProjectResponse)
def get(project: Project) -> dict[str, Any]:
    """Describe one project."""
    return info(project)


@manage.json("DELETE", "/projects/{project}", model("RemovedResponse", removed=bool))
async def remove(project: Name, shared: Shared) -> Response:
    """Remove a project with all its history.

    It may be a damaged one; one that is gone changes nothing.
    """
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


@manage.work("POST", "/projects/{project}/algorithms", ProjectResponse, slow=True)
def add_algorithm(project: Project, body: bodies.AlgorithmBody) -> dict[str, Any]:
    """Add an algorithm."""
    selector = project.selector
    if body.name not in selector.algorithms:
        if len(selector.algorithms) >= limits.ALGORITHMS:
            raise LimitError(f"there are {limits.ALGORITHMS} algorithms already, which is the limit")
        check_cells(len(selector.algorithms) + 1, selector.n_features or 0, selector.hyperparameters)
        project.add_algorithm(body.name)
    return info(project)


@manage.work("DELETE", "/projects/{project}/algorithms/{algorithm:path}", ProjectResponse, slow=True)
def remove_algorithm(project: Project, algorithm: Algorithm) -> dict[str, Any]:
    """Remove an algorithm."""
    if algorithm in project.selector.algorithms:
        project.remove_algorithm(algorithm)
    return info(project)


def info(project: Project) -> dict[str, Any]:
    selector, statistics = project.selector, project.statistics
    return {
        "name": project.name,
        "created": project.journal.created(project.number),
        "selector": selector.name,
        "seed": project.description["seed"],
        "algorithms": selector.algorithms,
        "cutoff": selector.cutoff,
        "hyperparameters": selector.hyperparameters,
        "feature_names": selector.feature_names,
        "n_features": selector.n_features,
        "needs_features": selector.needs_features,
        "schedules": selector.schedules,
        "feature_budget": selector.feature_budget(),
        "max_pending": statistics.limit,
        "pending": len(statistics.pending),
        **{one: getattr(statistics, one) for one in ("decisions", "instances", "solved", "par10")},
        "last_event": project.last_event,
    }
