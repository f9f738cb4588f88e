"""What the routes share: the writer, a second, read-only connection to the file, and how bodies are read."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, get_type_hints

from fastapi import APIRouter, Depends, HTTPException, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from tailcut.journal import Journal
from tailcut.service import service_limits as limits
from tailcut.service.guard import Access
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.request_bodies import Body
from tailcut.service.responses import ERRORS
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.statistics import Estimates, ServerMetrics

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
            if isinstance(kind, type) and issubclass(kind, Body):
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
        super().__init__(prefix=prefix, tags=[tag], route_class=Route, responses=ERRORS)

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
