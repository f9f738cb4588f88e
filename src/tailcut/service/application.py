"""The application: routes behind a guard, what they share, and the pages for browsers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from tailcut import __version__
from tailcut.errors import TailcutError
from tailcut.journal import Journal
from tailcut.service import projects, reading, responses, steps
from tailcut.service.guard import ASSETS, OPEN, PAGE, READING, Access, Guard
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.shared import JournalReader, ServiceContext
from tailcut.service.statistics import Estimates, ServerMetrics

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

    routers = (steps.router, projects.router, reading.server, reading.router, pages)  # the busiest first
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
        routes=[route for router in routers for route in router.routes],
    )
    app.add_exception_handler(TailcutError, _responder(responses.of_error))
    app.add_exception_handler(
        RequestValidationError, _responder(lambda e: responses.of_validation(e.errors()))
    )
    app.add_exception_handler(HTTPException, _responder(responses.of_http))
    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]
    app.add_middleware(Guard, access=access, metrics=metrics, hosts=hosts, limits=limits)
    return app


def _responder(respond: Callable[[Any], Response]) -> Callable[[Request, Any], Awaitable[Response]]:
    async def handle(_: Request, error: Any) -> Response:
        return respond(error)

    return handle


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document: FastAPI's, with the scopes."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
        )
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if (method.upper(), path) not in OPEN:
                    operation["security"] = [{"token": []}]
                    scope = "read" if method.upper() in READING else "write"
                    operation["description"] += f"\n\nNeeds a token with the scope `{scope}`."
        app.openapi_schema = document
    return app.openapi_schema


pages = APIRouter(include_in_schema=False)


def _file(name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    content = (PAGE / name).read_bytes()

    async def give() -> Response:
        return Response(content, media_type=kind)

    return give


# The dashboard: a page without data, which asks for a token and then loads data with it.
pages.add_api_route("/", _file("index.html", "text/html"))
for _name, _kind in ASSETS.items():
    pages.add_api_route(f"/page/{_name}", _file(_name, _kind))


@pages.get("/docs")
async def _docs(request: Request) -> Response:
    """List the routes; without scripts, styles or pictures, so the strictest policy holds."""
    document = request.app.openapi()
    rows = [
        f"<tr><td><code>{method.upper()} {escape(path)}</code><td>{escape(operation.get('summary', ''))}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    info = document["info"]
    title, version = escape(info["title"]), escape(info["version"])
    return HTMLResponse(
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        f"<meta name='viewport' content='width=device-width'><h1>{title} {version}</h1>"
        f"<p>{escape(info['description'])}</p><table>{''.join(rows)}</table></html>"
    )
