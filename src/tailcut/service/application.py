"""The application: routes behind a guard, and what they share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tailcut import __version__
from tailcut.errors import TailcutError
from tailcut.journal import Journal
from tailcut.service import error_responses, pages, projects, reading, steps
from tailcut.service.access import Access
from tailcut.service.estimates import Estimates
from tailcut.service.guard import OPEN, READING, Guard
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.prometheus import ServerMetrics
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.shared import JournalReader, ServiceContext

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The host names of a local server."""
_DESCRIPTION = (
    "Which algorithm to run on which instance, learned from the outcomes. Every decision and outcome is on "
    "disk before it is answered. All requests but /v1/health need a token: 'Authorization: Bearer TOKEN'. "
    "The whole description is at /v1/openapi.json."
)


def build(
    path: Path, *, limits: ServiceLimits | None = None, hosts: frozenset[str] | None = LOCAL
) -> FastAPI:
    """Return the application for a state file, which exists; it is opened when the application starts."""
    limits, metrics, access = limits or ServiceLimits(), ServerMetrics(), Access(path)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        writer = JournalWriter(path, limits, metrics)
        reader = JournalReader(Journal(path, read_only=True))
        estimates = Estimates(path)
        app.state.context = ServiceContext(writer, reader, limits, metrics, access, estimates)
        writer.start()
        try:
            yield
        finally:
            await estimates.close()
            reader.close()
            writer.stop()

    app = FastAPI(
        title="Tailcut",
        version=__version__,
        summary="Online algorithm selection over HTTP",
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=lifespan,
        redirect_slashes=False,
        # The busiest first. Routers that are included are searched more slowly than routes.
        routes=[route for module in (steps, projects, reading, pages) for route in module.router.routes],
    )
    _handle_errors(app)
    app.openapi = _document(app)  # type: ignore[method-assign]
    app.add_middleware(Guard, access=access, metrics=metrics, hosts=hosts, limits=limits)
    return app


def _handle_errors(app: FastAPI) -> None:
    """Turn errors into responses of one shape."""

    @app.exception_handler(TailcutError)
    async def _ours(_: Request, error: TailcutError) -> Response:
        return error_responses.of_error(error)

    @app.exception_handler(RequestValidationError)
    async def _fields(_: Request, error: RequestValidationError) -> Response:
        return error_responses.of_validation(error.errors())

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        return error_responses.of_http(error)


def _document(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return the function that makes the OpenAPI document: FastAPI's, with the scopes."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                summary=app.summary,
                description=app.description,
                routes=app.routes,
            )
            schemes = document["components"].setdefault("securitySchemes", {})
            schemes["token"] = {"type": "http", "scheme": "bearer"}
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    if (method.upper(), path) not in OPEN:
                        operation["security"] = [{"token": []}]
                        scope = "read" if method.upper() in READING else "write"
                        operation["description"] += f"\n\nNeeds a token with the scope `{scope}`."
            app.openapi_schema = document
        return app.openapi_schema

    return openapi
