"""The live stream: statistics pushed when something has changed, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic_core import to_json
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tailcut.service.chart_data import project_statistics
from tailcut.service.error_responses import BusyError
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.shared import ServiceContext

PAUSE = 0.5
"""Minimum seconds between two messages."""
HEARTBEAT = 15.0
"""Seconds of silence after which a comment is sent, to notice a broken connection."""


def take_place(context: ServiceContext) -> Callable[[], None]:
    """Count a new stream and return a function that uncounts it; raise if there are too many."""
    if context.streams >= context.limits.streams:
        raise BusyError(f"there are {context.streams} live streams already")
    context.streams += 1
    given_back = False

    def give_back() -> None:
        nonlocal given_back
        if not given_back:
            given_back = True
            context.streams -= 1

    return give_back


class LiveResponse(StreamingResponse):
    """A stream that is uncounted however it ends, even if it never started."""

    def __init__(self, messages: AsyncIterator[bytes], give_back: Callable[[], None]) -> None:
        super().__init__(messages, media_type="text/event-stream")
        self._give_back = give_back

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the messages."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._give_back()


async def latest_statistics(writer: JournalWriter, name: str) -> dict[str, Any]:
    """Return a project's statistics."""
    latencies = list(writer.latencies.get(name, ()))
    return await writer.with_project(name, lambda project: project_statistics(project, latencies))


async def stream(context: ServiceContext, name: str, bearer: str | None) -> AsyncIterator[bytes]:
    """Yield messages until the client, the server or the project is gone, or the token is revoked."""
    writer, sent, quiet = context.writer, -1, 0.0
    while not context.stopping.is_set() and name in writer.projects and _may_read(context, bearer):
        revision = writer.revisions.get(name, 0)
        if revision != sent:
            sent, quiet = revision, 0.0
            content = await latest_statistics(writer, name)
            yield b"event: statistics\nid: %d\ndata: %s\n\n" % (
                content["last_event"],
                to_json(content, inf_nan_mode="null"),
            )
        elif quiet >= HEARTBEAT:
            quiet = 0.0
            yield b": still here\n\n"
        quiet += PAUSE
        try:
            await asyncio.wait_for(context.stopping.wait(), PAUSE)
        except TimeoutError:
            continue
    yield b"event: end\ndata: {}\n\n"


def _may_read(context: ServiceContext, bearer: str | None) -> bool:
    return "read" in (context.access.scopes(bearer) or ())
