"""The live stream: statistics pushed when something has changed, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from pydantic_core import to_json

from tailcut.service.chart_data import project_statistics
from tailcut.service.error_responses import BusyError
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.shared import ServiceContext

PAUSE = 0.5
"""Seconds between two messages at least."""
HEARTBEAT = 15.0
"""Seconds of silence after which a comment is sent, so that a connection that broke is noticed."""


def check_room(context: ServiceContext) -> None:
    """Raise if there are as many streams as there may be."""
    if context.streams >= context.limits.streams:
        raise BusyError(f"there are {context.streams} live streams already")


async def latest_statistics(writer: JournalWriter, name: str) -> dict[str, Any]:
    """Return what a project has done so far."""
    latencies = list(writer.latencies.get(name, ()))
    return await writer.with_project(name, lambda project: project_statistics(project, latencies))


async def stream(context: ServiceContext, name: str) -> AsyncIterator[bytes]:
    """Yield messages until the client or the server goes."""
    context.streams += 1
    try:
        async for message in _messages(context, name):
            yield message
    finally:
        context.streams -= 1


async def _messages(context: ServiceContext, name: str) -> AsyncIterator[bytes]:
    writer, sent, quiet = context.writer, -1, 0.0
    while not context.stopping.is_set():
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
