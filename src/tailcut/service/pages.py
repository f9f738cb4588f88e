"""What a browser sees: the way to the API's own description, with nothing from anywhere else."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

router = APIRouter(include_in_schema=False)


@router.get("/")
async def start() -> Response:
    """Lead to the description of the API."""
    return RedirectResponse("/docs", 307)


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
