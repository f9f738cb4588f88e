"""The files of the dashboard: a fixed list, so that a request cannot read any other file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_SCRIPTS = (
    "algorithms",
    "api",
    "app",
    "chart",
    "decisions",
    "dom",
    "explanation",
    "format",
    "live",
    "project",
    "projects",
    "scale",
)
ASSETS = {
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    **{f"{name}.js": "text/javascript; charset=utf-8" for name in _SCRIPTS},
}
"""File -> its type."""


@cache
def content(name: str) -> bytes:
    """Return what is in a file of the page."""
    return (files("tailcut.service") / "page" / name).read_bytes()
