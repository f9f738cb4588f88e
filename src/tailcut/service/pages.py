"""Pages for browsers: the dashboard and the API's description, with nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from tailcut.service.assets import ASSETS, content

router = APIRouter(include_in_schema=False)


@router.get("/")
async def start() -> Response:
    """Return the dashboard: a page without data, which asks for a token and then loads data with it."""
    return HTMLResponse(content("index.html"))


def _file(name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    async def give() -> Response:
        return Response(content(name), media_type=kind)

    return give


for _name, _kind in ASSETS.items():
    router.add_api_route(f"/page/{_name}", _file(_name, _kind), methods=["GET"])


@router.get("/docs")
async def docs(request: Request) -> Response:
    """List the routes; without scripts, styles or pictures, so the strictest policy holds."""
    return HTMLResponse(_page(request.app.openapi()))


def _page(document: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{method.upper()} {escape(path)}</code><td>{escape(operation.get('summary', ''))}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    info = document["info"]
    title, version = escape(info["title"]), escape(info["version"])
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        f"<meta name='viewport' content='width=device-width'><h1>{title} {version}</h1>"
        f"<p>{escape(info['description'])}</p><table>{''.join(rows)}</table></html>"
    )
