"""What the routes share: the writer, and a second, read-only connection to the file."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Depends, HTTPException, Path, Request
from fastapi.routing import APIRoute
from pydantic_core import from_json, to_json
from starlette.responses import Response

from tailcut.journal import Journal
from tailcut.service import service_limits as limits
from tailcut.service.access import Access
from tailcut.service.estimates import Estimates
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.prometheus import ServerMetrics
from tailcut.service.service_limits import ServiceLimits

T = TypeVar("T")


class JournalReader:
    """Reads the journal while the writer writes, one query at a time."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._lock = journal, threading.Lock()

    async def read(self, work: Callable[[Journal], T]) -> T:
        """Run a query on the journal in another thread."""
        return await asyncio.to_thread(self._read, work)

    def _read(self, work: Callable[[Journal], T]) -> T:
        with self._lock:
            return work(self._journal)

    def close(self) -> None:
        """Close the file."""
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
    found: ServiceContext = request.app.state.context
    return found


Shared = Annotated[ServiceContext, Depends(_context)]
Name = Annotated[
    str, Path(alias="project", max_length=200, description="The project's name", examples=["sat"])
]


class _Request(Request):
    """Reads JSON with pydantic's parser, which is an order of magnitude faster."""

    async def json(self) -> Any:
        body = await self.body()
        # A shorter body cannot have that many, and need not be searched.
        if len(body) > limits.PARTS and any(body.count(sign) > limits.PARTS for sign in (b":", b"[", b"{")):
            raise HTTPException(413, f"the body has too many parts: at most {limits.PARTS} fields or lists")
        try:
            return from_json(body, allow_inf_nan=True)  # so that the field at fault can be named
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


class Route(APIRoute):
    """A route whose bodies are read fast."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return FastAPI's handler, with a request that parses fast."""
        handler = super().get_route_handler()

        async def read_fast(request: Request) -> Any:
            return await handler(_Request(request.scope, request.receive))

        return read_fast


def json_response(content: Any, status: int = 200) -> Response:
    """Return values as JSON, without checking them by a model."""
    return Response(to_json(content, inf_nan_mode="null"), status, media_type="application/json")
